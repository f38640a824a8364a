# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     name: python3
# ---

# %% [markdown]
# # My own hopper on my own mesh
#
# A small box is released above an asteroid and bounces until it rests. You give the shape of the asteroid as a mesh
# file. The notebook releases the box many times with slightly different velocities and draws the landing ellipse. It
# takes about three minutes.
#
# ## 1. The mesh
#
# Any closed mesh will do: `.obj`, `.stl`, `.ply`, or a table of plates. So that this notebook needs no download, we
# write one: a rough ellipsoid of 320 triangles, about 200 m across. A mesh file does not state its unit, so `load`
# asks for it. `size` is the range in which the largest extent must lie, in m: it shows a wrong unit. A mesh that is
# open or inside out is refused with the place of the fault.

# %%
import difsim

difsim.configure()

from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import trimesh

from difsim.mesh import load

ball = trimesh.creation.icosphere(2, radius=100.0)
random = np.random.default_rng(3)
ball.vertices *= np.array([1.2, 1.0, 0.8]) * (1 + 0.03 * random.normal(size=(len(ball.vertices), 1)))
ball.export("asteroid.obj")

mesh = load(Path("asteroid.obj"), unit="m", size=(150.0, 300.0))
print(f"{len(mesh.faces)} faces, volume {mesh.volume:.3g} m³")

# %% [markdown]
# ## 2. Surface, gravity and hopper
#
# The surface is a table of distances made from the mesh, on a grid of 6 m. The gravity is that of a homogeneous
# polyhedron, exact for this mesh. The hopper is a box whose corners touch the ground. Each corner is a spring with a
# damper: `NormalForce.from_restitution` finds the damping that gives the restitution you want. Friction sticks below
# a slip speed, and rolling resistance stops a spin. The asteroid rotates once in 6 h.

# %%
from difsim.body import RigidBody, RigidState
from difsim.contact import (
    AtEffectivePoint,
    Hooke,
    NormalForce,
    RollingForceAndTorque,
    StickSlip,
    SurfaceContact,
    Vertices,
)
from difsim.dynamics import Hopper
from difsim.gravity import Polyhedron
from difsim.shape import GridSDF

mass, edges = 2.0, (0.3, 0.2, 0.2)  # kg, m
spin = (0.0, 0.0, 2 * np.pi / (6 * 3600.0))  # rad/s
surface = GridSDF.from_mesh(mesh, spacing=6.0)
field = Polyhedron(mesh, density=1500.0)
inertia = (
    mass
    / 12
    * np.diag([edges[1] ** 2 + edges[2] ** 2, edges[0] ** 2 + edges[2] ** 2, edges[0] ** 2 + edges[1] ** 2])
)


def hopper(restitution, friction):
    contact = SurfaceContact(
        Vertices.box(edges),
        NormalForce.from_restitution(restitution, Hooke(20.0), 1e-3, mass=mass),  # 20 N/m; smoothed over 1 mm
        AtEffectivePoint(StickSlip(friction, friction, 1e-3)),  # sticks below 1 mm/s
        (RollingForceAndTorque(5e-3, 1e-3),),  # a lever arm of 5 mm; fades below 1e-3 rad/s
    )
    # No step is longer than 0.05 s where it could jump over a contact.
    return Hopper(RigidBody(mass, inertia), contact, surface, field, spin, resolution=0.05)


site = jnp.asarray(mesh.vertices[np.argmax(mesh.vertices[:, 2])])  # the highest vertex
up = -field.acceleration(site) / jnp.linalg.norm(field.acceleration(site))
east = jnp.cross(jnp.array([0.0, 1.0, 0.0]), up)
east /= jnp.linalg.norm(east)
axes = jnp.stack([east, jnp.cross(up, east), up])  # rows: east, north, up
print(f"gravity at the site: {float(jnp.linalg.norm(field.acceleration(site))):.2e} m/s²")

