"""The nominal case: how the two cobbles are released."""

import numpy as np

from difsim.body import RigidState
from difsim.dynamics import PairState
from experiments.cobbles.paper import ATTITUDES, POSITIONS, SPEED


def released(inclination: float, speed: float = SPEED) -> PairState:
    """Table 4: both with `speed` m/s at `inclination` α deg to the line of centres (x), towards each other along it,
    across it together, along -y (the paper does not say which way; it changes nothing but the place); no spin.

    Without spin, and with equal parts across, α changes nothing in the frame of the common centre of mass but the
    speed, by cos α: which points meet, and how, is the same for all.
    """
    along, across = speed * np.cos(np.radians(inclination)), speed * np.sin(np.radians(inclination))
    velocities = [[along, -across, 0.0], [-along, -across, 0.0]]
    first, second = (
        RigidState(r, v, q, np.zeros(3)) for r, v, q in zip(POSITIONS, velocities, ATTITUDES, strict=True)
    )
    return PairState(first, second)
