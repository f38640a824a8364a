"""`difsim export RESULT --to FOLDER`: a result for ParaView (VTK) and for spreadsheets (CSV)."""

import base64
import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np
import tyro
import xarray as xr

from difsim.saving.atomic import atomically
from experiments.geometry import TURNED, Part, parts, read
from experiments.variables import AXES

WIDEST = 16  # numbers beside each other in a series; wider variables are fields, which CSV does not suit
HEAD = '<?xml version="1.0"?>\n<VTKFile type="{}" version="1.0" byte_order="LittleEndian" header_type="UInt64">\n'
TYPES = {"f4": "Float32", "f8": "Float64", "i8": "Int64", "u1": "UInt8"}


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
        self.to.mkdir(parents=True, exist_ok=True)
        for name, data in read(self.result).items():
            for file in (*export_vtk(data, self.to, name, self.frames), *export_csv(data, self.to, name)):
                print(file)


def export_vtk(data: xr.Dataset, folder: Path, name: str, frames: int = 200) -> list[Path]:
    """Everything that can be seen: a .vtp file each, and for what moves a .pvd file of its .vtp files in time.

    **Arguments:** `data`; `folder`, existing; `name`, with which the files begin; `frames` at most.
    **Returns:** the paths of the files to open.
    """
    opened = []
    for part in parts(data):
        stem = f"{name}_{part.name}".replace(" ", "_").replace("/", "_")
        if len(part.times) == 1:
            opened.append(folder / f"{stem}.vtp")
            write_vtp(opened[-1], part, 0)
            continue
        beside = folder / stem
        beside.mkdir(exist_ok=True)
        rows = []
        for i in chosen(len(part.times), frames):
            write_vtp(beside / f"{i:05d}.vtp", part, i)
            rows.append(f'<DataSet timestep="{float(part.times[i])!r}" file={quoteattr(f"{stem}/{i:05d}.vtp")}/>')
        opened.append(folder / f"{stem}.pvd")
        text = HEAD.format("Collection") + "<Collection>\n" + "\n".join(rows) + "\n</Collection>\n</VTKFile>\n"
        with atomically(opened[-1]) as whole:
            whole.write_text(text)
    return opened


def chosen(count: int, most: int) -> list[int]:
    """At most so many of the first `count` numbers, evenly spread, the first and the last among them."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int)).tolist()


def write_vtp(path: Path, part: Part, i: int) -> None:
    """One instant of a part as XML PolyData, with triangles, one line, or a vertex for each point."""
    points = part.points[i].astype(float)  # single precision has steps of 0.03 m at 400 km from the origin
    count = len(points)
    if part.faces is not None:
        kind, cells, sizes = "Polys", part.faces, 3
    elif part.is_line:
        kind, cells, sizes = "Lines", np.arange(count)[None], count
    else:
        kind, cells, sizes = "Verts", np.arange(count)[:, None], 1
    numbers = dict.fromkeys(("Verts", "Lines", "Strips", "Polys"), 0) | {kind: len(cells)}
    sizes_of = "".join(f' NumberOf{k}="{v}"' for k, v in numbers.items())
    rows = "\n".join(_array(name, np.asarray(values)) for name, values in part.data.items())
    ends = sizes * np.arange(1, len(cells) + 1)
    text = (
        HEAD.format("PolyData")
        + f'<PolyData>\n<Piece NumberOfPoints="{count}"{sizes_of}>\n<PointData>\n{rows}\n</PointData>\n'
        + f"<Points>\n{_array('Points', points)}\n</Points>\n"
        + f"<{kind}>\n{_array('connectivity', cells.ravel())}\n{_array('offsets', ends)}\n</{kind}>\n"
        + "</Piece>\n</PolyData>\n</VTKFile>\n"
    )
    with atomically(path) as whole:
        whole.write_text(text)


def _array(name: str, values: np.ndarray) -> str:
    """An array as base64: its length in bytes, then the bytes."""
    values = values.astype("<i8" if values.dtype.kind in "iub" else values.dtype.newbyteorder("<"))
    kind = TYPES[values.dtype.str[1:]]
    width = f' NumberOfComponents="{values.shape[1]}"' if values.ndim == 2 else ""
    data = np.ascontiguousarray(values).tobytes()
    text = base64.b64encode(len(data).to_bytes(8, "little") + data).decode("ascii")
    return f'<DataArray type="{kind}" Name={quoteattr(name)}{width} format="binary">{text}</DataArray>'


def export_csv(data: xr.Dataset, folder: Path, name: str) -> list[Path]:
    """Series and numbers: a table for each dimension along which there are series, and one of single numbers.

    A heading has the name, the index of each component, and the unit. What is wider than WIDEST is left out.
    **Returns:** the paths of the files.
    """
    written = []
    for dim in (dim for dim in data.dims if dim not in (*AXES, *TURNED)):
        columns = [
            column for k, v in data.variables.items() if dim in v.dims for column in _columns(data, str(k), dim)
        ]
        if columns and any(heading.split("[")[0].strip() != dim for heading, _ in columns):
            written.append(folder / f"{name}_{dim}.csv")
            headings, values = zip(*columns, strict=True)
            _write(written[-1], headings, zip(*values, strict=True))
    single = [(k, v) for k, v in data.variables.items() if not v.dims]
    if single:
        written.append(folder / f"{name}_numbers.csv")
        rows = ((k, v.values.item(), v.attrs.get("units", ""), v.attrs.get("long_name", "")) for k, v in single)
        _write(written[-1], ("name", "value", "units", "meaning"), rows)
    return written


def _columns(data: xr.Dataset, name: str, dim) -> Iterator[tuple[str, list]]:
    """The columns of one variable along `dim`: one for each index of its other dimensions, unless they are many."""
    variable = data[name]
    others = [d for d in variable.dims if d != dim]
    if np.prod([variable.sizes[d] for d in others], initial=1) > WIDEST:
        return
    units = variable.attrs.get("units", "")
    unit = f" [{units}]" if units else ""
    flat = variable.transpose(dim, *others).values.reshape(variable.sizes[dim], -1)
    labels = [data[d].values if d in data.coords else range(variable.sizes[d]) for d in others]
    grids = np.meshgrid(*(np.arange(len(each)) for each in labels), indexing="ij") if labels else []
    for i in range(flat.shape[1]):
        index = [str(labels[k][grids[k].ravel()[i]]) for k in range(len(others))]
        yield "_".join([name, *index]) + unit, flat[:, i].tolist()


def _write(path: Path, headings, rows) -> None:
    with atomically(path) as whole, whole.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(headings)
        writer.writerows(rows)
