"""The polyhedron against polyhedral-gravity: the same body, points and outputs, in one run; then faster fields."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import ConvexHull

from experiments.benchmark.fields import field_rows
from experiments.benchmark.timing import row

HERE = Path(__file__).parent
# Vertices of the body, and points: some seconds of the peer's time on one thread.
CASES = ((1002, 2048), (10_002, 256))


def rows(seeds: int, folder: Path) -> list[dict[str, Any]]:
    """`seeds` pairs of processes for each case and number of threads, and as many runs of the faster fields."""
    return polyhedron_rows(seeds, folder) + field_rows(seeds)


def polyhedron_rows(runs: int, folder: Path) -> list[dict[str, Any]]:
    """Nanoseconds for each facet and point; `ratio` is the median of the pairs' ratios, peer over ours.

    Both sides give potential, acceleration and gradient tensor in float64. Each side of a pair is a process of
    its own, bound to one core or two, which takes the median of five evaluations after a first one; the two
    alternate, so that a busy machine slows both. Two threads are two cores for both: polyhedral-gravity
    spreads points by TBB, our side by `shard_map` over two host devices.
    """
    found = []
    for vertices, points in CASES:
        case = folder / f"polyhedron_{vertices}.npz"
        facets = _write_case(case, vertices, points)
        for threads in (1, 2):
            pairs = [
                [_nanoseconds(script, case, threads, facets * points) for script in ("ours", "peer")]
                for _ in range(runs)
            ]
            ours, peer = np.median(pairs, axis=0)
            ratio = float(np.median([b / a for a, b in pairs]))
            work = f"polyhedron against polyhedral-gravity, {facets} facets, {threads} thread{'s'[: threads - 1]}"
            found.append(row(work, ours, "ns/facet/point", peer) | {"ratio": ratio})
        found.append(_difference(case, f"polyhedron, {facets} facets: worst difference of g from the peer's"))
    return found


def _difference(case: Path, work: str) -> dict[str, Any]:
    ours, peer = (np.load(case.with_suffix(f".{script}.npz"))["g"] for script in ("ours", "peer"))
    worst = np.max(np.linalg.norm(ours - peer, axis=1) / np.linalg.norm(peer, axis=1))
    return row(work, worst, "relative")


def _write_case(path: Path, vertices: int, points: int) -> int:
    """A dented ball of 2 km, and points in and around it; returns its number of facets."""
    i = np.arange(vertices) + 0.5
    z, angle = 1 - 2 * i / vertices, np.pi * (1 + np.sqrt(5)) * i  # Fibonacci's spiral
    ring = np.sqrt(1 - z * z)
    ball = np.stack([ring * np.cos(angle), ring * np.sin(angle), z], axis=1)
    faces = ConvexHull(ball).simplices
    a, b, c = ball[faces].transpose(1, 0, 2)
    inward = np.sum(np.cross(b - a, c - a) * a, axis=1) < 0
    faces[inward] = faces[inward][:, ::-1]
    dented = 2000.0 * ball * (1 - 0.4 * np.exp(-((ball[:, :1] / 0.3) ** 2)))  # a neck, as 67P has
    where = np.random.default_rng(0).uniform(-2400, 2400, (points, 3))
    np.savez(path, vertices=dented, faces=faces, density=533.0, points=where)
    return len(faces)


def _nanoseconds(script: str, case: Path, threads: int, work: int) -> float:
    """Median time of one side, in a process bound to `threads` cores, for each unit of work."""
    if len(os.sched_getaffinity(0)) < threads:
        raise ValueError(f"{threads} threads want as many cores, and this process has {os.sched_getaffinity(0)}")
    done = subprocess.run(
        [sys.executable, HERE / f"polyhedron_{script}.py", case, case.with_suffix(f".{script}.npz"), str(threads)],
        env=os.environ | {"XLA_FLAGS": f"--xla_force_host_platform_device_count={threads}"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return float(done.stdout) / work * 1e9
