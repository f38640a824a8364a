"""Bad calls of `inversion`: each is refused by our own code, by the name of what is wrong, with a remedy."""

import functools
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pandas
import pytest

from inversion import (
    Bounded,
    Checkpoint,
    Discrete,
    Fixed,
    Gaussian,
    Log,
    Observation,
    Observations,
    Problem,
    Series,
    Stops,
    Tempered,
    branch_and_bound,
    descend,
    fit,
    identify,
    map_batched,
    pathwise_gradient,
    response_surface,
    sample,
    smoothed_gradient,
    sweep,
)
from inversion.outcome import Calls
from tests.refusals import refuse

PARAMETERS = {"a": Bounded(0.0, 1.0), "b": Gaussian(0.0, 1.0)}
DATA = Observations({"y": Observation([1.0, 2.0], 0.1)})
ZERO, ONES = jnp.zeros(2), np.ones((30, 1))


def pair(p):
    return {"y": jnp.stack([p["a"], p["b"]])}, True


def one(x):
    return jnp.array([jnp.sum(x)])


PROBLEM = Problem(PARAMETERS, pair, DATA)
CHOICE = Problem(PARAMETERS | {"c": Discrete([1.0, 2.0])}, pair, DATA)
LINE = np.linspace(0.0, 1.0, 30)[:, None]


def outcome_of(values):
    """The outcome of a solver of one node."""
    return SimpleNamespace(misfit=1.0, values=values, calls=Calls(), minima=(1.0,))


def branch(solve=lambda p, **_: outcome_of({"a": 0.0, "b": 0.0, "c": 1.0}), **options):
    return branch_and_bound(CHOICE, solve, key=key(), **options)


@functools.cache
def fit_problem():
    return fit(PROBLEM, key=key(), starts=2, keep=1)


def key():
    return jax.random.key(0)


def branching(p):
    return ({"y": jnp.ones(2)}, True) if p["a"] > 0 else ({"y": jnp.zeros(2)}, True)


PREDICTIONS = {
    "raises": (lambda p: p["mass"], "predict raised KeyError"),
    "divides": (lambda p: 1 / 0, "predict raised ZeroDivisionError"),
    "raises a text": (lambda p: jnp.ones(2) @ jnp.ones(3), "predict raised TypeError"),
    "branches on a value": (branching, "jnp.where"),
    "loops while a value": (lambda p: [1 for _ in iter(lambda: bool(p["a"] > 0), False)], "jnp.where"),
    "takes a float": (lambda p: ({"y": float(p["a"])}, True), "jnp.where"),
    "uses numpy": (lambda p: ({"y": np.sin(p["a"])}, True), "jax.numpy"),
    "indexes by a value": (lambda p: [1, 2][p["a"].astype(int)], "jnp.where"),
    "returns a number": (lambda p: 3.0, "a pair"),
    "returns a number of numpy": (lambda p: np.float64(3.0), "a pair"),
    "returns a text": (lambda p: "height", "predict returned"),
    "returns None": (lambda p: None, "return"),
    "returns predictions alone": (lambda p: {"y": jnp.ones(2)}, "a pair"),
    "returns an array": (lambda p: (jnp.ones(2), True), "a pair"),
    "predicts a text": (lambda p: ({"y": "high"}, True), "predict returned"),
    "predicts None": (lambda p: ({"y": None}, True), "'y'"),
    "predicts other names": (lambda p: ({"z": jnp.ones(2)}, True), "['z']"),
    "predicts another shape": (lambda p: ({"y": jnp.ones(3)}, True), "(3,)"),
    "predicts complex numbers": (lambda p: ({"y": 1j * jnp.ones(2)}, True), "'y'"),
    "returns None for ok": (lambda p: ({"y": jnp.ones(2)}, None), "Boolean"),
    "returns a number for ok": (lambda p: ({"y": jnp.ones(2)}, 1.0), "Boolean"),
    "returns several for ok": (lambda p: ({"y": jnp.ones(2)}, jnp.ones(2, bool)), "Boolean"),
    "returns a text for ok": (lambda p: ({"y": jnp.ones(2)}, "yes"), "predict returned"),
}


