"""Units, frames and long names of the variables of a result, as attributes of the CF conventions."""

from collections.abc import Mapping

import xarray as xr

AXES = ("axis", "xyz")  # dimensions along which a vector has its components
BODY = "fixed to the body, origin in its centre of mass"


def describe(
    data: xr.Dataset,
    frame: str = "",
    units: Mapping[str, str] | None = None,
    names: Mapping[str, str] | None = None,
    frames: Mapping[str, str] | None = None,
) -> xr.Dataset:
    """`data` whose variables and coordinates say what they are.

    **Arguments:** `frame`, in which the vectors of `data` have their components, but for those of `frames`; `units`,
    `names` and `frames`, by variable, where a variable does not carry its own. Counts, indices and flags get the unit
    1 without being asked, and a variable without a long name is called by its own name.
    **Returns:** the same dataset with the attributes `units`, `long_name` and, of vectors, `frame`.
    """
    units, names, frames, data = units or {}, names or {}, frames or {}, data.copy()
    for name, variable in data.variables.items():
        name = str(name)
        told = dict(variable.attrs)
        told.setdefault("long_name", names.get(name, name.replace("_", " ")))
        unit = units.get(name, "1" if variable.dtype.kind in "biu" else "")
        if unit:
            told.setdefault("units", unit)
        if _is_vector(variable) and (own := frames.get(name, frame)):
            told.setdefault("frame", own)
        data[name].attrs = told
    return data


def find_undescribed(data: xr.Dataset) -> list[str]:
    """A line for each unit, long name or frame that the variables of `data` lack."""
    lacking = []
    for name, variable in data.variables.items():
        wanted = ["long_name"]
        if variable.dtype.kind in "fbiu":
            wanted.append("units")
            if _is_vector(variable):
                wanted.append("frame")
        lacking += [f"{name} has no {key}" for key in wanted if not variable.attrs.get(key)]
    return lacking


def _is_vector(variable: xr.Variable) -> bool:
    return variable.dtype.kind == "f" and any(dim in AXES for dim in variable.dims)
