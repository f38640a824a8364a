# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     name: python3
# ---

# %% [markdown]
# # My own lander
#
# You have a lander of your own: here one with four legs, on a small asteroid. Two files describe its landing. This
# notebook writes both, simulates the touchdown, and fits the ground to the readings of the lander's sensors. It takes
# about two minutes.
#
# `difsim data` copies the files of Philae into the folder `data`, if you want a longer example.
#
# ## 1. The lander
#
# The first file holds the lander, its landing gear, the site, and the unknowns with their ranges. Each key names its
# unit, and every value is checked. There are two frames to know. The *lander's* frame has its origin in the centre of
# mass and z up along the lander's axis. The *asteroid's* frame is fixed to the asteroid; the site is given in it.
#
# | table | what a new mission must change |
# |---|---|
# | `[lander]` | all of it |
# | `[gear]` | the damper: `kind = "maxwell"` has one in each leg; `"central"` has one for all legs, and a stop |
# | `[site]` | `body`, its name; `normal`, `velocity_m_per_s` and `gravity_m_per_s2` |
# | `[unknowns]` | the ranges: two numbers are a range; one number is known, and not searched |
# | `[regolith]` | the porosity of the ground |
#
# Philae's file has two more tables, which a mission without a boulder leaves out: `[obstacle]` is a boulder, and
# `[sub_spheres]` serves touchdowns on beds of grains. Its body is `"67P"`, the one whose field and shape come with
# difsim: there `position_m` gives the gravity, and the lander is followed to its next contact. On another body you give
# the gravity, and the touchdown is all.

# %%
import difsim

difsim.configure()

from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

Path("lander.toml").write_text("""
[lander]
name = "Four legs"
mass_kg = 40.0
inertia_kg_m2 = [6.0, 6.0, 8.0]  # about x, y and z of the lander's frame
# The lower and the upper ends of the legs.
feet_m = [[0.8, 0, -0.5], [0, 0.8, -0.5], [-0.8, 0, -0.5], [0, -0.8, -0.5]]
hips_m = [[0.2, 0, -0.2], [0, 0.2, -0.2], [-0.2, 0, -0.2], [0, -0.2, -0.2]]
footpad_radius_m = 0.08
leg_stiffness_N_per_m = 8000.0
# The hull is a box about the centre of mass. It may touch the ground too.
hull_m = [0.6, 0.6, 0.4]

[gear]
kind = "maxwell"
damping_N_s_per_m = 400.0

[site]
body = "small asteroid"  # for the report
# In the asteroid's frame.
normal = [0.0, 0.0, 1.0]  # out of the ground
velocity_m_per_s = [0.05, 0.0, -0.4]  # at touch
# In the surface frame: z along the normal, x along the approach.
alpha_s_deg = 90.0  # angles of the lander's axis, projected on xy
beta_s_deg = 90.0  # and on yz; 90 and 90 is upright
gravity_m_per_s2 = [0.0, 0.0, -1.0e-4]

[unknowns]
thickness_m = 0.4  # of the loose layer of grains, above a rigid floor
grain_diameter_m = [1.0e-4, 1.0e-1]
grain_density_kg_per_m3 = [1500.0, 3500.0]
grain_modulus_Pa = 1.0e7  # Young's modulus of a grain
friction = 0.6
tilt_sigma_deg = 0.0  # standard deviation; 0: the attitude is known
heading_deg = 0.0  # of the legs about the lander's axis

[regolith]
porosity = 0.5
surface_energy_J_per_m2 = 0.02  # for the cohesion of grains; this is silica
""")

# %% [markdown]
# ## 2. The readings
#
# The second file holds what was measured: a value, a standard deviation and a source for each observable. The [list of
# observables](../theory-agilkia.md#7-observables) has their names and units. Its table `[initial]` holds the spin at
# touch, a flywheel that runs down (none here), and the time of the observables. With a real lander you type this file.
# Here we invent the readings: we choose a ground, simulate, and write what the sensors would read.
#
# ## 3. Simulate
#
# `problem` turns the two files into an inverse problem. Its `predict` is the forward model, which computes the
# observables from the unknowns. Our file leaves two unknowns: the size and the density of the grains.