@pytest.mark.parametrize("case", PREDICTIONS)
def test_a_bad_prediction_is_refused_where_it_is_traced(case):
    predict, word = PREDICTIONS[case]
    problem = Problem(PARAMETERS, predict, DATA)
    refuse(lambda: jax.eval_shape(problem.evaluate, jnp.full(2, 0.5)), word)


CALLS = {
    "Problem: data": (lambda: Problem(PARAMETERS, pair, {"y": 1.0}), "data"),
    "Problem: nothing unknown": (lambda: Problem({"a": Fixed(1.0)}, pair, DATA), "Fixed"),
    "Problem: a number for a name": (lambda: Problem(PARAMETERS | {1: Bounded(0.0, 1.0)}, pair, DATA), "name"),
    "evaluate: one of two": (lambda: PROBLEM.evaluate(0.5), "s has shape ()"),
    "evaluate: a dict": (lambda: PROBLEM.evaluate({"a": 0.5, "b": 0.0}), "problem.scaled"),
    "linearise: a dict": (lambda: PROBLEM.linearise({"a": 0.5, "b": 0.0}), "problem.scaled"),
    "Observations: a list": (lambda: Observations([1.0]), "table"),
    "Observations: none": (lambda: Observations({}), "nothing"),
    "Observations: a number for a name": (lambda: Observations({3: Observation(1.0, 1.0)}), "name"),
    "Observation: no rows": (lambda: Observation([], 1.0), "empty"),
    "Observation: complex": (lambda: Observation(1j, 1.0), "value"),
    "Observation: NaN": (lambda: Observation(np.nan, 1.0), "value"),
    "Observation: sigma zero": (lambda: Observation(1.0, 0.0), "sigma"),
    "Observation: sigma too small": (lambda: Observation(1.0, 1e-300), "sigma"),
    "Observation: no sigma": (lambda: Observation(1.0), "sigma"),
    "Series: a text": (lambda: Series("a", [1.0], 1.0), "times"),
    "Series: no rows": (lambda: Series([], [], 1.0), "rows"),
    "Series: delay": (lambda: Series([0.0, 1.0], [1.0, 2.0], 1.0, delay=[1.0, 2.0]), "delay"),
    "Series: noise": (lambda: Series([0.0, 1.0], [1.0, 2.0], 1.0, noise="t"), "noise"),
    "Bounded: swapped": (lambda: Bounded(1.0, 0.0), "lower"),
    "Gaussian: a dict": (lambda: Gaussian({}, 1.0), "mean"),
    "Log: negative": (lambda: Log(-1.0, 1.0), "lower"),
    "Discrete: a hull without ends": (lambda: Discrete([1.0, 2.0], relaxed=Gaussian), "relaxed"),
    "Fixed: NaN": (lambda: Fixed(np.nan), "value"),
    "hold: a list": (lambda: PROBLEM.hold([1.0]), "assignment"),
    "hold: outside": (lambda: PROBLEM.hold({"a": 5.0}), "outside"),
    "hold: another name": (lambda: PROBLEM.hold({"c": 5.0}), "'c'"),
    "fit: no problem": (lambda: fit(pair, key=key()), "problem"),
    "fit: an integer for a key": (lambda: fit(PROBLEM, key=0), "key"),
    "fit: starts": (lambda: fit(PROBLEM, key=key(), starts=2.5), "starts"),
    "fit: a guess without a name": (lambda: fit(PROBLEM, key=key(), guesses=[{"a": 0.5}]), "['b']"),
    "fit: an unknown name": (lambda: fit(PROBLEM, key=key(), guesses=[{"a": 0.5, "b": 0, "c": 1}]), "['c']"),
    "fit: a guess outside": (lambda: fit(PROBLEM, key=key(), guesses=[{"a": 5.0, "b": 0.0}]), "'a'"),
    "fit: a NaN guess": (lambda: fit(PROBLEM, key=key(), guesses=[{"a": np.nan, "b": 0.0}]), "'a'"),
    "fit: a dict for guesses": (lambda: fit(PROBLEM, key=key(), guesses={"a": 0.5, "b": 0.0}), "guesses"),
    "fit: a number for a guess": (lambda: fit(PROBLEM, key=key(), guesses=[3.0]), "guess"),
    "fit: an array in a guess": (lambda: fit(PROBLEM, key=key(), guesses=[{"a": ONES, "b": 0.0}]), "'a'"),
    "Stops: iterations": (lambda: Stops(iterations=2.5), "iterations"),
    "Stops: NaN": (lambda: Stops(misfit=np.nan), "misfit"),
    "Stops: negative": (lambda: Stops(step=-1.0), "step"),
    "Stops: several": (lambda: Stops(misfit=[1e-8, 1e-8]), "misfit"),
    "Stops: a NaN target": (lambda: Stops(target=np.nan), "target"),
    "Stops: several targets": (lambda: Stops(target=[1.0, 2.0]), "target"),
    "descend: key": (lambda: descend(PROBLEM, key=1), "key"),
    "descend: steps": (lambda: descend(PROBLEM, key=key(), steps=2.5), "steps"),
    "descend: guess": (lambda: descend(PROBLEM, key=key(), guess={"z": 1.0}), "['z']"),
    "fit: a candidate": (lambda: fit(PROBLEM, key=key(), candidates=[{"a": 0.5, "b": 0.0, "c": 1.0}]), "['c']"),
    "Tempered: steps": (lambda: Tempered(steps=2.5), "steps"),
    "sample: key": (lambda: sample(PROBLEM, key=1), "key"),
    "sample: effective_size": (lambda: sample(PROBLEM, key=key(), effective_size=2.5), "effective_size"),
    "sample: batch_size": (lambda: sample(PROBLEM, key=key(), batch_size=-1), "batch_size"),
    "branch_and_bound: a solver of another problem": (
        lambda: branch(solve=lambda p, **_: outcome_of({"a": 0.0})),
        "['b', 'c']",
    ),
    "branch_and_bound: NaN tolerance": (lambda: branch(tolerance=np.nan), "tolerance"),
    "branch_and_bound: a negative tolerance": (lambda: branch(tolerance=-5.0), "tolerance"),
    "branch_and_bound: no chance": (lambda: branch(chance=0.0), "chance"),
    "branch_and_bound: key": (lambda: branch_and_bound(CHOICE, key=1), "key"),
    "branch_and_bound: no nodes": (lambda: branch(max_nodes=-1), "max_nodes"),
    "branch_and_bound: half a node": (lambda: branch(max_nodes=2.5), "max_nodes"),
    "branch_and_bound: order of numbers": (lambda: branch(order=[3, "c"]), "order"),
    "branch_and_bound: a NaN limit": (lambda: branch(limit=lambda a: np.nan), "limit returned nan"),
    "identify: a threshold that is no share": (
        lambda: identify(PROBLEM, fit_problem(), threshold=5.0),
        "threshold",
    ),
    "map_batched: a list": (lambda: map_batched(one, [1.0, 2.0]), "xs"),
    "map_batched: a number": (lambda: map_batched(one, 3.0), "xs"),
    "map_batched: nothing": (lambda: map_batched(one, {}), "rows"),
    "sweep: a list": (lambda: sweep(pair, [1.0]), "cases"),
    "sweep: ragged": (lambda: sweep(pair, {"a": [[1.0], [1.0, 2.0]]}), "'a'"),
    "sweep: chunk": (lambda: sweep(pair, {"a": [1.0]}, chunk=1.5), "chunk"),
    "sweep: returns an array": (lambda: sweep(lambda c: c["a"], {"a": [1.0, 2.0]}), "returned"),
    "sweep: raises": (lambda: sweep(lambda c: {"y": c["b"]}, {"a": [1.0, 2.0]}), "raised"),
    "sweep: a text": (lambda: sweep(lambda c: {"y": "s"}, {"a": [1.0, 2.0]}), "returned"),
    "sweep: a dict in a dict": (lambda: sweep(lambda c: {"y": {"z": c["a"]}}, {"a": [1.0, 2.0]}), "as 'y'"),
    "sweep: an output with a dimension's name": (
        lambda: sweep(lambda c: {"y": ZERO, "y_0": c["a"]}, {"a": [1.0, 2.0]}),
        "['y_0']",
    ),
    "sweep: an input with a dimension's name": (
        lambda: sweep(lambda c: {"y": ZERO}, {"y_0": [1.0, 2.0]}),
        "['y_0']",
    ),
    "response_surface: rank": (lambda: response_surface([1.0, 2.0], [1.0, 2.0]), "points"),
    "response_surface: unequal": (lambda: response_surface(np.ones((20, 1)), ONES), "points"),
    "response_surface: NaN": (lambda: response_surface(np.nan * ONES, ONES), "points"),
    "a response surface of another point": (lambda: response_surface(LINE, LINE)(jnp.ones(2)), "x has shape (2,)"),
}
SMOOTHED = {
    "a number": ((one, 3.0, 0.1, 8, "key"), "point"),
    "NaN": ((one, [np.nan, 0.0], 0.1, 8, "key"), "point"),
    "a negative spread": ((one, ZERO, -1.0, 8, "key"), "spread"),
    "samples": ((one, ZERO, 0.1, 8.5, "key"), "samples"),
    "an integer for a key": ((one, ZERO, 0.1, 8, 0), "key"),
    "a function of one number": ((jnp.sum, ZERO, 0.1, 8, "key"), "a vector"),
    "a function of a text": ((lambda x: "s", ZERO, 0.1, 8, "key"), "function returned"),
    "a function that branches": ((lambda x: x if x[0] > 0 else -x, ZERO, 0.1, 8, "key"), "jnp.where"),
}


