"""Results that are kept in files: damaged and crafted ones are refused wherever they are looked for."""

import re
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import difsim
from difsim import FixedSteps
from difsim.beds import BedSpecification, CylindricalContainer, GaussianSizes
from difsim.dem import Grains, HertzMindlin
from difsim.shape import GridSDF, Plane
from experiments.agilkia import run as agilkia
from experiments.agilkia.files import DATA
from inversion import Checkpoint, Observation, sweep
from tests.core.test_grid import ball
from tests.crafted import HARM, plant

LAW = HertzMindlin(1e6, 0.25, restitution=0.5, friction=0.5)

FLOOR = Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))

TWO = Grains(LAW, np.full(2, 0.01), 1000.0, (0.0, 0.0, -9.81), (FLOOR,))

HIGH = TWO.at_rest(jnp.array([[0.0, 0.1], [0.0, 0.0], [0.02, 0.03]]))

TIMES = [0.0, 0.001, 0.002]

TEN = FixedSteps(10)


def two_grains(folder: Path):
    return difsim.run(TWO, HIGH, TIMES, solver=TEN, checkpoint=folder)


def bed(folder: Path):
    recipe = BedSpecification(LAW, GaussianSizes(0.018, 0.003), 1500.0, CylindricalContainer(0.11), 0.1, seed=3)
    return recipe.bed(folder, watch=lambda share: 1 / (share <= 0.5))


def distances(folder: Path):
    return GridSDF.from_mesh(ball(1), 0.5, cache=folder)


def piece(folder: Path):
    return Checkpoint(folder, "settings").get_or("piece", lambda: {"x": np.arange(3.0)})


def chunk(folder: Path):
    return sweep(lambda case: {"y": 2 * case["x"]}, {"x": np.arange(3.0)}, checkpoint=Checkpoint(folder, "twice"))


@pytest.mark.parametrize(
    ("make", "file"),
    [
        (two_grains, "*/run.arrays"),
        (two_grains, "*/state_00000.arrays"),
        (two_grains, "*/state_00001.arrays"),
        (bed, "*/bed.arrays"),
        (distances, "*/sdf.arrays"),
        (piece, "*/piece*"),
        (chunk, "*/chunk*"),
    ],
)
def test_what_lies_in_a_results_folder_is_never_executed(make, file, tmp_path, monkeypatch):
    """A folder of results is shared: `difsim sampling --out` executed what a file in it held."""
    monkeypatch.setenv(HARM, str(tmp_path / "harm"))
    folder = tmp_path / "results"
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        if make is bed:  # not poured for hours: its grains lie as they were thrown
            patch.setattr("difsim.beds.specification.Settling.advance", lambda *_: None)
            patch.setattr("difsim.beds.specification.Settling.rest", lambda self, size, seen: seen(1.0))
            with pytest.raises(ZeroDivisionError):
                make(folder)
        else:
            make(folder)
    (path,) = folder.glob(file)
    for what in plant(path):
        with pytest.raises(ValueError, match=r".") as error:
            make(folder)
        assert str(path) in str(error.value) and "remove" in str(error.value), what
    assert not (tmp_path / "harm").exists()
    if make is not bed:
        make(folder)


def test_states_of_another_time_or_run_are_refused(tmp_path):
    two_grains(tmp_path)
    (first,), (second,) = (list(tmp_path.glob(f"*/state_0000{i}.arrays")) for i in range(2))
    difsim.run(TWO, HIGH, [0.0, 0.001, 0.003], solver=TEN, checkpoint=tmp_path)
    (other,) = set(tmp_path.glob("*/state_00000.arrays")) - {first}
    state = first.read_bytes()
    for foreign in (second, other):
        first.write_bytes(foreign.read_bytes())
        with pytest.raises(ValueError, match=r"state_00000\.arrays is of another run: remove it"):
            two_grains(tmp_path)
    first.unlink()
    with pytest.raises(ValueError, match=r"state_00000\.arrays is missing"):
        two_grains(tmp_path)
    first.write_bytes(state)
    two_grains(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="file is a file, or in one: give a folder"):
        two_grains(tmp_path / "file")


def test_a_checkpoint_knows_the_numbers_of_what_it_was_made_of(tmp_path):
    """An inversion that was begun again with other observations went on from the nodes of the old ones."""
    folders = {Checkpoint(tmp_path, {"speed": Observation(value, 0.1)}).folder for value in (1.0, 2.0, 2.0)}
    assert len(folders) == 2
    with pytest.raises(ValueError, match="no lasting hash"):
        Checkpoint(tmp_path, lambda x: x)


class Caught(Exception):
    pass


def test_other_observations_are_another_inversion(tmp_path, monkeypatch):
    """The same, of the command `difsim agilkia --observations`."""
    caught = []

    def invert(problem, seed, checkpoint, *settings):
        caught.append(checkpoint.folder)
        raise Caught

    monkeypatch.setattr(agilkia, "invert", invert)
    monkeypatch.setattr(agilkia, "ChainProgram", lambda *_: None)
    text = (DATA / "philae_published.toml").read_text()
    value = re.search(r"\[observables\.rebound_speed\][^\n]*\nvalue = (\S+)", text)
    for number in (value[1], value[1], "0.5"):
        path = tmp_path / "observations.toml"
        path.write_text(text[: value.start(1)] + number + text[value.end(1) :])
        with pytest.raises(Caught):
            agilkia.Agilkia(observations=path, out=tmp_path / "out").run()
    assert caught[0] == caught[1] != caught[2]