# %%
HEAD = """
name = "my landing"

[initial]
spin_rad_per_s = 0.01  # about the lander's axis, at touch
flywheel_N_m_s = 0.0  # angular momentum that a wheel hands to the lander ...
rundown_s = 1.0  # ... within this time
horizon_s = 5.0  # the observables are those of this time after the start
"""
SIGMA = {"rebound_speed": 1e-3, "ground_energy": 0.02, "penetration_deepest": 2e-3, "damper_energy": 0.02}


def write_readings(values):
    rows = [
        f'[observables.{name}]\nvalue = {float(values[name])}\nsigma = {sigma}\nsource = "simulated"\n'
        for name, sigma in SIGMA.items()
    ]
    Path("observations.toml").write_text(HEAD + "\n" + "\n".join(rows))


write_readings(dict.fromkeys(SIGMA, 0.1))  # any values: they are replaced when the readings are known

from difsim import plot
from experiments.agilkia.files import read_lander, read_observations
from experiments.agilkia.scenario import problem

lander = read_lander(Path("lander.toml"))
truth = {"thickness": 0.4, "grain_diameter": 2e-3, "grain_density": 2500.0, "grain_modulus": 1e7, "friction": 0.6}
truth |= {"tilt_x": 0.0, "tilt_y": 0.0, "heading": 0.0}
truth = {name: jnp.asarray(value) for name, value in truth.items()}

first = problem(lander, read_observations(Path("observations.toml")))
times = jnp.linspace(0.0, 5.0, 201)
model, run = jax.jit(lambda p: first.predict.follow(p, times))(truth)
assert run.values_are_valid, difsim.Status(int(run.status)).name

figure, (above, below) = plt.subplots(2, 1, figsize=(6, 4), sharex=True)
above.plot(run.times, run.states.body.velocity[:, 2])
above.set_ylabel("vertical speed, m/s")
below.plot(run.times, 1e3 * run.states.penetration)
below.set_ylabel("penetration of\neach footpad, mm")
below.set_xlabel("time, s")
plot.force(run.times, jax.vmap(model.contact_force)(run.states))
plot.energy(run)
plt.show()

# %% [markdown]
# ## 4. Fit
#
# Now we write the readings, with noise, and search for the ground that explains them. `fit` tries `starts` random
# values of the unknowns. It improves the best `keep` of them by least squares with exact derivatives. A search has
# converged when the misfit or the unknowns change by less than the share in `stops`.

# %%
from inversion import Stops, fit

observables, status = jax.jit(lambda p: first.predict(p))(truth)
assert status == difsim.Status.OK
random = np.random.default_rng(1)
write_readings({name: float(observables[name]) + sigma * random.normal() for name, sigma in SIGMA.items()})

mine = problem(lander, read_observations(Path("observations.toml")))
found = fit(mine, key=jax.random.PRNGKey(0), starts=24, keep=2, stops=Stops(misfit=1e-3, step=1e-3))
print(found)

# %% [markdown]
# ## 5. What the data fix
#
# An uncertainty alone can mislead, because an unknown about which the data say nothing keeps the range that you gave
# it. `identify` compares each unknown with this range, its prior. It says in words what the data determine ("fix").

# %%
from inversion import identify

verdicts = identify(mine, found).verdicts
for name in ("grain_diameter", "grain_density"):
    print(f"{name}: {found.values[name]:.4g}, true {float(truth[name]):.4g}: {verdicts[name]}")
assert found.explains_data and verdicts["grain_diameter"] == "fixed by the data"

# %% [markdown]
# ## 6. The whole inversion by one command
#
# The command does the same for all unknowns, also for choices such as `friction = [0.2, 0.6, 1.0]`. It writes a report,
# figures and the data. It prints the gravity that it uses, and what it assumes:
#
# ```
# difsim agilkia --lander lander.toml --observations observations.toml --out results/mine
# ```
#
# It takes some minutes. With `--quick` it only shows whether the files are complete.
#
# ## What this does not say
#
# The ground is a force law for each footpad, not a bed of grains ([its
# assumptions](../theory-agilkia.md#4-footpad-on-regolith)). The readings were made by the model that is fitted, so this
# notebook cannot show an error of the model.
#
# Next: [my own tracked stones](stones.md).
