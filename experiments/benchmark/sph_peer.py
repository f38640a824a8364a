"""The other side of `difsim benchmark sph`: PySPH, in an interpreter of its own.

Run as a script with a Python that has `pysph`: case, results. Nothing of difsim is imported here, and difsim
imports nothing of this. PySPH has no Drucker-Prager soil, so its law is written here with PySPH's own means, as a
user of it would; pairs, neighbour lists and steps are PySPH's, compiled by it to C. One evaluation a step.
"""

import sys

import numpy as np
from pysph.base.utils import get_particle_array
from pysph.sph.basic_equations import VelocityGradient2D
from pysph.sph.equation import Equation, Group
from pysph.sph.integrator import PECIntegrator
from pysph.sph.integrator_step import IntegratorStep
from sph_solve import read_case, solve


# fmt: off
# ruff: noqa: B006 (PySPH reads the types of a compiled function from its defaults)
class Momentum(Equation):
    """dv/dt = Σ m_b (σ_a/ρ_a² + σ_b/ρ_b² - Π) ∇W + g, Π as in our `Viscosity`."""

    def __init__(self, dest, sources, alpha, beta, sound, support, gravity):
        self.alpha, self.beta, self.sound, self.support, self.gravity = alpha, beta, sound, support, gravity
        super().__init__(dest, sources)

    def initialize(self, d_idx, d_au, d_av):
        d_au[d_idx] = 0.0
        d_av[d_idx] = self.gravity

    def loop(self, d_idx, s_idx, d_rho, s_rho, s_m, d_s00, d_s01, d_s11, s_s00, s_s01, s_s11, d_au, d_av,
             XIJ, VIJ, R2IJ, DWIJ):
        ra, rb = declare("double", 2)
        ra = 1.0 / (d_rho[d_idx] * d_rho[d_idx])
        rb = 1.0 / (s_rho[s_idx] * s_rho[s_idx])
        vx, nu, push = declare("double", 3)
        vx = VIJ[0] * XIJ[0] + VIJ[1] * XIJ[1]
        push = 0.0
        if vx < 0:
            nu = self.support * vx / (R2IJ + 0.01 * self.support * self.support)
            push = (-self.alpha * self.sound * nu + self.beta * nu * nu) / (0.5 * (d_rho[d_idx] + s_rho[s_idx]))
        xx, xy, yy = declare("double", 3)
        xx = d_s00[d_idx] * ra + s_s00[s_idx] * rb - push
        xy = d_s01[d_idx] * ra + s_s01[s_idx] * rb
        yy = d_s11[d_idx] * ra + s_s11[s_idx] * rb - push
        d_au[d_idx] += s_m[s_idx] * (xx * DWIJ[0] + xy * DWIJ[1])
        d_av[d_idx] += s_m[s_idx] * (xy * DWIJ[0] + yy * DWIJ[1])


class StressRate(Equation):
    """Hooke's law in plane strain, seen from the turning material, and the density's rate."""

    def __init__(self, dest, sources, bulk, shear):
        self.bulk, self.shear = bulk, shear
        super().__init__(dest, sources)

    def post_loop(self, d_idx, d_v00, d_v01, d_v10, d_v11, d_s00, d_s01, d_s11, d_rho, d_as00, d_as01, d_as11,
                  d_as22, d_arho):
        swelling, spin, mean = declare("double", 3)
        swelling = d_v00[d_idx] + d_v11[d_idx]
        spin = 0.5 * (d_v01[d_idx] - d_v10[d_idx])
        mean = self.bulk * swelling - 2.0 / 3.0 * self.shear * swelling
        d_as00[d_idx] = 2.0 * self.shear * d_v00[d_idx] + mean + 2.0 * spin * d_s01[d_idx]
        d_as11[d_idx] = 2.0 * self.shear * d_v11[d_idx] + mean - 2.0 * spin * d_s01[d_idx]
        d_as22[d_idx] = mean
        d_as01[d_idx] = self.shear * (d_v01[d_idx] + d_v10[d_idx]) + spin * (d_s11[d_idx] - d_s00[d_idx])
        d_arho[d_idx] = -d_rho[d_idx] * swelling


def to_cone(d_idx=0, s00=[0.0], s01=[0.0], s11=[0.0], s22=[0.0], slope=[0.0], bound=[0.0]):
    """The return of a particle's stress to the cone."""
    mean, radius, excess, scale, held = declare("double", 5)
    mean = (s00[d_idx] + s11[d_idx] + s22[d_idx]) / 3.0
    radius = 0.5 * (s00[d_idx] - mean) * (s00[d_idx] - mean) + s01[d_idx] * s01[d_idx]
    radius += 0.5 * (s11[d_idx] - mean) * (s11[d_idx] - mean)
    radius += 0.5 * (s22[d_idx] - mean) * (s22[d_idx] - mean)
    radius = sqrt(radius)
    excess = radius + 3.0 * slope[0] * mean - bound[0]
    if excess > 0:
        held, scale = mean, 0.0
        if radius > excess:
            scale = (radius - excess) / radius
        else:
            held = bound[0] / (3.0 * slope[0])
        s00[d_idx] = held + scale * (s00[d_idx] - mean)
        s11[d_idx] = held + scale * (s11[d_idx] - mean)
        s22[d_idx] = held + scale * (s22[d_idx] - mean)
        s01[d_idx] *= scale


