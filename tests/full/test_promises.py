"""Numbers that the page of a study promises are those that its command writes."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.agilkia.run import Agilkia
from experiments.cliff.measurements import load_measurements
from experiments.cliff.run import CliffStudy
from experiments.cobbles import paper
from experiments.cobbles.run import Cobbles
from experiments.foot.run import FootStudy
from experiments.harness import Study
from experiments.hopper.run import Hopper

STUDIES = Path(__file__).parents[2] / "experiments"

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")

Promises = dict[str, Sequence[float | None]]  # by a text of the page: the numbers that follow it; None: any number


@dataclass(frozen=True)
class Promise:
    """A command, the page that promises its numbers, and a function from its summary to them."""

    study: Study
    page: str
    numbers: Callable[[dict[str, Any]], Promises]


def last_digit(written: str) -> float:
    """One unit of the last digit of a number as it is written: 0.01 for "2.50", 1e-6 for "9e-6"."""
    mantissa, _, exponent = written.partition("e")
    return 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))


def broken_promises(page: str, promises: Promises) -> list[str]:
    """The numbers of a page that differ from those of the command by more than one unit of their last digit."""
    text, found = " ".join(page.split()), []
    for place, numbers in promises.items():
        assert text.count(place) == 1, f"{place!r} stands {text.count(place)} times on the page"
        written = NUMBER.findall(text.partition(place)[2])[: len(numbers)]
        assert len(written) == len(numbers), place
        for said, number in zip(written, numbers, strict=True):
            if number is not None and not abs(float(said) - number) <= 1.001 * last_digit(said):
                found.append(f"{place!r}: the page says {said}, the command {number:.6g}")
    return found


def agilkia(found: dict[str, Any]) -> Promises:
    """The best fit; the posterior's numbers have a random error that differs from machine to machine."""
    ours = {name: row["simulated"] for name, row in found["observables"].items()}
    best = {name: row["value"] for name, row in found["parameters"].items()}
    return {
        "| misfit (numbers fitted) | |": [
            found["misfit"],
            sum(r["fitted"] for r in found["observables"].values()),
        ],
        "| rebound, m/s | 0.325 ± 0.02 / (0.227, 0.106, -0.177) ± 0.01 |": [ours["rebound_speed"]],
        "| dissipated in the ground (penetration, sliding and hull), J | 41 ± 3 |": [
            ours["ground_energy"],
            *3 * [None],
            ours["damper_energy"],
        ],
        "| kinetic energy left, J | 5 / 4.5 |": [ours["kinetic_energy"]],
        "| penetration of the footpads, m | 0.24, 0.17, < 0.01 (± 0.05) |": [
            ours[f"penetration_{which}"] for which in ("deepest", "middle", "least")
        ],
        "| spin after the wheel's run-down, rad/s | 0.483 ± 0.2 |": [ours["spin_after_rundown"]],
        "| verdict | |---|---|---|---|---|---|---| | thickness, m | 0.272 ± 0.062 |": [best["thickness"]],
        "| grain diameter, mm | 0.14 ± 0.04 |": [
            1e3 * best["grain_diameter"],
            *7 * [None],
            best["grain_density"],
        ],
    }


def cobbles(found: dict[str, Any]) -> Promises:
    nominal, ours = found["nominal"], found["table"]
    energy, tumbled = nominal["energy_mJ"], found["attitudes"]
    table = [
        each
        for i, e in enumerate(paper.RESTITUTIONS)
        for each in (
            e,
            *np.column_stack([ours["hard"]["energy_ratio"][i], paper.ENERGY_RATIO[i]]).ravel(),
            ours["hard"]["energy_ratio_cm"][i][0],
        )
    ]
    off = "largest_difference_but_at_15_deg", "largest_difference_at_15_deg"
    return {
        "| touch |": [nominal["contact_time"]],
        "| impulse |": [np.linalg.norm(nominal["impulse_N_s"])],
        "| translational energy |": energy["kinetic"].values(),
        "| rotational energy |": energy["rotation"].values(),
        "| spins after |": nominal["spin_after_rad_s"],
        "centre-of-mass frame, any α | |---|---|---|---|---|---|": table,
        "paper's values are in brackets. The largest difference is": [ours["hard"][off[0]]],
        "For the smooth model the two are": [ours["smooth"][k] for k in off],
        "1000 attitudes, hard), give CoR_E": [tumbled["energy_ratio_mean"], tumbled["energy_ratio_sigma"]],
    }


