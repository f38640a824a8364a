"""Series from files and tables, and what a sensor does to a signal: delay, gain, bias and bandwidth."""

import jax
import numpy as np
import pandas
import pytest
import xarray

from difsim.spice import kernels
from inversion import Series

CSV = """# an accelerometer
time,value,sigma
0.0,1.0,0.1
0.5,,0.1
1.0,3.0,0.2
"""


def test_a_series_is_read_from_files_and_tables(tmp_path):
    path = tmp_path / "acc.csv"
    path.write_text(CSV)
    frame = pandas.DataFrame({"time": [0.0, 0.5, 1.0], "value": [1.0, np.nan, 3.0], "sigma": [0.1, 0.1, 0.2]})
    dated = frame.assign(time=pandas.Timestamp("2014-11-12T15:34:04") + pandas.to_timedelta(frame["time"], "s"))
    column = frame.set_index("time")["value"]
    array = xarray.DataArray([1.0, np.nan, 3.0], {"time": [0.0, 0.5, 1.0]}, "time")
    renamed = frame.rename(columns={"time": "t", "value": "a", "sigma": "s"})
    for series in (
        Series.read(path),
        Series.read(str(path), unit="m/s2"),
        Series.read(frame),
        Series.read(renamed, columns=("t", "a", "s")),
        Series.read(dated, epoch="2014-11-12T15:34:04"),
        Series.read(column, sigma=[0.1, 0.1, 0.2]),
        Series.read(array, sigma=[0.1, 0.1, 0.2]),
        Series.read(frame.set_index("time").to_xarray()),
    ):
        np.testing.assert_allclose(series.times, [0.0, 1.0])
        np.testing.assert_allclose(series.observed.value, [1.0, 3.0])
        np.testing.assert_allclose(series.observed.sigma, [0.1, 0.2])
        assert series.size == 2 and series.gaps == 1


def times_of(path, *times, epoch="2014-11-12T15:34:04Z", **options):
    """The times that a series has from dates in a file."""
    path.write_text("time,value\n" + "".join(f"{time},1\n" for time in times), encoding="utf-8")
    return np.asarray(Series.read(path, sigma=1.0, epoch=epoch, **options).times)


def test_dates_are_read_in_each_form_of_iso_8601(tmp_path):
    times = times_of(
        tmp_path / "acc.csv",
        "2014-11-12T15:34:04",
        "2014-11-12T15:34:04.123456789",
        "2014-316T15:34:05Z",
        "2014-11-12T16:34:06+01:00",
        "20141112T153407",
        "2014316t153408.5z",
        "2014-11-12 10:04:09-0530",
        '"2014-11-12T15:34:10,25"',
        "2014-11-12T15:35",
        "2014-11-12T16",
        "2014-11-13",
        "2014-318",
    )
    right = [0.0, 0.123456789, 1.0, 2.0, 3.0, 4.5, 5.0, 6.25, 56.0, 1556.0, 30356.0, 116756.0]
    np.testing.assert_allclose(times, right, rtol=0, atol=1e-12)


def test_dates_of_other_libraries_are_the_same_times():
    stamps = pandas.to_datetime(["2014-11-12T15:34:05.25", "2014-11-12T15:34:06"], format="ISO8601")
    tables = [
        pandas.DataFrame({"time": stamps, "value": 1.0}),
        pandas.DataFrame({"time": stamps.tz_localize("UTC").tz_convert("Europe/Berlin"), "value": 1.0}),
        pandas.DataFrame({"time": stamps.to_pydatetime(), "value": 1.0}, dtype=object),
        xarray.Dataset({"value": ("time", [1.0, 1.0])}, {"time": stamps.to_numpy()}),
    ]
    epochs = (
        "2014-11-12T15:34:04",
        np.datetime64("2014-11-12T15:34:04"),
        pandas.Timestamp("2014-11-12T16:34:04+01:00"),
    )
    for table in tables:
        for epoch in epochs:
            np.testing.assert_array_equal(Series.read(table, sigma=1.0, epoch=epoch).times, [1.25, 2.0])
    since = pandas.DataFrame({"time": stamps - stamps[0], "value": 1.0})
    np.testing.assert_array_equal(Series.read(since, sigma=1.0).times, [0.0, 0.75])


def test_leap_seconds_count(tmp_path):
    end = ("2016-12-31T23:59:59", "2016-12-31T23:59:60.5", "2017-01-01T01:00:00+01:00")
    np.testing.assert_array_equal(times_of(tmp_path / "a.csv", *end, epoch="2016-12-31T23:59:58"), [1.0, 2.5, 3.0])
    with pytest.raises(ValueError, match="no leap second was there"):
        times_of(tmp_path / "a.csv", "2015-12-31T23:59:60")


