"""The random search: scenes come again by their index, a planted fault is found, written and repeated."""

import json
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import Status
from experiments.soak import run
from experiments.soak.checks import judge
from experiments.soak.kinds import REVERSE, Kind, Told, energy_account
from experiments.soak.run import KINDS, Soak

CHEAP = [kind for kind in KINDS if kind.name in run.QUICK]
ids = {"ids": lambda kind: kind.name}


def test_every_kind_draws_the_same_finite_numbers_again():
    assert len({run.slug(kind.name) for kind in KINDS}) == len(KINDS)
    for kind in KINDS:
        numbers, again, other = kind.numbers(3, 5), kind.numbers(3, 5), kind.numbers(3, 6)
        assert numbers.keys() == other.keys(), kind.name
        for name, value in numbers.items():
            assert np.isfinite(value).all() and np.array_equal(value, again[name]), (kind.name, name)
        assert any(not np.array_equal(value, other[name]) for name, value in numbers.items())


def test_numbers_take_ends_of_ranges_and_ways_stay_inside():
    for kind in KINDS:
        ends = [
            (name, value, sign) for of, sign in ((kind.least, 1), (kind.most, -1)) for name, value in of.items()
        ]
        scenes = [kind.numbers(0, index) for index in range(60)]
        for name, value, sign in ends:
            at = [numbers for numbers in scenes if (numbers[name] == value).all()]
            assert 0 < len(at) < 30, (kind.name, name)
            way, is_one_sided = kind.inwards(at[0], {key: -sign * np.ones_like(x) for key, x in at[0].items()})
            assert is_one_sided and (way[name] == sign).all()
        for name in kind.zeros:
            assert any((numbers[name] == 0).any() for numbers in scenes), (kind.name, name)


@pytest.mark.parametrize("kind", CHEAP, **ids)
def test_scenes_of_cheap_kinds_pass(kind):
    whole = kind.name == "flight over a plane"  # a reverse derivative through impacts takes long to compile
    found = [judge(kind, kind.numbers(0, index), index, whole) for index in range(4)]
    assert [verdict.faults for verdict in found] == [{}] * 4
    assert not whole or any("derivative" in verdict.errors and "reverse" in verdict.errors for verdict in found)


@jax.custom_jvp
def square(x):
    return x**2


@square.defjvp
def _(primals, tangents):
    (x,), (t,) = primals, tangents
    return square(x), jnp.where(x > 1, 3.0, 2.0) * x * t  # wrong beyond 1


@dataclass(frozen=True, kw_only=True, eq=False)
class Faulty(Kind):
    """Ends at x². Beyond 1 its derivative is wrong; below 0.2 it loses energy, and does not say so."""

    reverse: str | None = REVERSE

    def end(self, numbers, prepared, tolerance, mode):
        x = numbers["x"]
        ok = jnp.asarray(int(Status.OK))
        lost = jnp.where(x < 0.2, 0.1, 0.0)
        none = jnp.zeros_like(x)
        told = Told(ok, jnp.isfinite(x), lost, none + 1e-4, none, none, ok, none + 1e-9)
        return square(x)[None], jax.lax.stop_gradient(told)


FAULTY = Faulty("a toy", lambda rng: {"x": rng.uniform(0, 1.5)})


@pytest.fixture
def searched(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(run, "KINDS", (FAULTY,))
    monkeypatch.setattr(run, "CHUNK", 10)  # scenes enough for both faults
    Soak(hours=1e-4, out=tmp_path, keep_checkpoint=True).run()
    return tmp_path, capsys.readouterr().out


def test_a_planted_fault_is_found_written_and_repeated(searched, capsys):
    out, _ = searched
    summary = json.loads((out / "summary.json").read_text())
    (row,) = summary["table"]
    assert row["scenes"] >= run.CHUNK and row["scenes"] % run.CHUNK == 0 and row["OK"] == row["scenes"]
    x = np.array([float(FAULTY.numbers(0, index)["x"]) for index in range(row["scenes"])])
    whole = np.arange(x.size) % run.EVERY == 0
    assert row["failed checks"] == {"energy": (x < 0.2).sum(), "derivative": ((x > 1) & whole).sum()}
    assert row["failures"] == summary["failures"] == sum(row["failed checks"].values())
    files = sorted((out / "failures").iterdir())
    assert len(files) == row["failures"]
    for file in files:
        Soak(repeat=file, out=out / "again").run()
        told, check = capsys.readouterr().out, next(iter(json.loads(file.read_text())["faults"]))
        assert "a toy, scene" in told and f"\n{check}: " in told


def test_an_interrupted_search_goes_on(searched, monkeypatch, tmp_path):
    out, _ = searched
    before = json.loads((out / "summary.json").read_text())["scenes"]
    monkeypatch.setattr(run, "chunk", lambda *_: pytest.fail("a piece that is there is made again"))
    monkeypatch.setattr(run.itertools, "count", lambda: range(before // run.CHUNK))
    Soak(hours=1.0, out=out).run()
    assert json.loads((out / "summary.json").read_text())["scenes"] == before


def test_what_is_no_failure_is_refused(tmp_path):
    path = tmp_path / "other.json"
    for content in ("{}", "[]", '{"model": "none", "index": 0, "numbers": {}}'):
        path.write_text(content)
        with pytest.raises(ValueError, match=r"other\.json"):
            Soak(repeat=path, out=tmp_path / "out").run()
    with pytest.raises(ValueError, match="--repeat FILE"):
        Soak(stage="repeat", out=tmp_path / "out").run()
    with pytest.raises(ValueError, match="--model nonsense: there is none"):
        Soak(model=("nonsense",), out=tmp_path / "out").run()


def test_a_drift_and_a_loss_that_returns_are_seen():
    energy = {"kinetic": jnp.array([2.0, 1.0, 1.2]), "heat": jnp.array([0.0, 1.0, 0.7])}
    drift, gain = energy_account(energy, {"kinetic"}, jnp.float64)
    np.testing.assert_allclose([drift, gain], [0.05, 0.15], rtol=1e-9)


def test_the_page_shows_what_the_summary_says(searched, tmp_path):
    out, _ = searched
    Soak(stage="page", results=out, out=tmp_path / "docs").run()
    page, summary = (tmp_path / "docs" / "soak.md").read_text(), json.loads((out / "summary.json").read_text())
    assert f"{summary['scenes']} scenes" in page and "| a toy |" in page
    (tmp_path / "summary.json").write_text('{"scenes": 1}')
    with pytest.raises(ValueError, match=r"summary\.json is no summary of a search"):
        Soak(stage="page", results=tmp_path, out=tmp_path / "docs").run()
    with pytest.raises(ValueError, match="run `difsim soak` first"):
        Soak(stage="page", results=tmp_path / "none", out=tmp_path / "docs").run()


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_scene_of_each_kind_passes(kind):
    """It does not end with OK and a wrong result. `difsim soak` makes as many as there is time for."""
    assert run.verdict_of(kind, kind.numbers(1, 0), 0).faults == {}
