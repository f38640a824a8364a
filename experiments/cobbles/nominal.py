"""The nominal case: how the two cobbles are released."""

import numpy as np

from difsim.body import RigidState
from difsim.dynamics import PairState
from experiments.cobbles.paper import ATTITUDES, POSITIONS, SPEED


def release(inclination: float, speed: float = SPEED) -> PairState:
    """Table 4: both with `speed` m/s at `inclination` α deg to the line of centres (x), towards each other along
    it, across it together, along -y (the paper does not say which way; it changes the place only); no spin.

    Without spin, and with equal parts across, α changes nothing in the frame of the common centre of mass but the
    speed, by cos α: which points meet, and how, is the same for all.
    """
    along, across = speed * np.cos(np.radians(inclination)), speed * np.sin(np.radians(inclination))
    velocities = [[along, -across, 0.0], [-along, -across, 0.0]]
    first, second = (
        RigidState(r, v, q, np.zeros(3)) for r, v, q in zip(POSITIONS, velocities, ATTITUDES, strict=True)
    )
    return PairState(first, second)


def release_tumbled(count: int, seed: int) -> PairState:
    """`count` frontal releases (α = 0) of stones that are turned at random: a batch."""
    rng = np.random.default_rng(seed)
    turns = rng.standard_normal((2, count, 4))
    attitudes = turns / np.linalg.norm(turns, axis=2, keepdims=True)
    first, second = (
        RigidState(
            np.tile(one.position, (count, 1)), np.tile(one.velocity, (count, 1)), q, np.tile(one.spin, (count, 1))
        )
        for one, q in zip((release(0.0).first, release(0.0).second), attitudes, strict=True)
    )
    return PairState(first, second)
