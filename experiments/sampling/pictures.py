"""Pictures of the brush runs."""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from difsim.stepping import Evolution
from experiments.sampling.scene import Scene
from experiments.style import STYLE


@plt.rc_context(STYLE)
def draw_collected(path: Path, runs: dict[str, dict[str, Any]]) -> None:
    """The area in the tray against time, as the paper's Figs 5 and 8-11, of Earth and of Phobos."""
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for axis, place, title in zip(axes, "EP", ("Earth", "Phobos"), strict=True):
        for name, found in runs.items():
            if name.startswith(place):
                axis.plot(found["time_s"], found["tray_cm2"], label=name)
        axis.set(title=title, xlabel="time, s", ylabel="regolith in the tray, cm²")
        if axis.lines:
            axis.legend(ncols=2)
    figure.savefig(path)
    plt.close(figure)


@plt.rc_context(STYLE)
def draw_snapshots(path: Path, name: str, scene: Scene, run: Evolution) -> None:
    """The bed by its speed, and the tools, at four instants."""
    figure, axes = plt.subplots(2, 2, figsize=(11, 9), layout="constrained", sharex=True, sharey=True)
    soil = scene.bed.shape[1]
    speeds = np.linalg.norm(run.states.velocity[:, :, :soil], axis=1)
    top = max(float(np.quantile(speeds, 0.999)), 1e-3)
    chosen = np.linspace(0, run.times.size, 5).astype(int)[1:] - 1
    for axis, i in zip(axes.ravel(), chosen, strict=True):
        x, y = run.states.position[i] * 100
        dots = axis.scatter(x[:soil], y[:soil], c=speeds[i], s=1.5, vmin=0, vmax=top, cmap="viridis", linewidths=0)
        axis.scatter(x[soil:], y[soil:], color="0.4", s=1.5, linewidths=0)
        axis.set(title=f"{name}, {run.times[i]:.2f} s", aspect="equal", xlim=(-18, 18), ylim=(-12, 18))
    for axis in axes[1]:
        axis.set_xlabel("cm")
    for axis in axes[:, 0]:
        axis.set_ylabel("cm")
    figure.colorbar(dots, ax=axes, label="speed, m/s", shrink=0.6)
    figure.savefig(path)
    plt.close(figure)
