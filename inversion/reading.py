"""Columns of a CSV file, or of an object of pandas or xarray, as arrays."""

import csv
import io
import numbers
import re
from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np

from difsim.extras import require
from difsim.saving.texts import read_number, read_text

from .dates import seconds_from

GAPS = ("", "nan", "na", "n/a", "<na>", "null", "none")  # what programs write where there is no value
SECOND = ("s", "sec", "secs", "second", "seconds")
# Units of time other than the second, as a header names them: time [ms], t_min, time (days).
OTHERS = r"ns|us|µs|μs|ms|msec|millis\w*|micros\w*|nanos\w*|mins?|minutes?|h|hrs?|hours?|d|days?|m?jd|y|yr|years?"
OTHER_UNIT = re.compile(rf"(?:.*[\[(/_ ])?\s*(?:{OTHERS})\s*[\])]?", re.IGNORECASE)
IN_BRACKETS = re.compile(r".*[\[(](.*)[\])]\s*")


def read_columns(source: Any, columns: Sequence[str], epoch: Any = None, unit: str = "") -> list[np.ndarray]:
    """The columns of a table, the first of which is time.

    **Arguments:** `source`: path of a CSV file with a header (what follows a # is left out), a pandas DataFrame or
    Series, or an xarray Dataset or DataArray of one dimension; `columns`: their names (the index of a pandas object
    and a coordinate of an xarray one count; a lone Series or DataArray has the name of the second column); `epoch`:
    the date of t = 0, where times are dates; `unit` of the other columns, which an xarray object may state too.
    **Returns:** arrays, times in s: numbers and differences of times as they are, dates (ISO 8601, UTC) from `epoch`.
    **Raises:** ValueError for another source, a column that is missing, there twice or not of numbers, a row of more or
    fewer fields than the header, units that differ, dates without an epoch, and an epoch without dates.
    """
    pandas, xarray = require("inversion", "pandas"), require("inversion", "xarray")
    time, *others = columns
    table = source
    if isinstance(table, str | PathLike):
        table = _read_csv(pandas, table)
    if isinstance(table, xarray.DataArray | pandas.Series):
        table = table.rename(others[0])
    if isinstance(table, xarray.DataArray):
        table = table.to_dataset()
    stated = {}
    if isinstance(table, xarray.Dataset):
        stated = {str(name): found.attrs.get("units", "") for name, found in table.variables.items()}
        has_coordinate = bool(table.indexes)
        table = table.to_dataframe()
        if not has_coordinate:  # pandas counted the rows, and named that by the dimension
            table = table.rename_axis(index=None)
    if isinstance(table, pandas.Series):
        table = table.to_frame()
    if not isinstance(table, pandas.DataFrame):
        raise ValueError(f"{type(source).__name__} is no path, and no object of pandas or xarray")
    if isinstance(table.index, pandas.MultiIndex):
        raise ValueError("rows have an index of several levels, or several dimensions: give a table of one")
    if time not in table.columns and not _counts_rows(pandas, table.index):
        index = table.index.rename(time) if table.index.name is None else table.index
        table = table.set_axis(index).reset_index()
    names = list(table.columns)
    if missing := [name for name in columns if name not in names]:
        raise ValueError(f"no column {missing} among {list(map(str, names))}: {_remedy(table)}")
    if twice := [name for name in columns if names.count(name) > 1]:
        raise ValueError(f"columns {twice} are there twice: leave one of each out")
    if table.empty:
        raise ValueError("there are no rows below the header: leave the series out")
    _check_units(stated, time, others, unit)
    return [_times(pandas, table[time], epoch), *(_numbers(pandas, table[name]) for name in others)]


