"""The other side of `difsim benchmark gravity`: polyhedral-gravity (GPL), in a process of its own.

Run as a script: case, results, threads. Nothing of difsim is imported here, and difsim imports nothing of this.
"""

import os
import sys
import time

import numpy as np
import polyhedral_gravity as pg


def main(case_path: str, result_path: str, threads: str) -> None:
    """Write U, g and gradient of the case, and print the median seconds of five evaluations on so many cores."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(threads)])
    case = np.load(case_path)
    source = case["vertices"], case["faces"]
    outwards, unchecked = pg.NormalOrientation.OUTWARDS, pg.PolyhedronIntegrity.DISABLE
    evaluate = pg.GravityEvaluable(pg.Polyhedron(source, float(case["density"]), outwards, unchecked))
    parallel = int(threads) > 1
    result = evaluate(case["points"], parallel)
    times = []
    for _ in range(5):
        started = time.perf_counter()
        evaluate(case["points"], parallel)
        times.append(time.perf_counter() - started)
    U, g, gradient = (np.array([row[i] for row in result]) for i in range(3))
    np.savez(result_path, U=U, g=g, gradient=gradient)
    print(np.median(times))


if __name__ == "__main__":
    main(*sys.argv[1:])