# %% [markdown]
# ## 3. One release
#
# `until=AtRest(...)` ends the run when the hopper is at rest. `trust=Ignore()` says that we do not want a
# derivative: after several bounces it would mean nothing (see [gradients](../gradients.md)).

# %%
from difsim import Adaptive, AtRest, Ignore, Status, plot, simulate

REST = AtRest(speed=1e-4, spin=1e-3, hold=20.0)  # below 0.1 mm/s and 1e-3 rad/s for 20 s
SOLVER = Adaptive(1e-7, 1e-7, max_steps=30_000)  # relative and absolute tolerance


def release(case, times):
    model = hopper(case["restitution"], case["friction"])
    body = RigidState(
        site + jnp.array([0.0, 0.0, 5.0]) @ axes, case["velocity"] @ axes, (1.0, 0.0, 0.0, 0.0), case["spin"]
    )
    return simulate(model, model.start(body), times, solver=SOLVER, until=REST, throw=False, trust=Ignore())


middle = {
    "velocity": jnp.array([0.02, 0.01, -0.02]),
    "spin": jnp.array([0.02, 0.05, 0.01]),
    "restitution": jnp.asarray(0.6),
    "friction": jnp.asarray(0.5),
}
one = jax.jit(release)(middle, jnp.linspace(0.0, 6000.0, 301))
seconds, contacts = float(one.stats.rest_time), int(one.stats.contacts)
print(f"{Status(int(one.status)).name}: at rest after {seconds:.0f} s and {contacts} contacts")
plot.height(one.times, one.states.body.position, surface).set_xlim(0, seconds)
plot.path(one.states.body.position, mesh)
plt.show()

# %% [markdown]
# ## 4. Many releases
#
# The velocity of the release is known to 2 mm/s, its spin to 0.01 rad/s, and restitution and friction to 0.05.
# `map_batched` runs all cases on all cores. It raises no error for a run that failed. `Status.summary` says how many
# did and why: UNSETTLED still moves, and ENERGY or STEP_LIMIT is a run that needs a tighter tolerance or more steps.
# Neither is part of the ellipse, and neither must be hidden.
#
# ## 5. The landing ellipse
#
# The ellipses would hold 39, 86 and 99 % of the cases if they were Gaussian. Compare them with the points: on a surface
# with slopes they are not.

# %%
from inversion import map_batched

count = 48
random = np.random.default_rng(0)
cases = {
    "velocity": jnp.asarray(np.asarray(middle["velocity"]) + 2e-3 * random.normal(size=(count, 3))),
    "spin": jnp.asarray(np.asarray(middle["spin"]) + 0.01 * random.normal(size=(count, 3))),
    "restitution": jnp.asarray(0.6 + 0.05 * random.normal(size=count)),
    "friction": jnp.asarray(0.5 + 0.05 * random.normal(size=count)),
}


def landing(case):
    end = release(case, jnp.array([0.0, 12000.0]))
    return {"place": (end.last.body.position - site) @ axes.T, "time": end.stats.rest_time, "status": end.status}


landed = jax.jit(lambda c: map_batched(landing, c))(cases)
settled = np.asarray(landed["status"]) == Status.OK
print(Status.summary(landed["status"]))
assert settled.mean() > 0.8

places = np.asarray(landed["place"])[settled, :2]
ax = plot.landing_ellipse(places)
ax.plot(0, 0, "k+", label="under the release")
ax.legend()
plt.show()
print(f"time to rest: {np.median(np.asarray(landed['time'])[settled]):.0f} s (median)")

# %% [markdown]
# ## What this does not say
#
# The ground is smooth between the vertices of the mesh; `difsim.shape.Rough` adds rocks. The contact is softer than
# rock, so that time steps can be long: make it stiffer until the ellipse no longer changes. For thousands of cases use
# `inversion.sweep`, which continues after an interruption. The [hopper study](../studies/hopper.md) has such an
# ensemble on comet 67P.
#
# Next: [soil and grains](soil.md).
