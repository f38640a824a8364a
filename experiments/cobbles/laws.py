"""The study's contact laws: the paper's three models, of restitution, friction and the step in contact."""

from collections.abc import Callable

import numpy as np

from difsim.contact import Newton, TangentialSpring
from difsim.dynamics import AbstractPairLaw, Calibrated, HardPair, SmoothPair
from experiments.cobbles.paper import MASS

Law = Callable[..., AbstractPairLaw]

CONTACT = 2e-3  # s, that a frontal contact of two cobbles lasts
ACROSS, LAG = 2 / 7, 0.1  # stiffness across over that along; the damper's time across, of the contact's


def hard(restitution, friction, step) -> HardPair:
    """Rigid: Newton's restitution, Coulomb's friction. It has no step: touch is a root, the impact an impulse."""
    del step
    return HardPair(Newton(restitution, friction))


def smooth(restitution, friction, step) -> SmoothPair:
    """Eq 1 of the paper with Hooke's law: a spring and a damper along the normal and across it, the latter slips.

    The paper gives no stiffness. Its smooth model is "non-physical" in steps above 2 ms and converged below .1 ms
    (Fig. 4), which fits a contact of some 2 ms; its own estimate, .3 ms, is for far stiffer rock.
    """
    stiffness = np.pi**2 * (MASS / 2) / CONTACT**2
    across = TangentialSpring(friction, ACROSS * stiffness)
    return SmoothPair(Calibrated(restitution, stiffness, 1), across, LAG * CONTACT, step)


LAWS: dict[str, Law] = {"hard": hard, "smooth": smooth}
