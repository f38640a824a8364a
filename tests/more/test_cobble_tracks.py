"""A user's tracks: what is read, what is refused and on which line, and what comes out of the example."""

import json
from pathlib import Path

import numpy as np
import pytest

from experiments.cobbles.tracks import first_guess
from experiments.cobbles.tracks_file import read_experiment, read_tracks

EXAMPLE = Path(__file__).parents[2] / "data" / "cobbles"

MESHES = [EXAMPLE / "stone.obj"] * 2

HEADER = "time_s,camera,body,marker,u_px,v_px\n"

GOOD = "0.0,A,a,1,500.0,400.0\n0.0,A,b,1,500.0,400.0\n1.1,A,a,1,500.0,400.0\n1.1,A,b,1,500.0,400.0\n"

# Positions and velocities behind the example at the starts of the arcs.
TRUE = {("a", 0): [-0.153, 0.08, 0.0, 0.13, -0.2251666, 0.0], ("b", 0): [0.153, 0.08, 0.0, -0.13, -0.2251666, 0.0]}


@pytest.fixture(scope="module")
def experiment():
    return read_experiment(EXAMPLE / "cams.json", MESHES)


@pytest.fixture
def read(tmp_path, experiment):
    def of_text(text):
        path = tmp_path / "tracks.csv"
        path.write_text(text)
        return read_tracks(path, experiment)

    return of_text


def test_rows_become_arrays_with_gaps(read):
    tracks = read(HEADER + GOOD + "0.1,B,a,3,900.5,1000.25\n0.8,A,a,1,1.0,1.0\n\n")  # 0.8 s is between the arcs
    first = tracks["a"][0]
    assert first.seen.sum() == 2 and first.seen[0, 0, 0] and first.seen[1, 1, 2]
    np.testing.assert_array_equal(first.pixels[1, 1, 2], [900.5, 1000.25])
    np.testing.assert_array_equal(first.times, [0.0, 0.1])
    # All are as long as the longest.
    assert tracks["b"][1].seen.shape == first.seen.shape and tracks["b"][1].seen.sum() == 1


@pytest.mark.parametrize(
    "row,complaint",
    [
        ("0.1,A,a,1,nan,3", "line 6: time_s, u_px and v_px must be finite numbers: leave out what was not seen"),
        ("0.1,D,a,1,12,3", "line 6: no such camera: there are ['A', 'B', 'C']"),
    ],
)
def test_faulty_rows_are_named_by_line(read, row, complaint):
    with pytest.raises(ValueError) as error:
        read(HEADER + GOOD + row + "\n")
    assert complaint in str(error.value) and "1 faulty rows" in str(error.value)


@pytest.mark.parametrize(
    "text,complaint",
    [
        (HEADER.replace("u_px,v_px", "v_px,u_px") + GOOD, "line 1"),
        (HEADER + GOOD.replace("1.1,", "1100,"), "in the arc 1.05 to 2.5 s: they run from 0 to 1100 s (in s?)"),
        (HEADER + GOOD.replace("500.0,400.0", "0.26,0.37"), "give pixels, not shares"),
    ],
)
def test_wrong_columns_and_units_are_refused(read, text, complaint):
    with pytest.raises(ValueError) as error:
        read(text)
    assert complaint in str(error.value)


@pytest.mark.parametrize(
    "change,complaint",
    [
        (lambda c: c.update(arcs_s=[[0, 1], [0.5, 2]]), "in order"),
        (lambda c: c["bodies"]["a"].update(mass_kg=1157.1), "1157.1 kg .* give kg and m"),
    ],
)
def test_faulty_calibrations_are_refused(tmp_path, change, complaint):
    content = json.loads((EXAMPLE / "cams.json").read_text())
    change(content)
    path = tmp_path / "cams.json"
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=complaint):
        read_experiment(path, MESHES)


def test_the_first_guess_is_right_to_the_size_of_the_body(experiment):
    tracks = read_tracks(EXAMPLE / "tracks.csv", experiment)
    for (body, arc), true in TRUE.items():
        guess = first_guess(list(experiment.cameras.values()), tracks[body][arc])
        assert np.abs(guess[:3] - true[:3]).max() < 0.05 and np.abs(guess[3:6] - true[3:]).max() < 0.1


def test_one_camera_is_not_enough(read, experiment):
    with pytest.raises(ValueError, match="only one camera"):
        first_guess(list(experiment.cameras.values()), read(HEADER + GOOD)["a"][0])
