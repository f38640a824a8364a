"""One side of `difsim benchmark gravity`: our polyhedron. Run as a script: case, results, threads."""

import os
import sys
import time

import jax
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from difsim.gravity import Polyhedron
from difsim.mesh import TriMesh


def main(case_path: str, result_path: str, threads: str) -> None:
    """Write U, g and gradient of the case, and print the median seconds of five evaluations on so many cores."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(threads)])
    jax.config.update("jax_enable_x64", True)
    case = np.load(case_path)
    body = Polyhedron(TriMesh(case["vertices"], case["faces"]), float(case["density"]))
    devices = jax.make_mesh((int(threads),), ("points",))

    @jax.jit
    @jax.shard_map(mesh=devices, in_specs=(P(), P("points")), out_specs=P("points"), check_vma=False)
    def evaluate(body, points):
        return body.evaluate(points)

    points = jax.device_put(case["points"], NamedSharding(devices, P("points")))
    result = jax.block_until_ready(evaluate(body, points))
    times = []
    for _ in range(5):
        started = time.perf_counter()
        jax.block_until_ready(evaluate(body, points))
        times.append(time.perf_counter() - started)
    np.savez(result_path, **dict(zip(("U", "g", "gradient"), result, strict=True)))
    print(np.median(times))


if __name__ == "__main__":
    main(*sys.argv[1:])
