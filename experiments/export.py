"""`difsim export RESULT --to FOLDER`: a result for ParaView (VTK) and for spreadsheets (CSV)."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import tyro
import xarray as xr

from difsim.extras import require
from difsim.saving.atomic import write_atomically
from experiments.geometry import TURNED, Part, parts, read
from experiments.variables import AXES
from experiments.view import mesh_of

WIDEST = 16  # numbers beside each other in a series; wider variables are fields, which CSV does not suit


@dataclass(kw_only=True)
class Export:
    """Write what a result holds as VTK, which ParaView opens, and its series and numbers as CSV."""

    result: tyro.conf.Positional[Path]
    """A NetCDF file of a run, or the folder that a run has written."""
    to: Path = Path("export")
    """Folder of the files."""
    frames: int = 200
    """Instants of what moves, evenly chosen, at most."""

    def __post_init__(self):
        if self.frames < 1:
            raise ValueError(f"--frames {self.frames} must be at least 1")

    def run(self) -> None:
        """Write all of it, and print the path of each file but the single frames."""
        for name, data in read(self.result).items():
            self.to.mkdir(parents=True, exist_ok=True)
            for file in (*export_csv(data, self.to, name), *export_vtk(data, self.to, name, self.frames)):
                print(file)


def export_vtk(data: xr.Dataset, folder: Path, name: str, frames: int = 200) -> list[Path]:
    """Write everything that can be seen: a .vtp file each, and for what moves a series of them in time.

    **Arguments:** `data`; `folder`, existing; `name`, with which the files begin; `frames` at most.
    **Returns:** the paths of the files to open. **Raises:** ImportError without PyVista.
    """
    opened = []
    for part in parts(data):
        require("view", "pyvista")
        stem = f"{name}_{part.name}".replace(" ", "_").replace("/", "_")
        if len(part.times) == 1:
            opened.append(folder / f"{stem}.vtp")
            _write(opened[-1], part, 0)
            continue
        files = []
        for i in choose(len(part.times), frames):
            files.append({"name": f"{stem}/{i:05d}.vtp", "time": float(part.times[i])})
            _write(folder / files[-1]["name"], part, i)
        opened.append(folder / f"{stem}.vtp.series")
        with write_atomically(opened[-1]) as whole:
            whole.write_text(json.dumps({"file-series-version": "1.0", "files": files}, indent=1))
    return opened


def choose(count: int, most: int) -> list[int]:
    """Return at most so many of the first `count` numbers, evenly spread, the first and the last among them."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int)).tolist()


def _write(path: Path, part: Part, i: int) -> None:
    with write_atomically(path) as whole:
        mesh_of(part, i).save(whole)


def export_csv(data: xr.Dataset, folder: Path, name: str) -> list[Path]:
    """Write series and numbers: a table for each dimension along which there are series, and one of single numbers.

    A heading has the name, the index of each component, and the unit. What is wider than WIDEST is left out.
    **Returns:** the paths of the files.
    """
    tables = {}
    for dim in (dim for dim in data.dims if dim not in (*AXES, *TURNED)):
        series = [_series(data, str(k), dim) for k, v in data.variables.items() if dim in v.dims and k != dim]
        if series := [each for each in series if each.shape[1] <= WIDEST]:
            own = [_series(data, dim, dim)] if dim in data.coords else []
            tables[dim] = pd.concat([*own, *series], axis=1)
    if single := {k: v for k, v in data.variables.items() if not v.dims}:
        rows = [(k, v.item(), v.attrs.get("units", ""), v.attrs.get("long_name", "")) for k, v in single.items()]
        tables["numbers"] = pd.DataFrame(rows, columns=["name", "value", "units", "meaning"])
    for dim, table in tables.items():
        with write_atomically(folder / f"{name}_{dim}.csv") as whole:
            table.to_csv(whole, index=False)
    return [folder / f"{name}_{dim}.csv" for dim in tables]


def _series(data: xr.Dataset, name: str, dim) -> pd.DataFrame:
    """One variable along `dim`: a column for each index of its other dimensions."""
    variable = data[name]
    others = [d for d in variable.dims if d != dim]
    flat = variable.transpose(dim, *others).values.reshape(variable.sizes[dim], -1)
    index = pd.MultiIndex.from_product([data.get_index(d) for d in others]) if others else [()]
    unit = f" [{variable.attrs['units']}]" if variable.attrs.get("units") else ""
    return pd.DataFrame(flat, columns=["_".join([name, *map(str, each)]) + unit for each in index])
