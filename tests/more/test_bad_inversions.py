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
    Importance,
    Log,
    Observation,
    Observations,
    Problem,
    Series,
    Stops,
    Tempered,
    branch_and_bound,
    descend,
    differential_evolution,
    fit,
    identify,
    map_batched,
    pathwise_gradient,
    profile,
    profiles,
    response_surface,
    sample,
    smoothed_gradient,
    sweep,
)
from inversion.branch import enumerate_leaves
from inversion.outcome import Calls
from tests.refusals import refused

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


def of(values):
    """The outcome of a solver of one node."""
    return SimpleNamespace(misfit=1.0, values=values, calls=Calls(), minima=(1.0,))


def branched(solve=lambda p, g: of({"a": 0.0, "b": 0.0, "c": 1.0}), **options):
    return branch_and_bound(CHOICE, solve, **options)


@functools.cache
def fitted():
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
    refused(lambda: jax.eval_shape(problem.evaluate, jnp.full(2, 0.5)), word)


CALLS = {
    "Problem: parameters": (lambda: Problem(3, pair, DATA), "parameters"),
    "Problem: a number for a parameter": (lambda: Problem({"a": 3.0}, pair, DATA), "'a'"),
    "Problem: predict": (lambda: Problem(PARAMETERS, 3, DATA), "predict"),
    "Problem: data": (lambda: Problem(PARAMETERS, pair, {"y": 1.0}), "data"),
    "Problem: nothing unknown": (lambda: Problem({"a": Fixed(1.0)}, pair, DATA), "Fixed"),
    "Problem: a number for a name": (lambda: Problem(PARAMETERS | {1: Bounded(0.0, 1.0)}, pair, DATA), "name"),
    "evaluate: three of two": (lambda: PROBLEM.evaluate(jnp.ones(3)), "(3,)"),
    "evaluate: one of two": (lambda: PROBLEM.evaluate(0.5), "s has shape ()"),
    "evaluate: a text": (lambda: PROBLEM.evaluate("x"), "s: got 'x'"),
    "evaluate: a dict": (lambda: PROBLEM.evaluate({"a": 0.5, "b": 0.0}), "problem.scaled"),
    "linearise: a dict": (lambda: PROBLEM.linearise({"a": 0.5, "b": 0.0}), "problem.scaled"),
    "Observations: a number": (lambda: Observations({"y": 3.0}), "'y'"),
    "Observations: a list": (lambda: Observations([1.0]), "table"),
    "Observations: none": (lambda: Observations({}), "nothing"),
    "Observations: a number for a name": (lambda: Observations({3: Observation(1.0, 1.0)}), "name"),
    "Observation: a text": (lambda: Observation("x", 1.0), "value"),
    "Observation: no rows": (lambda: Observation([], 1.0), "empty"),
    "Observation: complex": (lambda: Observation(1j, 1.0), "value"),
    "Observation: NaN": (lambda: Observation(np.nan, 1.0), "value"),
    "Observation: a text for sigma": (lambda: Observation(1.0, "x"), "sigma"),
    "Observation: sigma zero": (lambda: Observation(1.0, 0.0), "sigma"),
    "Observation: sigma too small": (lambda: Observation(1.0, 1e-300), "sigma"),
    "Observation: no sigma": (lambda: Observation(1.0), "sigma"),
    "Observation: covariance": (lambda: Observation([1.0, 2.0], covariance="x"), "covariance"),
    "Observation: noise": (lambda: Observation(1.0, 1.0, noise=3), "noise"),
    "Observation: unit": (lambda: Observation(1.0, 1.0, unit=3), "unit"),
    "Observation: source": (lambda: Observation(1.0, 1.0, source=3), "source"),
    "Observation: discrepancy": (lambda: Observation(1.0, 1.0, discrepancy=3), "discrepancy"),
    "Series: a text": (lambda: Series("a", [1.0], 1.0), "times"),
    "Series: values": (lambda: Series([0.0, 1.0], "ab", 1.0), "values"),
    "Series: sigma": (lambda: Series([0.0, 1.0], [1.0, 2.0], None), "sigma"),
    "Series: no rows": (lambda: Series([], [], 1.0), "rows"),
    "Series: delay": (lambda: Series([0.0, 1.0], [1.0, 2.0], 1.0, delay=[1.0, 2.0]), "delay"),
    "Series: gain": (lambda: Series([0.0, 1.0], [1.0, 2.0], 1.0, gain=None), "gain"),
    "Series: noise": (lambda: Series([0.0, 1.0], [1.0, 2.0], 1.0, noise="t"), "noise"),
    "Bounded: a text": (lambda: Bounded("x", 1.0), "lower"),
    "Bounded: None": (lambda: Bounded(0.0, None), "upper"),
    "Bounded: swapped": (lambda: Bounded(1.0, 0.0), "lower"),
    "Bounded: a text for a shape": (lambda: Bounded(0.0, 1.0, shape="x"), "shape"),
    "Bounded: a shape for a unit": (lambda: Bounded(0.0, 1.0, 3), "unit"),
    "Gaussian: a shape for a unit": (lambda: Gaussian(0.0, 1.0, 3), "unit"),
    "Fixed: unit": (lambda: Fixed(0.0, 3), "unit"),
    "Gaussian: a dict": (lambda: Gaussian({}, 1.0), "mean"),
    "Log: negative": (lambda: Log(-1.0, 1.0), "lower"),
    "Discrete: a text": (lambda: Discrete("ab"), "values"),
    "Discrete: labels": (lambda: Discrete([1.0, 2.0], labels=3), "labels"),
    "Discrete: a number for a hull": (lambda: Discrete([1.0, 2.0], relaxed=3), "relaxed"),
    "Discrete: a hull without ends": (lambda: Discrete([1.0, 2.0], relaxed=Gaussian), "relaxed"),
    "Discrete: unit": (lambda: Discrete([1.0, 2.0], 3), "unit"),
    "Fixed: a text": (lambda: Fixed("x"), "value"),
    "Fixed: NaN": (lambda: Fixed(np.nan), "value"),
    "hold: a list": (lambda: PROBLEM.hold([1.0]), "assignment"),
    "hold: a text": (lambda: PROBLEM.hold({"a": "x"}), "value"),
    "hold: outside": (lambda: PROBLEM.hold({"a": 5.0}), "outside"),
    "hold: another name": (lambda: PROBLEM.hold({"c": 5.0}), "'c'"),
    "fit: no problem": (lambda: fit(pair, key=key()), "problem"),
    "fit: an integer for a key": (lambda: fit(PROBLEM, key=0), "key"),
    "fit: starts": (lambda: fit(PROBLEM, key=key(), starts=2.5), "starts"),
    "fit: keep": (lambda: fit(PROBLEM, key=key(), keep="all"), "keep"),
    "fit: stops": (lambda: fit(PROBLEM, key=key(), stops=3), "stops"),
    "fit: a guess without a name": (lambda: fit(PROBLEM, key=key(), guesses=[{"a": 0.5}]), "['b']"),
    "fit: an unknown name": (lambda: fit(PROBLEM, key=key(), guesses=[{"a": 0.5, "b": 0, "c": 1}]), "['c']"),
    "fit: a guess outside": (lambda: fit(PROBLEM, key=key(), guesses=[{"a": 5.0, "b": 0.0}]), "'a'"),
    "fit: a NaN guess": (lambda: fit(PROBLEM, key=key(), guesses=[{"a": np.nan, "b": 0.0}]), "'a'"),
    "fit: a dict for guesses": (lambda: fit(PROBLEM, key=key(), guesses={"a": 0.5, "b": 0.0}), "guesses"),
    "fit: a number for a guess": (lambda: fit(PROBLEM, key=key(), guesses=[3.0]), "guess"),
    "fit: a text in a guess": (lambda: fit(PROBLEM, key=key(), guesses=[{"a": "x", "b": 0.0}]), "'a'"),
    "fit: an array in a guess": (lambda: fit(PROBLEM, key=key(), guesses=[{"a": ONES, "b": 0.0}]), "'a'"),
    "Stops: a text": (lambda: Stops(misfit="x"), "misfit"),
    "Stops: iterations": (lambda: Stops(iterations=2.5), "iterations"),
    "Stops: NaN": (lambda: Stops(misfit=np.nan), "misfit"),
    "Stops: negative": (lambda: Stops(step=-1.0), "step"),
    "Stops: several": (lambda: Stops(misfit=[1e-8, 1e-8]), "misfit"),
    "Stops: a NaN target": (lambda: Stops(target=np.nan), "target"),
    "Stops: several targets": (lambda: Stops(target=[1.0, 2.0]), "target"),
    "descend: no function": (lambda: descend(3, {"a": Bounded(0.0, 1.0)}, key=key()), "objective"),
    "descend: key": (lambda: descend(PROBLEM, key=1), "key"),
    "descend: steps": (lambda: descend(PROBLEM, key=key(), steps=2.5), "steps"),
    "descend: guess": (lambda: descend(PROBLEM, key=key(), guess={"z": 1.0}), "['z']"),
    "differential_evolution: problem": (lambda: differential_evolution(3, key()), "problem"),
    "differential_evolution: key": (lambda: differential_evolution(PROBLEM, 3), "key"),
    "differential_evolution: population": (
        lambda: differential_evolution(PROBLEM, key(), population="x"),
        "population",
    ),
    "differential_evolution: objective": (
        lambda: differential_evolution(PROBLEM, key(), objective=3),
        "objective",
    ),
    "fit: a candidate": (lambda: fit(PROBLEM, key=key(), candidates=[{"a": 0.5, "b": 0.0, "c": 1.0}]), "['c']"),
    "Tempered: particles": (lambda: Tempered(particles="x"), "particles"),
    "Tempered: steps": (lambda: Tempered(steps=2.5), "steps"),
    "Tempered: share": (lambda: Tempered(share=None), "share"),
    "Tempered: start": (lambda: Tempered(start=3), "start"),
    "Importance: tempered": (lambda: Importance(3), "tempered"),
    "Importance: generation": (lambda: Importance(generation="x"), "generation"),
    "Importance: prior": (lambda: Importance(prior="x"), "prior"),
    "sample: problem": (lambda: sample(3, key=key()), "problem"),
    "sample: key": (lambda: sample(PROBLEM, key=1), "key"),
    "sample: method": (lambda: sample(PROBLEM, key=key(), method="nuts"), "method"),
    "sample: effective_size": (lambda: sample(PROBLEM, key=key(), effective_size=2.5), "effective_size"),
    "sample: bound": (lambda: sample(PROBLEM, key=key(), bound=3), "bound"),
    "sample: a bound of a text": (lambda: sample(CHOICE, key=key(), bound=lambda a: "x"), "bound returned"),
    "sample: batch_size": (lambda: sample(PROBLEM, key=key(), batch_size=-1), "batch_size"),
    "sample: a text for batch_size": (lambda: sample(PROBLEM, key=key(), batch_size="x"), "batch_size"),
    "sample: checkpoint": (lambda: sample(PROBLEM, key=key(), checkpoint="x"), "checkpoint"),
    "branch_and_bound: problem": (lambda: branch_and_bound(3, one), "problem"),
    "branch_and_bound: solve": (lambda: branch_and_bound(PROBLEM, 3), "solve"),
    "branch_and_bound: a bad solver": (
        lambda: branched(solve=lambda p, g: 3.0),
        "solve returned",
    ),
    "branch_and_bound: a solver of another problem": (
        lambda: branched(solve=lambda p, g: of({"a": 0.0})),
        "['b', 'c']",
    ),
    "branch_and_bound: NaN tolerance": (lambda: branched(tolerance=np.nan), "tolerance"),
    "branch_and_bound: a negative tolerance": (lambda: branched(tolerance=-5.0), "tolerance"),
    "branch_and_bound: a text for a tolerance": (lambda: branched(tolerance="x"), "tolerance"),
    "branch_and_bound: no nodes": (lambda: branched(max_nodes=-1), "max_nodes"),
    "branch_and_bound: half a node": (lambda: branched(max_nodes=2.5), "max_nodes"),
    "branch_and_bound: order": (lambda: branched(order=3), "order"),
    "branch_and_bound: order of numbers": (lambda: branched(order=[3, "c"]), "order"),
    "branch_and_bound: checkpoint": (lambda: branched(checkpoint="x"), "checkpoint"),
    "branch_and_bound: a NaN limit": (lambda: branched(limit=lambda a: np.nan), "limit returned nan"),
    "branch_and_bound: a limit of a text": (lambda: branched(limit=lambda a: "x"), "limit returned"),
    "branch_and_bound: a limit of nothing": (lambda: branched(limit=lambda a: None), "limit returned"),
    "enumerate_leaves: problem": (lambda: enumerate_leaves(3, one), "enumerate_leaves: problem"),
    "enumerate_leaves: solve": (lambda: enumerate_leaves(CHOICE, 3), "enumerate_leaves: solve"),
    "identify: problem": (lambda: identify(3, 3), "problem"),
    "identify: fit": (lambda: identify(PROBLEM, 3), "fit"),
    "identify: profiles": (lambda: identify(PROBLEM, fitted(), profiles={"a": 3}), "profiles['a']"),
    "identify: threshold": (lambda: identify(PROBLEM, fitted(), threshold="x"), "threshold"),
    "identify: a threshold that is no share": (lambda: identify(PROBLEM, fitted(), threshold=5.0), "threshold"),
    "profile: fit": (lambda: profile(PROBLEM, 3, "a"), "fit"),
    "profile: stops": (lambda: profile(PROBLEM, fitted(), "a", [0.1, 0.2, 0.3], stops=3), "stops"),
    "profiles: fit": (lambda: profiles(PROBLEM, {"a": 1.0}, {"a": None}), "fit"),
    "map_batched: a list": (lambda: map_batched(one, [1.0, 2.0]), "xs"),
    "map_batched: a number": (lambda: map_batched(one, 3.0), "xs"),
    "map_batched: nothing": (lambda: map_batched(one, {}), "rows"),
    "map_batched: unequal": (lambda: map_batched(one, (np.ones(2), np.ones(3))), "rows"),
    "map_batched: no function": (lambda: map_batched(3, np.ones(3)), "fn"),
    "map_batched: batch_size": (lambda: map_batched(one, np.ones(3), "x"), "batch_size"),
    "map_batched: a text": (lambda: map_batched(lambda x: "s", np.ones(3)), "fn returned"),
    "map_batched: None": (lambda: map_batched(lambda x: None, np.ones(3)), "fn returned"),
    "map_batched: raises": (lambda: map_batched(lambda x: 1 / 0, np.ones(3)), "fn raised"),
    "map_batched: branches": (lambda: map_batched(lambda x: x if x > 0 else -x, np.ones(3)), "jnp.where"),
    "sweep: no function": (lambda: sweep(3, {"a": [1.0]}), "function"),
    "sweep: a list": (lambda: sweep(pair, [1.0]), "cases"),
    "sweep: texts": (lambda: sweep(pair, {"a": ["x", "y"]}), "'a'"),
    "sweep: ragged": (lambda: sweep(pair, {"a": [[1.0], [1.0, 2.0]]}), "'a'"),
    "sweep: a number": (lambda: sweep(pair, {"a": 3.0}), "'a'"),
    "sweep: chunk": (lambda: sweep(pair, {"a": [1.0]}, chunk=1.5), "chunk"),
    "sweep: checkpoint": (lambda: sweep(pair, {"a": [1.0]}, checkpoint="here"), "checkpoint"),
    "sweep: returns an array": (lambda: sweep(lambda c: c["a"], {"a": [1.0, 2.0]}), "returned"),
    "sweep: raises": (lambda: sweep(lambda c: {"y": c["b"]}, {"a": [1.0, 2.0]}), "raised"),
    "sweep: a text": (lambda: sweep(lambda c: {"y": "s"}, {"a": [1.0, 2.0]}), "returned"),
    "sweep: a dict in a dict": (lambda: sweep(lambda c: {"y": {"z": c["a"]}}, {"a": [1.0, 2.0]}), "as 'y'"),
    "sweep: None": (lambda: sweep(lambda c: {"y": None}, {"a": [1.0, 2.0]}), "as 'y'"),
    "sweep: an output with a dimension's name": (
        lambda: sweep(lambda c: {"y": ZERO, "y_0": c["a"]}, {"a": [1.0, 2.0]}),
        "['y_0']",
    ),
    "sweep: an input with a dimension's name": (
        lambda: sweep(lambda c: {"y": ZERO}, {"y_0": [1.0, 2.0]}),
        "['y_0']",
    ),
    "response_surface: rank": (lambda: response_surface([1.0, 2.0], [1.0, 2.0]), "points"),
    "response_surface: a text": (lambda: response_surface("x", ONES), "points"),
    "response_surface: None": (lambda: response_surface(ONES, None), "values"),
    "response_surface: unequal": (lambda: response_surface(np.ones((20, 1)), ONES), "points"),
    "response_surface: NaN": (lambda: response_surface(np.nan * ONES, ONES), "points"),
    "a response surface of another point": (lambda: response_surface(LINE, LINE)(jnp.ones(2)), "x has shape (2,)"),
    "a response surface of a text": (lambda: response_surface(LINE, LINE)("x"), "x: got 'x'"),
    "Checkpoint: folder": (lambda: Checkpoint(3, "a"), "folder"),
    "Checkpoint: a function": (lambda: Checkpoint("x", pair), "function"),
}
SMOOTHED = {
    "no function": ((3, ZERO, 0.1, 8, "key"), "function"),
    "a number": ((one, 3.0, 0.1, 8, "key"), "point"),
    "a text": ((one, "x", 0.1, 8, "key"), "point"),
    "NaN": ((one, [np.nan, 0.0], 0.1, 8, "key"), "point"),
    "another spread": ((one, ZERO, np.ones(3), 8, "key"), "spread"),
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
    refused(call, word)


@pytest.mark.parametrize("case", SMOOTHED)
@pytest.mark.parametrize("gradient", [smoothed_gradient, pathwise_gradient])
def test_a_bad_call_of_a_smoothed_gradient_is_refused(gradient, case):
    (*arguments, seed), word = SMOOTHED[case]
    refused(lambda: gradient(*arguments, key() if seed == "key" else seed), word)


STORES = {  # what is done in a checkpoint, what the message says
    "a number for a key": (lambda store: store.get_or(3, dict), "key: got 3"),
    "compute: a number": (lambda store: store.get_or("z", 3), "compute: got 3"),
    "compute: returns a number": (lambda store: store.get_or("z", lambda: 3), "compute returned: got 3"),
    "share": (
        lambda store: sweep(lambda c: {"y": c["a"]}, {"a": [1.0]}, checkpoint=store, share="x"),
        "share: got 'x'",
    ),
}


@pytest.mark.parametrize("case", STORES)
def test_a_bad_use_of_a_checkpoint_is_refused(tmp_path, case):
    use, word = STORES[case]
    refused(lambda: use(Checkpoint(tmp_path, "v1")), word)


def test_a_checkpoint_in_a_file_is_refused(tmp_path):
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        refused(lambda folder=folder: Checkpoint(folder, "v1"), "file")


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
    "a text for columns": ({"columns": "tvs"}, "columns: got 'tvs', of type str"),
    "two columns without sigma": ({"columns": ("time", "value")}, "sigma=..."),
    "an unknown option": ({"gian": 2.0}, "['gian']"),
}


