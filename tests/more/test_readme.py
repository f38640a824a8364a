"""The example of README.md does what the text around it says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

from tests.helpers import python_blocks

README = Path(__file__).parents[2] / "README.md"


def test_the_example_finds_the_restitution(tmp_path):
    (block,) = python_blocks(README)
    assert len([line for line in block.splitlines() if line]) == 12
    # A process of its own, as that of a reader who has installed no extra: the block configures JAX.
    # With the flags of the session: in `make test` they compile fast, in `make test-full` they are a user's.
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
    said = subprocess.run(
        [sys.executable, "tests/bare.py", block],
        env=environment,
        cwd=README.parent,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert list(tmp_path.glob("difsim/compiled/*")), "no program was kept for the next run"
    printed, sigma = (float(number) for number in said.split("+-"))

    # One bounce: height = e √(2 g h) τ - g τ²/2, τ = 200 s less the time of fall.
    g = 1e-4
    τ = 200 - np.sqrt(2 / g)
    slope = np.sqrt(2 * g) * τ
    np.testing.assert_allclose(printed, (0.408 + g * τ**2 / 2) / slope, rtol=1e-6)
    np.testing.assert_allclose(sigma, 0.001 / slope, rtol=1e-5)
    assert abs(printed - 0.7) < sigma
    shown = [float(number) for number in re.search(r"# (\d.*)", block)[1].split("+-")]
    np.testing.assert_allclose(shown, [printed, sigma], rtol=0.02)


def test_an_extra_that_is_missing_is_named(tmp_path):
    code = """
from difsim import mesh
try:
    mesh.box((1, 1, 1))
except ImportError as error:
    print(error)
import sys
from experiments.__main__ import main
sys.argv[1:] = ["hopper"]
main()
"""
    command = [sys.executable, "tests/bare.py", code]
    run = subprocess.run(command, cwd=README.parent, capture_output=True, text=True, check=False)
    assert run.stdout == 'trimesh is not installed: pip install "difsim[mesh]"\n', run.stderr
    assert run.stderr.strip() == 'difsim: tyro is not installed: pip install "difsim[studies]"' and run.returncode
