# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     name: python3
# ---

# %% [markdown]
# # My own tracked stones
#
# Cameras filmed two stones that collide in free fall, and a tracker followed the markers glued to them. This notebook
# turns the tracks into positions, velocities and spins before and after the impact, with their uncertainties. From
# these follows the energetic restitution: the kinetic energy after the collision divided by that before it. The
# notebook takes about two minutes.
#
# We use the example that comes with difsim. Its images are simulated, with a noise of 1 pixel. Some images are missing,
# and some markers have slipped. Your own files have the same form.
#
# ## 1. The files
#
# | file | content |
# |---|---|
# | `tracks.csv` | a row for each marker in each image: time in s, camera, body, marker, u and v in pixels |
# | `cams.json` | the cameras, the times of free flight before and after the impact, mass and markers of each body |
# | `stone.obj` | the closed surface of a stone in m; here both stones have the same |
#
# The coordinate u counts to the right, v downwards. A calibration that OpenCV wrote is read too
# ([cameras](../theory-camera.md#1-camera)).

# %%
import difsim

difsim.configure()

import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from experiments.cobbles.tracks import estimate_tracks
from experiments.cobbles.tracks_file import read_experiment, read_tracks
from experiments.data_files import CopyData

CopyData(to=Path("data")).run()
folder = Path("data/cobbles")
np.set_printoptions(suppress=True)

print((folder / "tracks.csv").read_text()[:200])
cams = json.loads((folder / "cams.json").read_text())
print(
    "cameras:",
    {name: {key: camera[key] for key in ("fx", "size", "rate")} for name, camera in cams["cameras"].items()},
)
print("arcs, s:", cams["arcs_s"])
print("bodies:", {name: (body["mass_kg"], sorted(body["markers_m"])) for name, body in cams["bodies"].items()})

# %% [markdown]
# ## 2. Read and look
#
# Reading checks everything: the message names the line of a faulty row. Look at the tracks of one camera before you
# trust them.

# %%
meshes = [folder / "stone.obj", folder / "stone.obj"]
experiment = read_experiment(folder / "cams.json", meshes)
tracks = read_tracks(folder / "tracks.csv", experiment)

camera = 0
plt.figure(figsize=(6, 3.4))
for color, (body, arcs) in zip(("tab:blue", "tab:red"), tracks.items(), strict=True):
    for style, arc in zip(("o", "x"), arcs, strict=True):
        seen = np.asarray(arc.seen)[:, camera]
        u, v = np.moveaxis(np.asarray(arc.pixels)[:, camera][seen], -1, 0)
        plt.plot(u, v, style, color=color, markersize=3, label=f"{body}, {'before' if style == 'o' else 'after'}")
plt.gca().invert_yaxis()
plt.xlabel("u, pixels")
plt.ylabel("v, pixels")
plt.legend(fontsize=8)
plt.show()

# %% [markdown]
# ## 3. Estimate
#
# Each arc of each body is fitted on its own. The fit finds twelve numbers: position, attitude, velocity and spin at the
# start of the arc. It needs no first guess. The stated uncertainty includes the errors of the places of the markers,
# which do not average out over many images.

# %%
found = estimate_tracks(folder / "tracks.csv", folder / "cams.json", meshes)
for state in found.summary["states"]:
    velocity, spin = state["velocity, m/s"], state["spin, rad/s"]
    images = f"{state['rms_px']:.2f} px in {state['images']} marker images"
    print(f"stone {state['body']}, arc {state['arc']}: residual {images}")
    print("   velocity, m/s ", np.round(velocity["value"], 4), "+-", np.round(velocity["sigma"], 4))
    print("   spin, rad/s   ", np.round(spin["value"], 3), "+-", np.round(spin["sigma"], 3))

# %% [markdown]
# ## 4. Check
#
# The residual is the distance between a marker in the image and in the model. Its root mean square should be as large
# as the noise of the tracker, and alike in all cameras. If it is larger in one camera, suspect the calibration of that
# camera. If it is larger in all cameras, suspect a slipped marker or wrong times of the arc.

# %%
for state in found.summary["states"]:
    shown = {camera: round(value, 2) for camera, value in state["rms_px_by_camera"].items() if value is not None}
    print(f"stone {state['body']}, arc {state['arc']}: residual by camera, px: {shown}")

ratio, sigma = found.summary["energy_ratio"], found.summary["energy_ratio_sigma"]
print(f"energetic restitution: {ratio:.3f} +- {sigma:.3f}")
assert 0 < ratio < 1 and sigma < 0.05

# %% [markdown]
# ## 5. The same by one command
#
# ```
# difsim cobbles --stage estimate --tracks data/cobbles/tracks.csv --calibration data/cobbles/cams.json \
#     --mesh data/cobbles/stone.obj --mesh data/cobbles/stone.obj
# ```
#
# ## What this does not say
#
# The calibration is taken as exact unless its errors are given ([errors that a fit does not
# estimate](../theory-camera.md#3-consider-parameters-errors-that-a-fit-does-not-estimate)). The energies are those in
# the frame of the cameras; another frame gives another ratio. The [cobbles study](../studies/cobbles.md) also fits all
# images at once, through the impact, which gives the restitution and the friction of the impact law.
#
# Next: [my own hopper](hopper.md).