@pytest.mark.parametrize("case", FILES)
def test_a_bad_table_is_refused_by_its_file(tmp_path, case):
    text, word = FILES[case]
    path = tmp_path / "readings.csv"
    path.write_text(text, encoding="utf-8")
    assert str(path) in refused(lambda: Series.read(path), word)


@pytest.mark.parametrize("case", OPTIONS)
def test_a_bad_option_of_a_table_is_refused(tmp_path, case):
    options, word = OPTIONS[case]
    path = tmp_path / "readings.csv"
    path.write_text(HEAD + "0,1,1\n1,2,1\n", encoding="utf-8")
    refused(lambda: Series.read(path, **options), word)


def test_rows_that_pandas_or_xarray_count_are_no_times():
    counted = pandas.DataFrame({"value": [1.0, 2.0], "sigma": 1.0})
    bare = counted.to_xarray().drop_vars("index").rename(index="time")
    for table in (counted, bare):
        refused(lambda table=table: Series.read(table), "no column ['time']")


def test_a_prediction_that_depends_on_nothing_is_doubted():
    problem = Problem(PARAMETERS, lambda p: ({"y": jnp.array([1.0, 2.0])}, True), DATA)
    with pytest.warns(UserWarning, match=r"no prediction depends on \['a', 'b'\]"):
        fit(problem, key=key(), starts=2, keep=1)