class SoilStep(IntegratorStep):
    """Predict and correct as our `Continuum.step`, with the return to the cone after both."""

    def _get_helpers_(self):
        return [to_cone]

    def initialize(self):
        pass

    def stage1(self, d_idx, d_x, d_y, d_u, d_v, d_rho, d_s00, d_s01, d_s11, d_s22, d_x0, d_y0, d_u0, d_v0, d_rho0,
               d_s000, d_s010, d_s110, d_s220, d_au, d_av, d_arho, d_as00, d_as01, d_as11, d_as22, d_bu, d_bv,
               d_brho, d_bs00, d_bs01, d_bs11, d_bs22, d_free, d_slope, d_bound, dt):
        d_x0[d_idx], d_y0[d_idx], d_u0[d_idx], d_v0[d_idx] = d_x[d_idx], d_y[d_idx], d_u[d_idx], d_v[d_idx]
        d_rho0[d_idx], d_s000[d_idx], d_s010[d_idx] = d_rho[d_idx], d_s00[d_idx], d_s01[d_idx]
        d_s110[d_idx], d_s220[d_idx] = d_s11[d_idx], d_s22[d_idx]
        d_bu[d_idx], d_bv[d_idx], d_brho[d_idx] = d_au[d_idx], d_av[d_idx], d_arho[d_idx]
        d_bs00[d_idx], d_bs01[d_idx] = d_as00[d_idx], d_as01[d_idx]
        d_bs11[d_idx], d_bs22[d_idx] = d_as11[d_idx], d_as22[d_idx]
        d_x[d_idx] += dt * d_u[d_idx]
        d_y[d_idx] += dt * d_v[d_idx]
        d_u[d_idx] += dt * d_free[d_idx] * d_au[d_idx]
        d_v[d_idx] += dt * d_free[d_idx] * d_av[d_idx]
        d_rho[d_idx] += dt * d_arho[d_idx]
        d_s00[d_idx] += dt * d_as00[d_idx]
        d_s01[d_idx] += dt * d_as01[d_idx]
        d_s11[d_idx] += dt * d_as11[d_idx]
        d_s22[d_idx] += dt * d_as22[d_idx]
        to_cone(d_idx, d_s00, d_s01, d_s11, d_s22, d_slope, d_bound)

    def stage2(self, d_idx, d_x, d_y, d_u, d_v, d_rho, d_s00, d_s01, d_s11, d_s22, d_x0, d_y0, d_u0, d_v0, d_rho0,
               d_s000, d_s010, d_s110, d_s220, d_au, d_av, d_arho, d_as00, d_as01, d_as11, d_as22, d_bu, d_bv,
               d_brho, d_bs00, d_bs01, d_bs11, d_bs22, d_free, d_slope, d_bound, dt):
        d_x[d_idx] = d_x0[d_idx] + 0.5 * dt * (d_u0[d_idx] + d_u[d_idx])
        d_y[d_idx] = d_y0[d_idx] + 0.5 * dt * (d_v0[d_idx] + d_v[d_idx])
        d_u[d_idx] = d_u0[d_idx] + 0.5 * dt * d_free[d_idx] * (d_bu[d_idx] + d_au[d_idx])
        d_v[d_idx] = d_v0[d_idx] + 0.5 * dt * d_free[d_idx] * (d_bv[d_idx] + d_av[d_idx])
        d_rho[d_idx] = d_rho0[d_idx] + 0.5 * dt * (d_brho[d_idx] + d_arho[d_idx])
        d_s00[d_idx] = d_s000[d_idx] + 0.5 * dt * (d_bs00[d_idx] + d_as00[d_idx])
        d_s01[d_idx] = d_s010[d_idx] + 0.5 * dt * (d_bs01[d_idx] + d_as01[d_idx])
        d_s11[d_idx] = d_s110[d_idx] + 0.5 * dt * (d_bs11[d_idx] + d_as11[d_idx])
        d_s22[d_idx] = d_s220[d_idx] + 0.5 * dt * (d_bs22[d_idx] + d_as22[d_idx])
        to_cone(d_idx, d_s00, d_s01, d_s11, d_s22, d_slope, d_bound)

# fmt: on


def main(case_path: str, result_path: str) -> None:
    """CPU and wall seconds of a particle-step, and where the particles are after `steps` of them."""
    case, number = read_case(case_path)
    n = case["free"].size
    stress = ("s00", "s01", "s11", "s22")
    more = [f"{kind}{name}" for kind in ("a", "b") for name in ("u", "v", "rho", *stress)]
    more += [
        "x0",
        "y0",
        "u0",
        "v0",
        "rho0",
        "v00",
        "v01",
        "v10",
        "v11",
        "free",
        *stress,
        *(f"{s}0" for s in stress),
    ]
    soil = get_particle_array(
        name="soil",
        m=np.full(n, number["mass"]),
        h=np.full(n, 0.5 * number["support"]),
        additional_props=more,
        constants={"slope": number["slope"], "bound": number["bound"]},
        **dict(zip("xy", case["state_position"], strict=True)),
    )
    soil.free[:] = case["free"]
    for kind, prefix in (("state", ""), ("rate", "a")):
        values = [*case[f"{kind}_velocity"], case[f"{kind}_density"], *case[f"{kind}_stress"]]
        for name, value in zip(("u", "v", "rho", *stress), values, strict=True):
            getattr(soil, prefix + name)[:] = value
    terms = [number[k] for k in ("alpha", "beta", "sound", "support", "gravity")]
    equations = [
        Group([VelocityGradient2D("soil", ["soil"]), Momentum("soil", ["soil"], *terms)]),
        Group([StressRate("soil", None, number["bulk"], number["shear"])]),
    ]
    solve(result_path, number, [soil], equations, PECIntegrator(soil=SoilStep()))


if __name__ == "__main__":
    main(*sys.argv[1:])