@pytest.mark.parametrize("case", CALLS)
def test_a_bad_call_is_refused(case):
    call, word = CALLS[case]
    refuse(call, word)


@pytest.mark.parametrize("case", SMOOTHED)
@pytest.mark.parametrize("gradient", [smoothed_gradient, pathwise_gradient])
def test_a_bad_call_of_a_smoothed_gradient_is_refused(gradient, case):
    (*arguments, seed), word = SMOOTHED[case]
    refuse(lambda: gradient(*arguments, key() if seed == "key" else seed), word)


def test_a_checkpoint_in_a_file_is_refused(tmp_path):
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        refuse(lambda folder=folder: Checkpoint(folder, "v1"), "file")


def test_a_vector_of_unknowns_may_be_a_list():
    found, given = PROBLEM.evaluate([0.5, 0.0]), PROBLEM.evaluate(jnp.array([0.5, 0.0]))
    assert found.misfit == given.misfit
    np.testing.assert_array_equal(PROBLEM.linearise([0.5, 0.0]), PROBLEM.linearise(jnp.array([0.5, 0.0])))
    assert Bounded(0.0, 1.0, shape=3).shape == (3,)


HEAD = "time,value,sigma\n"
FILES = {  # text, what the message says beside the name of the file
    "no column of time": ("t,value,sigma\n0,1,1\n1,2,1\n", "no column ['time']"),
    "semicolons": ("time;value;sigma\n0;1;1\n", "commas"),
    "a header alone": (HEAD, "no rows"),
}
OPTIONS = {
    "two columns without sigma": ({"columns": ("time", "value")}, "sigma=..."),
    "an unknown option": ({"gian": 2.0}, "['gian']"),
}


