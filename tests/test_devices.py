"""Particles over two devices, in a process of its own: the number of devices of a CPU is fixed as JAX starts."""

import os
import subprocess
import sys
from pathlib import Path

import jax
import pytest

from difsim import dynamics, gravity, shape, simulate


def on_two_devices(*names):
    environment = os.environ | {
        "XLA_FLAGS": f"{os.environ['XLA_FLAGS']} --xla_force_host_platform_device_count=2",
        "JAX_ENABLE_X64": "1",
    }
    command = [sys.executable, "-m", "tests.two_devices", *names]
    subprocess.run(command, env=environment, check=True, cwd=Path(__file__).parents[1])


@pytest.mark.slow
def test_soil_over_two_devices_moves_as_on_one():
    on_two_devices("soil")


@pytest.mark.slow
def test_grains_over_two_devices_move_as_on_one():
    on_two_devices("grains", "lists_that_run_out_of_room")


@pytest.mark.slow
@pytest.mark.parametrize("particles", ["soil", "grains"])
def test_derivatives_over_two_devices_are_those_of_one(particles):
    on_two_devices(f"derivatives_of_{particles}")


@pytest.mark.slow
def test_a_run_resumes_on_another_number_of_devices():
    on_two_devices("files")


def test_devices_that_are_none_are_refused():
    on_two_devices("bad_calls")


def test_devices_are_of_particles():
    model = dynamics.Bouncer(gravity.Uniform((0, 0, -1.0)), shape.Plane((0, 0, 0), (0, 0, 1)), 0.5)
    start = dynamics.PointState(jax.numpy.array([0.0, 0.0, 1.0]))
    with pytest.raises(ValueError, match="devices are of particles"):
        simulate(model, start, [0.0, 1.0], devices=jax.local_devices())