def cube(found: dict[str, Any]) -> Promises:
    thrown, hit, slid = found["thrown"], found["collision"], found["sliding"]
    smooth, sticking = ([thrown[law][k] for k in ("phobos", "67p", "itokawa")] for law in ("smooth", "paper"))
    chaotic = None, None  # the long paths on 67P and Itokawa differ from machine to machine
    return {
        "found in all three:": [smooth[0]["settling_time_s"], *chaotic],
        "s (Phobos, 67P, Itokawa) |": [sticking[0]["settling_time_s"], *chaotic],
        "almost negligible beside the others |": [
            each for law in (smooth, sticking) for each in (law[0]["distance_m"], *chaotic)
        ],
        'dissipate during the compression phase" |': [
            100 * hit[law]["share_lost_in_compression"] for law in ("smooth", "paper")
        ],
        # The third is below what the tolerance of 1e-8 resolves.
        "1e-4 m/s here), at 40 s |": [
            *slid["smooth"]["slip_m_s_at_40_s"][:2],
            None,
            *slid["paper"]["slip_m_s_at_40_s"],
        ],
    }


def cliff(found: dict[str, Any]) -> Promises:
    upper, lower = (row[0] for row in found["slopes_deg"].values())
    scattered = found["scattered"] * found["particles"]
    return {
        "against the 23 points, rms; worst | resolved to 2 mm | 1.7; 2.9 mm |": [
            1e3 * found["surface_rms_m"],
            1e3 * found["surface_worst_m"],
        ],
        "| height at the wall | 99.3 mm | 98.7 mm |": [1e3 * found["height_at_wall_m"]],
        "0.24-0.40 m | 16.5°; 11.0° | |": [upper, lower],
        "two spacings high | 0.442 m | |": [found["front_m"]],
        "rms; mean slope | 31.9° | |": [1e3 * found["failure_rms_m"], found["failure_slope_deg"][0]],
        "| scattered particles | | |": [
            scattered,
            found["particles"],
            100 * found["scattered"],
            found["furthest_particle_m"],
        ],
        "kinetic energy left at 1 s, of the fall's | | |": [found["kinetic_left"]],
    }


def foot(found: dict[str, Any]) -> Promises:
    return {
        f"| {speed} | 1/4 | 0.1 | 10 mm |": [
            100 * found[speed]["speed_left_by_the_hit"],
            found[speed]["impulse_of_the_hit_over_rho_R_v"],
            100 * found[speed]["depth_m"],
        ]
        for speed in ("0.25 m/s", "0.5 m/s", "1 m/s")
    }


def hop(found: dict[str, Any]) -> Promises:
    momentum = found["momentum_N_m_s"]
    return {
        "It tries": [None, None, found["with_derivatives"]],  # hops tried differ from machine to machine
        "The solution is H = (": [1e3 * momentum["momentum_x"], 1e3 * momentum["momentum_y"]],
        "the motors' work is": [found["work_of_the_motors_J"]],
    }


PROMISES = (
    Promise(Agilkia(), "agilkia", agilkia),
    Promise(Cobbles(), "cobbles", cobbles),
    Promise(Hopper(), "hopper", cube),
    Promise(Hopper(stage="hop"), "hopper", hop),
    Promise(FootStudy(stage="throw", softening=4.0, alpha=0.1), "foot", foot),
    pytest.param(
        Promise(CliffStudy(), "cliff", cliff),
        marks=pytest.mark.skipif(
            not load_measurements().whole, reason="needs the digitised points under DIFSIM_DATA"
        ),
    ),
)


@pytest.mark.parametrize("promise", PROMISES, ids=lambda each: f"{each.page}-{each.study.stage}")
def test_the_page_says_what_the_command_writes(promise, tmp_path):
    promise.study.out = tmp_path
    promise.study.run()
    found = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
    page = (STUDIES / promise.page / "README.md").read_text(encoding="utf-8")
    assert broken_promises(page, promise.numbers(found)) == []
