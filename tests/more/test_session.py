"""`configure`: what it sets, what it leaves, and when it comes too late. Each in a process of its own."""

import os
import subprocess
import sys

import pytest

REPORT = """
import os, jax, jax.numpy as jnp
print(jnp.ones(1).dtype, len(jax.devices()), jax.config.jax_compilation_cache_dir, os.environ.get("XLA_FLAGS"))
"""
THREADS = """
import jax, pathlib
jax.numpy.ones(1)
names = [task.read_text() for task in pathlib.Path("/proc/self/task").glob("*/comm")]
print(sum("XLAEigen" in name for name in names), difsim.session.count_cores())
"""


def output_of(code, tmp_path, **environment):
    """What a program prints, and its warnings."""
    clean = {k: v for k, v in os.environ.items() if k not in ("XLA_FLAGS", "EQX_ON_ERROR")}
    clean |= {"XDG_CACHE_HOME": str(tmp_path)} | environment
    run = subprocess.run([sys.executable, "-c", code], env=clean, check=True, capture_output=True, text=True)
    return run.stdout.strip(), run.stderr


def test_it_sets_float64_devices_cache_and_flags(tmp_path):
    out, err = output_of(f"import difsim; difsim.configure(cores=3){REPORT}difsim.configure()", tmp_path)
    dtype, devices, cache, *flags = out.split()
    assert (dtype, devices, cache) == ("float64", "3", str(tmp_path / "difsim" / "compiled"))
    assert "--xla_disable_hlo_passes=dot-library-rewriter" in flags and not err


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="threads are counted on Linux alone")
def test_one_core_has_one_thread_of_xla(tmp_path):
    """Processes of an executor have one core each: with more threads they wait for each other."""
    assert output_of(f"import difsim; difsim.configure(cores=1){THREADS}", tmp_path)[0] == "1 1"


IMPORTS = """
import importlib, pkgutil, sys, difsim, inversion
from jax._src import xla_bridge
heavy = {"trimesh", "igl", "scipy.spatial", "scipy.stats", "scipy.optimize", "xarray", "pandas", "matplotlib"}
print(sorted(heavy & set(sys.modules)))
early = []
for package in (difsim, inversion):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)
        early += [module.name] * xla_bridge.backends_are_initialized()
print(early)
"""


@pytest.fixture(scope="module")
def imports(tmp_path_factory):
    """What one process says of its imports: heavy libraries, modules that made an array, settings; its warnings."""
    out, err = output_of(IMPORTS + REPORT, tmp_path_factory.mktemp("imported"))
    return *out.splitlines(), err


def test_an_import_sets_nothing(imports):
    _, _, settings, err = imports
    assert settings == "float32 1 None None" and not err


@pytest.mark.parametrize("code", ["difsim.configure()", "difsim.configure(cache=None)"])
def test_what_was_chosen_before_stays(tmp_path, code):
    chosen = {"JAX_COMPILATION_CACHE_DIR": str(tmp_path / "mine"), "XLA_FLAGS": "--xla_cpu_enable_fast_math=false"}
    out, err = output_of(f"import difsim; {code}{REPORT}", tmp_path, **chosen)
    assert out == f"float64 1 {tmp_path / 'mine'} --xla_cpu_enable_fast_math=false" and not err


def test_too_late_for_flags_is_said(tmp_path):
    _, err = output_of("import jax.numpy as jnp; jnp.ones(1); import difsim; difsim.configure()", tmp_path)
    assert "UserWarning: configure: JAX made an array before this call" in err


def test_no_array_is_made_by_an_import(imports):
    """It would be of float32, and come before the flags."""
    assert imports[1] == "[]"


def test_an_import_is_short(imports):
    """Heavy libraries of the host are imported where they are used."""
    assert imports[0] == "[]"
