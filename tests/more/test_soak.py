"""The random search: a planted fault is found, written and repeated; an interrupted search continues."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.declarations import quantity
from difsim.dynamics import AbstractModel, Approach
from difsim.typing import Scalar
from experiments.scenes.draws import uniform
from experiments.scenes.engines import Motion
from experiments.scenes.parts import until_time
from experiments.scenes.scene import Scene
from experiments.soak import run
from experiments.soak.run import Soak


@jax.custom_jvp
def square(x):
    return x**2


@square.defjvp
def _(primals, tangents):
    (x,), (t,) = primals, tangents
    return square(x), jnp.where(x > 1, 3.0, 2.0) * x * t  # wrong beyond 1


class Square(AbstractModel):
    """y' = x². Beyond 1 its derivative is wrong; below 0.2 it loses some energy."""

    x: Scalar = quantity("m", "a place")

    def vector_field(self, t, state):
        return square(self.x)

    def approach(self, t, state):
        return Approach(gap=jnp.array(jnp.inf), speed=jnp.array(1.0), resolution=jnp.array(1.0))

    def energy(self, t, state):
        return {"kinetic": 1.0 - jnp.where(self.x < 0.2, 1e-5, 0.0) * t}


class Strict(Motion):
    """Allows less of a drift than the library."""

    def allowed_share(self, tolerance):
        return jnp.asarray(1e-6)


FAULTY = Scene(
    "a toy",
    uniform(x=(0, 1.5)),
    lambda n: (Square(n["x"]), jnp.zeros(()), until_time(jnp.ones(()))),
    Strict(),
)


@pytest.fixture
def run_search(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(run, "SCENES", (FAULTY,))
    monkeypatch.setattr(run, "CHUNK", 10)  # scenes enough for both faults
    Soak(hours=1e-4, out=tmp_path, keep_checkpoint=True).run()
    return tmp_path, capsys.readouterr().out


def test_a_planted_fault_is_found_written_and_repeated(run_search, capsys):
    out, _ = run_search
    summary = json.loads((out / "summary.json").read_text())
    (row,) = summary["table"]
    assert row["scenes"] >= run.CHUNK and row["scenes"] % run.CHUNK == 0 and row["OK"] == row["scenes"]
    x = np.array([float(FAULTY.draw(0, index)["x"]) for index in range(row["scenes"])])
    is_thorough = np.arange(x.size) % run.EVERY == 0
    assert row["failed checks"] == {"energy": (x < 0.2).sum(), "derivative": ((x > 1) & is_thorough).sum()}
    assert row["failures"] == summary["failures"] == sum(row["failed checks"].values())
    files = sorted((out / "failures").iterdir())
    assert len(files) == row["failures"]
    for file in files:
        Soak(repeat=file, out=out / "again").run()
        text, check = capsys.readouterr().out, next(iter(json.loads(file.read_text())["faults"]))
        assert "a toy, scene" in text and f"\n{check}: " in text


def test_an_interrupted_search_goes_on(run_search, monkeypatch, tmp_path):
    out, _ = run_search
    before = json.loads((out / "summary.json").read_text())["scenes"]
    monkeypatch.setattr(run, "judge_chunk", lambda *_: pytest.fail("a piece that is there is made again"))
    monkeypatch.setattr(run.itertools, "count", lambda: range(before // run.CHUNK))
    Soak(hours=1.0, out=out).run()
    assert json.loads((out / "summary.json").read_text())["scenes"] == before


def test_the_page_shows_what_the_summary_says(run_search, tmp_path):
    out, _ = run_search
    Soak(stage="page", results=out, out=tmp_path / "docs").run()
    page, summary = (tmp_path / "docs" / "soak.md").read_text(), json.loads((out / "summary.json").read_text())
    assert f"{summary['scenes']} scenes" in page and "| a toy |" in page
    (tmp_path / "summary.json").write_text('{"scenes": 1}')
    with pytest.raises(ValueError, match=r"summary\.json is no summary of a search"):
        Soak(stage="page", results=tmp_path, out=tmp_path / "docs").run()
    with pytest.raises(ValueError, match="run `difsim soak` first"):
        Soak(stage="page", results=tmp_path / "none", out=tmp_path / "docs").run()
