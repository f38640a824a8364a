"""Each scene of the list at its middle: one judge checks its balance, its derivatives and what is known of its end."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.scenes.catalogue import SCENES, find
from experiments.scenes.judge import judge
from experiments.scenes.scene import account_energy

# What is cheap of each sort of contact in closed form. `make test-full` judges all others.
CHEAP = (
    "impact, clipped at zero",
    "impact, damper in compression only",
    "impact, power law 1.5, clipped",
    "impact, Hertz",
    "two hard balls on a line",
)
# Springs along the surface ring on, and their derivatives take more steps than are allowed: known issues.
SPRINGS = {"cube, Hertz and Mindlin, cohesion"}


def assert_passes(scene):
    findings = judge(scene, scene.middle)
    assert findings.faults == {}
    if scene.name in SPRINGS and findings.status == "STEP_LIMIT":
        return
    assert findings.status == "OK"
    assert ("derivative" in findings.errors or findings.unsure) == scene.engine.has_derivative
    assert ("reverse" in findings.errors) == (scene.engine.reverse is not None)
    assert ("exact" in findings.errors) == bool(scene.exact.quantities)
    for chosen in scene.exact.cases:
        findings = judge(scene, scene.replace(chosen), is_thorough=False)
        assert findings.faults == {} and findings.status == "OK", chosen


@pytest.mark.parametrize("name", CHEAP)
def test_the_middle_of_a_scene_passes_the_judge(name):
    assert_passes(find(name))


def test_every_scene_draws_the_same_finite_numbers_again():
    assert len({scene.name for scene in SCENES}) == len(SCENES)
    for scene in SCENES:
        numbers, again, other = scene.draw(3, 5), scene.draw(3, 5), scene.draw(3, 6)
        for name, value in numbers.items():
            assert np.isfinite(value).all() and np.array_equal(value, again[name]), (scene.name, name)
            assert np.shape(value) == np.shape(scene.middle[name]), (scene.name, name)
        assert any(not np.array_equal(value, other[name]) for name, value in numbers.items())


def test_numbers_take_limits_and_directions_stay_inside():
    for scene in SCENES:
        drawn = [scene.draw(0, index) for index in range(60)]
        for name, draw in scene.draws.items():
            for limit, sign in ((draw.least, 1), (draw.most, -1)):
                if limit is None:
                    continue
                at = [numbers for numbers in drawn if (numbers[name] == limit).all()]
                assert 0 < len(at) < 30, (scene.name, name)
                outwards = -sign * np.ones_like(at[0][name])
                inwards, is_at_limit = draw.point_inwards(at[0][name], outwards)
                assert is_at_limit and (inwards == sign).all()
            assert not draw.vanishes or any((numbers[name] == 0).any() for numbers in drawn), (scene.name, name)


def test_a_drift_and_a_loss_that_returns_are_seen():
    energy = {"kinetic": jnp.array([2.0, 1.0, 1.2]), "heat": jnp.array([0.0, 1.0, 0.7])}
    np.testing.assert_allclose(account_energy(energy, {"kinetic"}), [0.05, 0.15, 0.0], rtol=1e-9)
    np.testing.assert_allclose(account_energy(energy, {"kinetic"}, ("heat",)), [0.05, 0.0, 0.0], rtol=1e-9)
    np.testing.assert_allclose(
        account_energy({"kinetic": energy["kinetic"][1:]}, {"kinetic"})[2], 1 / 6, rtol=1e-9
    )


# VALIDATION.md 3: e of a spring with a damper of the ratio ζ.
RESTITUTION = {
    "impact, attraction allowed": {0.2: 0.5266206, 0.5: 0.1630335},
    "impact, clipped at zero": {0.05: 0.8587581, 0.2: 0.5717400, 0.5: 0.2984361, 0.9: 0.1552827},
    "impact, damper in compression only": {
        0.05: 0.9266920,
        0.2: 0.7561349,
        0.5: 0.5462930,
        0.9: 0.3940594,
        1.5: 0.2749333,
    },
}
# An aluminium sphere of 0.1 m at 1 m/s against an equal sphere, a wall of aluminium, a rigid wall: depth m, force N,
# duration s.
HERTZ = (
    (2.069916e-4, 3.414913e4, 6.092333e-4),
    (2.377710e-4, 5.945708e4, 6.998253e-4),
    (1.801967e-4, 7.845409e4, 5.303684e-4),
)
HALF_PERIODS = 3.280052086, 20.752016850, 10.538594345  # s, of the asymmetric top


def closed_forms(name, chosen):
    """The closed forms of a scene, with other numbers than its middle."""
    scene = find(name)
    return np.asarray(scene.expect(scene.replace(chosen)))


def test_closed_forms_give_the_published_numbers():
    for name, values in RESTITUTION.items():
        found = [closed_forms(name, {"ratio": ratio})[0] for ratio in values]
        np.testing.assert_allclose(found, [*values.values()], atol=6e-8)
    for exponent in ("1", "1.5", "2"):
        name = f"impact, power law {exponent}, clipped"
        found = [closed_forms(name, {"asked": e})[0] for e in (0.3, 0.6, 0.9)]
        np.testing.assert_allclose(found, (0.397140, 0.632291, 0.902026), atol=6e-7)
    found = [closed_forms("impact, Hertz", chosen) for chosen in find("impact, Hertz").exact.cases]
    np.testing.assert_allclose(found, HERTZ, rtol=3e-7)
    tops = find("free top, asymmetric").exact.cases
    found = [closed_forms("free top, asymmetric", chosen)[0] for chosen in tops]
    np.testing.assert_allclose(found, HALF_PERIODS, rtol=1e-9)
    path, _ = closed_forms("hard ball, comes to rest", {"height": 1.0, "restitution": 0.6})
    assert path == pytest.approx(2.125, rel=1e-12)


def test_slopes_of_the_closed_forms_are_the_published_ones():
    """VALIDATION.md 9: a bounce by height and restitution; the second of two balls by both places and speeds."""
    bounce, balls = find("hard ball, bounces"), find("two hard balls on a line")
    by = [
        {name: slope[0] for name, slope in jax.jacfwd(scene.expect)(scene.replace(scene.exact.cases[0])).items()}
        for scene in (bounce, balls)
    ]
    np.testing.assert_allclose([by[0]["height"], by[0]["restitution"]], [1.03916199, 2.45221599], atol=6e-9)
    np.testing.assert_allclose(by[1]["place"], [1.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(by[1]["velocity"], [1.0, 0.0], atol=1e-12)
