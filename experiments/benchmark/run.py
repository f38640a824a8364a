"""`difsim benchmark NAME`: ratios against a peer on the same work in one run."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import tyro

from experiments.benchmark import (
    agilkia,
    cobbles,
    cobbles_estimation,
    compile,
    contact,
    dem,
    gpu,
    gradients,
    gravity,
    shapes,
    sph,
)
from experiments.harness import Found, Study

BENCHMARKS = {
    "agilkia": agilkia,
    "cobbles": cobbles,
    "cobbles-estimation": cobbles_estimation,
    "compile": compile,
    "contact": contact,
    "dem": dem,
    "gpu": gpu,
    "gradients": gradients,
    "gravity": gravity,
    "shapes": shapes,
    "sph": sph,
}


@dataclass
class Benchmark(Study):
    """Measure against a peer on the same work, in one run; medians, and ratios rather than seconds."""

    stage: tyro.conf.Positional[Literal[*BENCHMARKS]]
    """agilkia: gradients and branch and bound against differential evolution, over seeds, on the paper's
    objective. cobbles: collisions of two irregular stones and their derivatives, without a peer.
    cobbles-estimation: fits of an arc to the pixels of markers against scipy's with numerical derivatives.
    compile: seconds to trace, lower and compile, by workload and derivative, against bare solves of diffrax.
    contact: the bouncing cube against MuJoCo's C engine, in the interpreter that DIFSIM_MUJOCO_PYTHON names.
    dem: a settling bed of grains against LIGGGHTS and YADE where they are installed.
    gpu: times of the hot loops on this machine's GPU, and their distance from a CPU's results.
    gradients: derivative error and cost against tolerance, on the touchdown. gravity: the polyhedron against
    polyhedral-gravity (extra `test`), on one thread and two; faster fields against the polyhedron. shapes:
    distance queries against libigl. sph: steps of a collapsing heap of particles, their derivatives, memory and
    float32, against PySPH in the interpreter that DIFSIM_PYSPH_PYTHON names (Debian: python3-pysph)."""
    seeds: int = 10
    """Seeds (agilkia), random points of the prior (gradients), or runs whose median is taken (the others)."""

    def folder(self, stage: str) -> Path:
        """One folder for all benchmarks."""
        return self.out or Path("results/benchmark")


def _make_stage(name: str, rows: Callable[[int, Path], Iterable[dict[str, Any]]]) -> Callable[..., Found]:
    """The stage that measures the `rows` of one benchmark, and prints each as it comes."""

    def stage(options: Benchmark, out: Path) -> Found:
        measured = []
        for row in rows(options.seeds, out):
            _print(row)
            measured.append(row)
        return Found({"rows": measured}, record=f"benchmark_{name}")

    return stage


def _print(row: dict[str, Any]) -> None:
    ours, peer, ratio = (f"{row[k]:.4g}" if math.isfinite(row[k]) else "-" for k in ("ours", "peer", "ratio"))
    print(f"{row['work']:72s}{ours:>12s}{peer:>12s}{ratio:>10s}  {row['unit']}", flush=True)


Benchmark.stages = {name: _make_stage(name, module.rows) for name, module in BENCHMARKS.items()}
