"""The study's contact laws: the paper's three models, of restitution, friction and the step in contact."""

from collections.abc import Callable

from difsim.contact import Newton
from difsim.dynamics import AbstractPairLaw, HardPair

Law = Callable[..., AbstractPairLaw]


def hard(restitution, friction, step) -> HardPair:
    """Rigid: Newton's restitution, Coulomb's friction. It has no step: touch is a root, the impact an impulse."""
    del step
    return HardPair(Newton(restitution, friction))


def smooth(restitution, friction, step) -> SmoothPair:
    """A spring and damper along the normal (Hooke), a spring and damper across that slip (Eq 1 of the paper).

    The paper gives no stiffness: its k and C lie in Chrono's defaults. That its smooth model is "non-physical" above
    2 ms and converged below .1 ms (Fig. 4) fits a contact that lasts some 2 ms, which k is for here. With a damper,
    friction across changes nothing of e; k_t/k = 2/7 as is usual, and the damper across that of the normal's ratio.
    """
    stiffness = np.pi**2 * (MASS / 2) / CONTACT**2
    across = 2 / 7 * stiffness
    return SmoothPair(
        Calibrated(restitution, stiffness, 1), TangentialSpring(friction, across), lag=LAG, step=step
    )


LAWS: dict[str, Law] = {"hard": hard, "smooth": smooth}
