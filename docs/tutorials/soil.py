# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     name: python3
# ---

# %% [markdown]
# # Soil and grains, with a derivative
#
# Soil can be a continuum (smoothed particle hydrodynamics, SPH) or grains (the discrete element method, DEM). Both are
# run by the same `simulate` and have derivatives. This notebook lets a block of sand collapse and a stone hit grains.
# It takes about three minutes, most of it compilation.
#
# ## 1. A block of sand
#
# The sand is elastic until its shear stress reaches the bound of Drucker and Prager, which grows with the pressure.
# Then it flows. The particles of floor and wall form a `Tool`, a rigid part, that does not move. `CubicSpline` sets the
# reach of a particle, 2.5 spacings. `Viscosity` damps particles that approach each other. The friction is an argument
# of our function, so that we can differentiate with respect to it.

# %%
import difsim

difsim.configure()

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

from difsim import Courant, FixedSteps, Unrolled, allocate, run, simulate
from difsim.sph import Continuum, CubicSpline, DruckerPrager, Tool, Viscosity

spacing = 0.005  # m
grid = np.stack(np.meshgrid(np.arange(-3, 60), np.arange(-3, 12), indexing="ij")).reshape(2, -1)
x, y = grid
block, wall = (x >= 0) & (x < 20) & (y >= 0), (y < 0) | ((x < 0) & (y >= 0))
position = jnp.asarray(spacing * (np.concatenate([grid[:, block], grid[:, wall]], axis=1) + 0.5))
tool = Tool(np.arange(block.sum(), position.shape[1]), position[:, block.sum() :])


def sand(friction_deg):
    material = DruckerPrager(young=0.84e6, poisson=0.3, friction=jnp.radians(friction_deg), density=2650.0)
    mass = np.full(position.shape[1], 2650.0 * spacing**2)
    return Continuum(
        material, CubicSpline(2.5 * spacing), Viscosity(0.3, 0.7, 21.0), np.array([0.0, -9.81]), mass, (tool,)
    )


model = sand(20.0)
collapse = run(model, model.at_rest(position), [0.0, 0.1, 0.2])
figure, panels = plt.subplots(1, 3, figsize=(8, 2), sharey=True)
for panel, time, where in zip(panels, collapse.times, collapse.states.position, strict=True):
    panel.plot(*(100 * where[:, : block.sum()]), ".", markersize=2)
    panel.set_title(f"{float(time):.1f} s", fontsize=9)
    panel.set_aspect("equal")
    panel.set_xlabel("cm")
plt.show()
print(f"the front is at {float(collapse.states.position[-1, 0, : block.sum()].max()):.3f} m")

# %% [markdown]
# ## 2. A derivative of the collapse
#
# How does the spread of the sand change with its friction? A derivative needs a number of steps that is known
# beforehand: `FixedSteps`, with `derivative=Unrolled()`. The spread is the root mean square distance from the wall: a
# mean over all particles is smoother than the place of the foremost one. We compare with a finite difference over one
# degree.

# %%
state = model.at_rest(position)
# Inside `jit` a neighbour list cannot grow: its capacity is found before.
steps = FixedSteps(800, neighbours=allocate(model, state, slack=2.0))


def spread(friction_deg):
    end = simulate(sand(friction_deg), state, [0.0, 0.1], solver=steps, derivative=Unrolled(), throw=False)
    return jnp.sqrt(jnp.mean(end.last.position[0, : block.sum()] ** 2)), end.status


both = jax.jit(lambda friction: jax.jvp(spread, (friction,), (1.0,), has_aux=True))
value, slope, status = both(20.0)
assert status == difsim.Status.OK, difsim.Status(int(status)).name
(high, *_), (low, *_) = both(20.5), both(19.5)
print(
    f"spread {float(value):.4f} m; derivative {float(slope):.2e}, difference {float(high - low):.2e} m per degree"
)

# %% [markdown]
# ## 3. A stone among grains
#
# Grains are spheres with friction; their contacts are springs that remember how far they were sheared. The stone is a
# `Clump`: a rigid body filled with spheres, which leave a share of its volume empty, the `vacancy`. The grains begin on
# a lattice and settle while the stone falls.

# %%
from difsim.beds import CylindricalContainer
from difsim.body import RigidState
from difsim.dem import Clump, Grains, HertzMindlin
from difsim.mesh import box

row = np.arange(-3, 4)
lattice = 0.0102 * np.stack(np.meshgrid(row, row, np.arange(3), indexing="ij")).reshape(3, -1)  # m
places = lattice[:, np.hypot(lattice[0], lattice[1]) < 0.035] + np.array([[0.0], [0.0], [0.0051]])
radius = np.random.default_rng(0).uniform(0.0045, 0.005, places.shape[1])
stone = Clump.from_mesh(box((0.03, 0.02, 0.02)), mass=0.03, vacancy=0.3)


def bed(friction):
    law = HertzMindlin(modulus=1e6, poisson=0.25, restitution=0.5, friction=friction)
    return Grains(
        law,
        radius,
        2500.0,
        (0.0, 0.0, -9.81),
        walls=CylindricalContainer(0.076).walls,
        clumps=(stone,),
        clump_laws=(None,),  # of the grains' own material
    )


thrown = RigidState((0.0, 0.0, 0.05), (0.2, 0.0, -0.5), (1.0, 0.0, 0.0, 0.0), (0.0, 10.0, 0.0))
grains = bed(0.5)
start = grains.at_rest(places, (thrown,))
# A neighbour list that overflows is enlarged, and everything compiles again: `slack` gives it more room at once.
near = allocate(grains, start, slack=3.0)
fall = run(grains, start, np.linspace(0.0, 0.1, 21), solver=Courant(neighbours=near))
plt.figure(figsize=(6, 3))
plt.plot(fall.times, 100 * fall.states.clumps[0].position[:, 2])
plt.xlabel("time, s")
plt.ylabel("height of the stone, cm")
plt.show()

# %% [markdown]
# ## 4. A derivative through grains, and its limit
#
# `simulate` gives the derivative of the stone's speed with respect to the friction of the grains. Over some hundreds
# of steps it agrees with finite differences. Later, runs that begin almost alike diverge. The derivative of a single
# run then grows without bound and means nothing: use the gradient of a mean over many runs ([through
# grains](../gradients.md#through-grains)).


# %%
def speed(friction, end, count):
    way = {"solver": FixedSteps(count, neighbours=near), "derivative": Unrolled()}
    thrown = simulate(bed(friction), start, [0.0, end], **way, throw=False)
    return thrown.last.clumps[0].velocity[2], thrown.status


short = jax.jit(lambda friction: jax.jvp(lambda f: speed(f, 0.03, 300), (friction,), (1.0,), has_aux=True))
upwards, slope, status = short(0.5)
assert status == difsim.Status.OK, difsim.Status(int(status)).name
(more, *_), (less, *_) = short(0.5 + 1e-5), short(0.5 - 1e-5)
print(
    f"after 30 ms: {float(upwards):.4f} m/s; per unit of friction: derivative {float(slope):.4f} m/s, "
    f"difference {float(more - less) / 2e-5:.4f} m/s"
)

# %% [markdown]
# ## What this does not say
#
# The beds are tiny, so that the notebook is short. `BedSpecification` prepares [beds](../theory-dem.md#4-beds) at rest,
# of any size. Refine the spacing of the particles, or the size of the grains, until the answer no longer changes; the
# [cliff](../studies/cliff.md) and [column](../studies/column.md) studies show how.
