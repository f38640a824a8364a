"""PySPH as its solid-mechanics examples use it: the third side of `difsim benchmark sph`.

Run as a script with a Python that has `pysph`: case, results. Equations, integrator and steps are those that PySPH
ships (`pysph.sph.solid_mech`, two evaluations a step); only the return to the cone is written here, since it has
none. XSPH, by which its examples move particles, is there with ε = 0, its own way to switch it off. Artificial
stress, which they add, is not: ours has none.
"""

import sys

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
from sph_solve import read_case, solve


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
    case, number = read_case(case_path)
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
    integrator = EPECIntegrator(soil=SolidMechStep(), wall=SolidMechStep())
    solve(result_path, number, arrays, equations, integrator)


if __name__ == "__main__":
    main(*sys.argv[1:])
