"""The example of README.md does what the text around it says."""

import re
from pathlib import Path

import numpy as np

README = Path(__file__).parents[1] / "README.md"


def test_the_example_finds_the_restitution(capsys):
    (block,) = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.M | re.S)
    assert len([line for line in block.splitlines() if line]) == 12
    names: dict = {}
    exec(compile(block, str(README), "exec"), names)
    printed, sigma = (float(number) for number in capsys.readouterr().out.split("+-"))

    # One bounce: height = e √(2 g h) τ - g τ²/2, τ = 200 s less the time of fall.
    g = 1e-4
    τ = 200 - np.sqrt(2 / g)
    slope = np.sqrt(2 * g) * τ
    np.testing.assert_allclose(printed, (0.408 + g * τ**2 / 2) / slope, rtol=1e-6)
    np.testing.assert_allclose(sigma, 0.001 / slope, rtol=1e-5)
    assert abs(printed - 0.7) < sigma
    shown = [float(number) for number in re.search(r"# (.*)", block)[1].split("+-")]
    np.testing.assert_allclose(shown, [printed, sigma], rtol=0.02)