def _read_csv(pandas: Any, path: str | PathLike) -> Any:
    """The fields of a CSV file as texts. Spreadsheets begin one with a mark of its encoding."""
    lines = (line.partition("#")[0] for line in io.StringIO(read_text(path, encoding="utf-8-sig")))
    reader = csv.reader(lines, skipinitialspace=True)
    names, rows = None, []
    try:
        for fields in reader:
            fields = [field.strip() for field in fields]
            if names is None and any(fields):
                names = fields
            elif names is not None and fields not in ([], [""]):
                # Decimal commas make more fields, a line that was cut makes fewer: columns would be exchanged.
                if len(fields) != len(names):
                    raise ValueError(
                        f"line {reader.line_num} has {len(fields)} fields, the header {len(names)}: write commas "
                        "between numbers and a point in them, and leave a gap empty"
                    )
                rows.append(fields)
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num}: {error}") from None
    if names is None:
        raise ValueError("there is no header: give the names of the columns in the first line")
    return pandas.DataFrame(rows, columns=names, dtype=object)


def _check_units(stated: dict[str, str], time: str, others: Sequence[str], unit: str) -> None:
    """Units are those that are meant, stated after a name or in its brackets. **Raises:** ValueError."""
    if (found := stated.get(time, "")) not in ("", *SECOND):
        raise ValueError(f"{time} has units = {found!r}: convert it to s")
    units = [
        unit,
        *(stated.get(name) or IN_BRACKETS.sub(r"\1", name) * ("[" in name or "(" in name) for name in others),
    ]
    if len({_powers(each) for each in units if each}) > 1:
        raise ValueError(f"units {units[1:]} of {list(others)}, and unit = {unit!r}, differ: convert them to one")


def _powers(unit: str) -> frozenset:
    """The powers of each unit, the same for m/s2, m s-2 and m/s^2."""
    plain = unit.translate(str.maketrans("²³·*^", "23   "))
    found = re.findall(r"(/?)\s*([^\W\d]+|%|°)\s*(-?\d*)", plain)
    return frozenset((name, (-1 if over else 1) * int(power or 1)) for over, name, power in found)


def _counts_rows(pandas: Any, index: Any) -> bool:
    """Whether an index is the one that pandas makes where nobody gave any: its numbers are no times."""
    return index.name is None and isinstance(index, pandas.RangeIndex) and (index.start, index.step) == (0, 1)


def _remedy(table: Any) -> str:
    (first, *others) = map(str, table.columns)
    if not others and any(mark in first for mark in ";\t"):
        return "write commas between them"
    return "rename them in the header, or name them by columns=(time, value, sigma); sigma may be a number"


def _numbers(pandas: Any, column: Any) -> np.ndarray:
    """A column as numbers, NaN where there is a gap."""
    if column.dtype.kind in "iuf":
        return column.to_numpy(float, na_value=np.nan)
    try:
        return np.array([_number(pandas, i, each) for i, each in enumerate(column)], float)
    except ValueError as error:
        raise ValueError(f"columns are not all numbers: {column.name!r}, {error}: leave a gap empty") from None


def _number(pandas: Any, row: int, given: Any) -> float:
    if given is None or given is pandas.NA:
        return np.nan
    if isinstance(given, numbers.Real) and not isinstance(given, bool):
        return float(given)
    text = given.strip().lower() if isinstance(given, str) else ""
    if isinstance(given, str) and text in GAPS:
        return np.nan
    try:
        return read_number(text)
    except ValueError:
        raise ValueError(f"row {row}: {given!r}") from None


def _times(pandas: Any, column: Any, epoch: Any) -> np.ndarray:
    """Times in s: numbers as they are, or dates from the epoch."""
    if column.dtype.kind == "m":
        found = column.dt.total_seconds().to_numpy()
    else:
        try:
            found = _numbers(pandas, column)
        except ValueError as error:
            if epoch is None:
                seconds_from("2000-01-01", column)  # what is neither says so first
                raise ValueError("times are dates: give the date of t = 0, epoch=...") from error
            return seconds_from(epoch, column)
        if OTHER_UNIT.fullmatch(column.name):
            raise ValueError(f"column {column.name!r} seems not to be in s: convert it, and name it so")
    if epoch is not None:
        raise ValueError(f"epoch = {epoch!r}: times are numbers, s from t = 0 already: leave the epoch out")
    return found
