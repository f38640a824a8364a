# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     name: python3
# ---

# %% [markdown]
# # A bounce and its restitution
#
# A ball falls on a plane in weak gravity and bounces. We simulate it, compute the derivative of its height, and find
# its coefficient of restitution from noisy readings. That coefficient is the speed after an impact divided by the
# speed before it. You need no file. The notebook takes about a minute, most of it compilation.
#
# Call `configure` first. It selects double precision (float64) and keeps compiled programs, so that the second run is
# faster.
#
# ## 1. Simulate
#
# A model is made of parts: a gravity field, a shape, and a coefficient of restitution. All numbers are in SI units.
# `simulate` takes a model, an initial state, and the times at which you want the state. It returns a `Solution`. If the
# run fails, `simulate` raises an error that names the reason and the remedy.

# %%
import difsim

difsim.configure()

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

from difsim import dynamics, gravity, plot, shape, simulate

g = 1e-4  # m/s²
ground = shape.Plane((0, 0, 0), (0, 0, 1))  # a point of it, and its normal


def ball(restitution):
    return dynamics.Bouncer(gravity.Uniform((0, 0, -g)), ground, restitution)


times = jnp.linspace(0.0, 600.0, 301)  # s
run = simulate(ball(0.7), dynamics.PointState((0, 0, 1)), times)  # at rest, 1 m above the ground
plot.height(run.times, run.states.position, ground)
plt.show()
print(f"status {difsim.Status(int(run.status)).name}, {int(run.stats.contacts)} contacts")

# %% [markdown]
# ## 2. Differentiate
#
# The time of an impact depends on the initial state. difsim finds the time at which the distance to the ground is zero,
# and differentiates that time too, so the derivative across the impact is exact. For one bounce there is a closed form:
# $z(t) = e \sqrt{2 g h}\, τ - g τ^2 / 2$. Here $z$ is the height, $h$ the height of the release, $e$ the coefficient of
# restitution, and $τ$ the time since the impact. JAX's `jacfwd` makes a function of the derivative.

# %%
t = 200.0


def after_one_bounce(e):
    return simulate(ball(e), dynamics.PointState((0, 0, 1)), jnp.array([0.0, t])).last.position[2]


tau = t - np.sqrt(2 * 1.0 / g)
print("difsim     ", jax.jacfwd(after_one_bounce)(0.7), "m")
print("closed form", np.sqrt(2 * g * 1.0) * tau, "m")

# %% [markdown]
# ## 3. Fit
#
# A camera reads the height every 20 s with an error of 2 mm. We pretend not to know the restitution and the height of
# the release; each is `Bounded` by a range. `inversion` wants a function of a dictionary of parameters. The function
# returns a dictionary of observables, and the status of the run. A fit must survive runs that fail, so `throw=False`
# turns the error into that status. The fit tries `starts` random values of the parameters and improves
# the best `keep` of them by least squares.

# %%
from inversion import Bounded, Observation, Observations, Problem, fit

camera = jnp.arange(0.0, 401.0, 20.0)
sigma = 2e-3  # m


def heights(p):
    start = dynamics.PointState((0.0, 0.0, p["release"]))
    seen = simulate(ball(p["restitution"]), start, camera, throw=False)
    return {"height": seen.states.position[:, 2]}, seen.status


truth = {"restitution": jnp.asarray(0.7), "release": jnp.asarray(1.0)}
noise = sigma * np.random.default_rng(0).normal(size=camera.size)
readings = heights(truth)[0]["height"] + noise
problem = Problem(
    {"restitution": Bounded(0.3, 0.95), "release": Bounded(0.8, 1.2, unit="m")},
    heights,
    Observations({"height": Observation(readings, sigma, unit="m")}),
)
found = fit(problem, key=jax.random.PRNGKey(0), starts=16, keep=3)
print(found)

# %% [markdown]
# ## 4. Check
#
# The answer has an uncertainty, and a test of whether the model explains the data. Here both true values lie within
# three standard deviations. If `explains_data` is false, do not use the uncertainty: the search may have ended in a
# wrong minimum, the model may be wrong, or the stated errors may be too small.

# %%
for name, true in truth.items():
    print(f"{name}: {found.values[name]:.4f} +- {found.sigma[name]:.4f}, true {float(true)}")
    assert abs(found.values[name] - float(true)) < 3 * found.sigma[name]
assert found.explains_data

fine = simulate(ball(found.values["restitution"]), dynamics.PointState((0, 0, found.values["release"])), times)
ax = plot.height(fine.times, fine.states.position, ground, label="fit")
ax.errorbar(camera, readings, 3 * sigma, fmt="o", markersize=3, label="readings")
ax.set_xlim(0, 420)
ax.legend()
plt.show()

# %% [markdown]
# ## What this does not say
#
# The ball is a point and its restitution does not depend on the speed. A real body is rough, spins and loses energy to
# friction: see [two stones](../theory-pair.md) and [contact with a surface](../theory-contact.md). The motion ends with
# the first bounce that is lower than the model's `rest_height` ([hard contact](../theory-impact.md)).
#
# Next: [my own lander](lander.md).