# TAI - UTC and the day it began, as in the kernel naif0012.tls of NAIF: a reference apart from our list.
STEPS = """10,1972-JAN-1 11,1972-JUL-1 12,1973-JAN-1 13,1974-JAN-1 14,1975-JAN-1 15,1976-JAN-1 16,1977-JAN-1
17,1978-JAN-1 18,1979-JAN-1 19,1980-JAN-1 20,1981-JUL-1 21,1982-JUL-1 22,1983-JUL-1 23,1985-JUL-1 24,1988-JAN-1
25,1990-JAN-1 26,1991-JAN-1 27,1992-JUL-1 28,1993-JUL-1 29,1994-JUL-1 30,1996-JAN-1 31,1997-JUL-1 32,1999-JAN-1
33,2006-JAN-1 34,2009-JAN-1 35,2012-JUL-1 36,2015-JUL-1 37,2017-JAN-1"""


def test_elapsed_times_are_those_of_spice(tmp_path):
    spice = pytest.importorskip("spiceypy")
    steps = "\n".join(f"{n}, @{day}" for n, day in (each.split(",") for each in STEPS.split()))
    (tmp_path / "leaps.tls").write_text(
        "KPL/LSK\n\\begindata\nDELTET/DELTA_T_A = 32.184\nDELTET/K = 1.657D-3\nDELTET/EB = 1.671D-2\n"
        f"DELTET/M = ( 6.239996 1.99096871D-7 )\nDELTET/DELTA_AT = (\n{steps} )\n"
    )
    rng = np.random.default_rng(0)
    days = np.datetime64("1972-01-01") + np.sort(rng.choice(20000, 400, replace=False))
    dates = [f"{day}T12:34:56.5" for day in days]
    with kernels(tmp_path / "leaps.tls"):
        theirs = np.array([spice.str2et(date) for date in ("2000-01-01T12:00:00", *dates)])
    ours = times_of(tmp_path / "a.csv", *dates, epoch="2000-01-01T12:00:00")
    np.testing.assert_allclose(ours, theirs[1:] - theirs[0], rtol=0, atol=4e-3)  # TDB swings by 1.7 ms


@pytest.mark.parametrize(
    ("time", "says"),
    [
        ("12.11.2014", "row 1: '12.11.2014' is neither a number nor a date in ISO 8601"),
        ("1969-07-20T20:17:40", "before 1972"),
    ],
)
def test_dates_in_another_form_are_refused(tmp_path, time, says):
    with pytest.raises(ValueError, match=says):
        times_of(tmp_path / "acc.csv", "2014-11-12T15:34:04", time)
    with pytest.raises(ValueError, match=f"epoch = .*{says.split(': ')[-1]}"):
        times_of(tmp_path / "acc.csv", "2014-11-12T15:34:04", epoch=time)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("time,value,sigma\n0,1,0.1,\n1,2,0.1,\n", "line 2 has 4 fields, the header 3"),
        ("# time,value,sigma\n0,1,0.1\n1,1,0.1\n", r"no column \['time', 'value', 'sigma'\]"),
    ],
)
def test_a_table_is_read_by_its_header_or_refused(tmp_path, text, says):
    path = tmp_path / "acc.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=says) as refused:
        Series.read(path)
    assert str(path) in str(refused.value)


def test_marks_of_spreadsheets_and_gaps_are_read(tmp_path):
    path = tmp_path / "acc.csv"
    path.write_bytes(
        b"\xef\xbb\xbftime, value,sigma,note\r\n0,1,1,ok\r\n\r\n1,,,\r\n2,n/a,1,\r\n3,NaN,1,\r\n4, 5 ,1,#c\r\n"
    )
    series = Series.read(path)
    np.testing.assert_array_equal(series.times, [0.0, 4.0])
    np.testing.assert_array_equal(series.observed.value, [1.0, 5.0])
    assert series.gaps == 3


def read_with_units(time="", value="", sigma="", unit=""):
    """A dataset of xarray that states units."""
    columns = {"value": value, "sigma": sigma}
    data = {name: ("time", [1.0, 1.0], {"units": each}) for name, each in columns.items()}
    return Series.read(xarray.Dataset(data, {"time": ("time", [0.0, 1.0], {"units": time})}), unit=unit)


def test_units_are_those_that_are_meant():
    read_with_units("s", "m s-2", "m/s^2", "m/s2")
    frame = pandas.DataFrame({"t [s]": [0.0, 1.0], "a [m/s2]": 1.0, "s [mm/s2]": 1.0, "t [ms]": [0.0, 1.0]})
    Series.read(frame, ("t [s]", "a [m/s2]"), sigma=1.0, unit="m s-2")
    for read, says in (
        (lambda: read_with_units("ms"), "time has units = 'ms'"),
        (lambda: read_with_units("s", "m", "m", "km"), "differ"),
        (lambda: Series.read(frame, ("t [ms]", "a [m/s2]"), sigma=1.0), "'t \\[ms\\]' seems not to be in s"),
    ):
        with pytest.raises(ValueError, match=says):
            read()


def test_times_that_single_precision_rounds_are_refused():
    with jax.enable_x64(False), pytest.raises(ValueError, match="are rounded by 16 s"):
        Series(469000000.0 + 10.0 * np.arange(1.0, 5.0) + 6, np.ones(4), 1.0)