@pytest.mark.parametrize("case", FILES)
def test_a_bad_table_is_refused_by_its_file(tmp_path, case):
    text, word = FILES[case]
    path = tmp_path / "readings.csv"
    path.write_text(text, encoding="utf-8")
    assert str(path) in refuse(lambda: Series.read(path), word)


@pytest.mark.parametrize("case", OPTIONS)
def test_a_bad_option_of_a_table_is_refused(tmp_path, case):
    options, word = OPTIONS[case]
    path = tmp_path / "readings.csv"
    path.write_text(HEAD + "0,1,1\n1,2,1\n", encoding="utf-8")
    refuse(lambda: Series.read(path, **options), word)


def test_rows_that_pandas_or_xarray_count_are_no_times():
    counted = pandas.DataFrame({"value": [1.0, 2.0], "sigma": 1.0})
    bare = counted.to_xarray().drop_vars("index").rename(index="time")
    for table in (counted, bare):
        refuse(lambda table=table: Series.read(table), "no column ['time']")


def test_a_prediction_that_depends_on_nothing_is_doubted():
    problem = Problem(PARAMETERS, lambda p: ({"y": jnp.array([1.0, 2.0])}, True), DATA)
    with pytest.warns(UserWarning, match=r"no prediction depends on \['a', 'b'\]"):
        fit(problem, key=key(), starts=2, keep=1)
