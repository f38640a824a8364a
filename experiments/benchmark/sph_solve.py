"""What both sides of PySPH in `difsim benchmark sph` share: the case, and the run that is timed."""

import os
import time

import numpy as np
from compyle.config import get_config
from pysph.base.kernels import CubicSpline
from pysph.base.nnps import LinkedListNNPS
from pysph.solver.solver import Solver


def read_case(path: str) -> tuple:
    """Return the arrays of a case, and its numbers by name. It sets the threads of PySPH."""
    case = np.load(path)
    get_config().use_openmp = int(os.environ["OMP_NUM_THREADS"]) > 1
    return case, {k: float(case[k]) for k in case if case[k].ndim == 0}


def solve(path: str, number: dict, arrays: list, equations: list, integrator) -> None:
    """Write CPU and wall seconds of a particle-step, and where the particles are after `steps` of them."""
    kernel, steps = CubicSpline(dim=2), int(number["steps"])
    solver = Solver(kernel=kernel, dim=2, integrator=integrator, dt=number["dt"], tf=1e9, max_steps=steps)
    nnps = LinkedListNNPS(dim=2, particles=arrays, radius_scale=kernel.radius_scale)
    solver.set_parallel_manager(None)
    solver.setup(arrays, equations, nnps)
    solver.set_disable_output(True)
    wall, cpu = time.perf_counter(), time.process_time()
    solver.solve(show_progress=False)
    spent = np.array([time.process_time() - cpu, time.perf_counter() - wall]) / steps
    position = np.concatenate([[a.x, a.y] for a in arrays], axis=1)
    cpu, wall = spent / position.shape[1]
    np.savez(path, cpu=cpu, wall=wall, position=position)
