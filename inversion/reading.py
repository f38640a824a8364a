"""Columns of a CSV file, or of an object of pandas or xarray, as arrays."""

from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np

from difsim.saving.texts import MOST, check_file


def read_columns(source: Any, columns: Sequence[str], epoch: Any = None) -> list[np.ndarray]:
    """The columns of a table, the first of which is time.

    **Arguments:** `source`: path of a CSV file with a header (what follows a # is left out), a pandas DataFrame or
    Series, or an xarray Dataset or DataArray of one dimension; `columns`: their names (the index of a pandas object
    and a coordinate of an xarray one count; a lone Series or DataArray has the name of the second column); `epoch`:
    the date of t = 0, where times are dates.
    **Returns:** arrays, times in s if they are dates.
    **Raises:** ValueError for another source, a column that is missing or not of numbers, and dates without an epoch.
    """
    import pandas
    import xarray

    time, *others = columns
    table = source
    if isinstance(table, str | PathLike):
        check_file(table, MOST)
        table = pandas.read_csv(table, comment="#", skipinitialspace=True)
    if isinstance(table, xarray.DataArray | pandas.Series):
        table = table.rename(others[0])
    if isinstance(table, xarray.DataArray):
        table = table.to_dataset()
    if isinstance(table, xarray.Dataset):
        has_coordinate = bool(table.indexes)
        table = table.to_dataframe()
        if not has_coordinate:  # pandas counted the rows, and named that by the dimension
            table = table.rename_axis(index=None)
    if isinstance(table, pandas.Series):
        table = table.to_frame()
    if not isinstance(table, pandas.DataFrame):
        raise ValueError(f"{type(source).__name__} is no path, and no object of pandas or xarray")
    if isinstance(table.index, pandas.MultiIndex):
        raise ValueError("rows have several fields more than the header: name each column there")
    if time not in table.columns and not _counts_rows(pandas, table.index):
        index = table.index.rename(time) if table.index.name is None else table.index
        table = table.set_axis(index).reset_index()
    if missing := [name for name in columns if name not in table.columns]:
        raise ValueError(f"no column {missing} among {list(map(str, table.columns))}: {_remedy(table)}")
    if table.empty:
        raise ValueError("there are no rows below the header: leave the series out")
    times = table[time]
    if not pandas.api.types.is_numeric_dtype(times):
        times = _seconds(pandas, times, epoch)
    try:
        return [np.asarray(times, float), *(np.asarray(table[name], float) for name in others)]
    except (ValueError, TypeError) as error:
        raise ValueError(f"columns {others} are not all numbers ({error}): leave a gap empty") from None


def _counts_rows(pandas: Any, index: Any) -> bool:
    """Whether an index is the one that pandas makes where nobody gave any: its numbers are no times."""
    return index.name is None and isinstance(index, pandas.RangeIndex) and (index.start, index.step) == (0, 1)


def _remedy(table: Any) -> str:
    (first, *others) = map(str, table.columns)
    if not others and any(mark in first for mark in ";\t"):
        return "write commas between them"
    return "name them by columns=(time, value, sigma), or give sigma=..."


def _seconds(pandas: Any, times: Any, epoch: Any) -> Any:
    """Seconds from an epoch to dates."""
    try:
        dates = pandas.to_datetime(times)
    except (ValueError, TypeError):
        raise ValueError(f"times such as {times.iloc[0]!r} are neither numbers nor dates") from None
    if epoch is None:
        raise ValueError("times are dates: give the date of t = 0, epoch=...")
    return (dates - pandas.Timestamp(epoch)) / pandas.Timedelta(seconds=1)
