"""PySPH as its solid-mechanics examples use it: the third side of `difsim benchmark sph`.

Run as a script with a Python that has `pysph`: case, results. Equations, integrator and steps are those that PySPH
ships (`pysph.sph.solid_mech`, two evaluations a step); only the return to the cone is written here, since it has
none. XSPH, by which its examples move particles, is there with ε = 0, its own way to switch it off. Artificial
stress, which they add, is not: ours has none.
"""

import os
import sys
import time

import numpy as np
from compyle.config import get_config
from pysph.base.kernels import CubicSpline
from pysph.base.nnps import LinkedListNNPS
from pysph.solver.solver import Solver
from pysph.sph.basic_equations import (
    BodyForce,
    ContinuityEquation,
    MonaghanArtificialViscosity,
    VelocityGradient2D,
    XSPHCorrection,
)
from pysph.sph.equation import Equation, Group
from pysph.sph.integrator import EPECIntegrator
from pysph.sph.integrator_step import SolidMechStep
from pysph.sph.solid_mech.basic import (
    HookesDeviatoricStressRate,
    IsothermalEOS,
    MomentumEquationWithStress,
    get_particle_array_elastic_dynamics,
)


# fmt: off
class ToCone(Equation):
    """The return of deviator and pressure to the cone of Drucker and Prager."""

    def __init__(self, dest, sources, slope, bound):
        self.slope, self.bound = slope, bound
        super().__init__(dest, sources)

    def post_loop(self, d_idx, d_p, d_s00, d_s01, d_s11, d_s22):
        radius, excess, scale = declare("double", 3)
        radius = d_s00[d_idx] * d_s00[d_idx] + d_s11[d_idx] * d_s11[d_idx] + d_s22[d_idx] * d_s22[d_idx]
        radius = sqrt(0.5 * radius + d_s01[d_idx] * d_s01[d_idx])
        excess = radius - 3.0 * self.slope * d_p[d_idx] - self.bound
        if excess > 0:
            scale = 0.0
            if radius > excess:
                scale = (radius - excess) / radius
            else:
                d_p[d_idx] = -self.bound / (3.0 * self.slope)
            d_s00[d_idx] *= scale
            d_s01[d_idx] *= scale
            d_s11[d_idx] *= scale
            d_s22[d_idx] *= scale

# fmt: on


def main(case_path: str, result_path: str) -> None:
    """CPU and wall seconds of a particle-step; and where the block is after `steps` from rest."""
    case = np.load(case_path)
    number = {k: float(case[k]) for k in case if case[k].ndim == 0}
    get_config().use_openmp = int(os.environ["OMP_NUM_THREADS"]) > 1
    bulk, shear, density = (number[k] for k in ("bulk", "shear", "density"))
    young = 9 * bulk * shear / (3 * bulk + shear)
    constants = {"E": young, "nu": young / (2 * shear) - 1, "rho_ref": density}
    places = {"soil": case["free"], "wall": ~case["free"]}
    arrays = [
        get_particle_array_elastic_dynamics(
            name=name,
            constants=constants,
            m=number["mass"],
            h=0.5 * number["support"],
            rho=density,
            **dict(zip("xy", case["state_position"][:, here], strict=True)),
        )
        for name, here in places.items()
    ]
    for array in arrays:
        array.cs[:] = number["sound"]
    cone = number["slope"], number["bound"]
    # Its viscosity has the smoothing length where ours has the support, twice that.
    viscous = 2 * number["alpha"], 4 * number["beta"]
    both = list(places)
    # The wall does not move: no momentum, and of pairs only those with soil.
    sources = {"soil": both, "wall": ["soil"]}
    equations = [
        Group([e for k in both for e in (IsothermalEOS(k, None), ToCone(k, None, *cone))]),
        Group([VelocityGradient2D(k, sources[k]) for k in both]),
        Group(
            [ContinuityEquation(k, sources[k]) for k in both]
            + [
                MomentumEquationWithStress("soil", both),
                MonaghanArtificialViscosity("soil", both, *viscous),
                BodyForce("soil", None, fy=number["gravity"]),
                XSPHCorrection("soil", ["soil"], eps=0.0),
            ]
            + [HookesDeviatoricStressRate(k, None) for k in both]
        ),
    ]
    kernel, steps = CubicSpline(dim=2), int(number["steps"])
    integrator = EPECIntegrator(soil=SolidMechStep(), wall=SolidMechStep())
    solver = Solver(kernel=kernel, dim=2, integrator=integrator, dt=number["dt"], tf=1e9, max_steps=steps)
    nnps = LinkedListNNPS(dim=2, particles=arrays, radius_scale=kernel.radius_scale)
    solver.set_parallel_manager(None)
    solver.setup(arrays, equations, nnps)
    solver.set_disable_output(True)
    wall, cpu = time.perf_counter(), time.process_time()
    solver.solve(show_progress=False)
    spent = np.array([time.process_time() - cpu, time.perf_counter() - wall]) / steps / case["free"].size
    position = np.concatenate([[a.x, a.y] for a in arrays], axis=1)
    np.savez(result_path, cpu=spent[0], wall=spent[1], position=position)


if __name__ == "__main__":
    main(*sys.argv[1:])
