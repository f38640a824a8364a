"""The study's contact laws: the paper's three models, of restitution, friction and the step in contact."""

from collections.abc import Callable

import numpy as np

from difsim.contact import Hooke, Newton, TangentialSpring
from difsim.dynamics import CalibratedNormal, CompliantPair, HardPair, SmoothPair
from difsim.dynamics.pair import AbstractPairLaw
from experiments.cobbles.paper import COMPLIANCE, MASS

Law = Callable[..., AbstractPairLaw]

CONTACT = 2e-3  # s, that a frontal contact of two cobbles lasts
STIFFNESS = np.pi**2 * (MASS / 2) / CONTACT**2  # N/m, of each point that touches: 1.4e6
ACROSS, LAG = 2 / 7, 0.1  # stiffness across over that along; the damper's time across, of the contact's


def hard(restitution, friction, step) -> HardPair:
    """Rigid: Newton's restitution, Coulomb's friction. It has no step: touch is a root, the impact an impulse."""
    del step
    return HardPair(Newton(restitution, friction))


def smooth(restitution, friction, step) -> SmoothPair:
    """Eq 1 of the paper with Hooke's law: a spring and a damper along the normal and across it, the latter slips.

    The paper gives no stiffness. Its smooth model is "non-physical" in steps above 2 ms and converged below 0.1 ms
    (Fig. 4), which fits a contact of some 2 ms; its own estimate, 0.3 ms, is for far stiffer rock.
    """
    across = TangentialSpring(friction, ACROSS * STIFFNESS)
    return SmoothPair(CalibratedNormal(restitution, Hooke(STIFFNESS)), across, LAG * CONTACT, step)


def compliant(restitution, friction, step) -> CompliantPair:
    """Rigid friction, compliance along the normal as of the smooth model; no cohesion."""
    return CompliantPair(1 / STIFFNESS, restitution, friction, 0.0, step)


def soft(restitution, friction, step) -> CompliantPair:
    """The same with the compliance of Table 3: a contact of some 24 ms, 2 mm deep, of many points at once."""
    return CompliantPair(COMPLIANCE, restitution, friction, 0.0, step)


LAWS: dict[str, Law] = {"hard": hard, "smooth": smooth, "compliant": compliant, "soft": soft}
