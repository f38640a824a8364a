"""The choice of a device: on a machine with a GPU wide work goes there, and all else stays on the CPU.

`configure` makes the CPU the default device. The widths from which a GPU is sooner were measured (docs/scaling.md).
Arrays that someone has put on a device stay there, and so does what is traced for a program.
"""

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import jax

from difsim.session import count_cores
from difsim.typing import is_known

T = TypeVar("T")
Device: TypeAlias = Any  # a `jax.Device`, a class of a compiled module without types

ROWS_PER_CORE = 1000  # touchdowns: 2 s on a core; a GPU runs 8000 in half a second, but compiles for 20 s
PARTICLES = 1000  # a step takes 0.09 to 0.18 ms on a GPU, and 0.2 to 0.5 us for each particle on a core
TERMS = 10**7  # facets times points: 0.2 s on a core


def accelerators() -> tuple[Device, ...]:
    """The accelerators of this process; none where JAX uses the CPU alone."""
    return tuple(device for device in jax.local_devices() if _is_accelerator(device))


def _is_accelerator(device: Device) -> bool:
    return device.platform != "cpu"


def by_platform(*given: Any, cpu: Callable[..., T], default: Callable[..., T]) -> T:
    """Call `cpu` in a program for a CPU, and `default` in one for any other platform.

    Where JAX has the CPU alone, `default` is not traced, which takes longer than `cpu` for particles.

    **Arguments:** `given`, arguments of both; `cpu`; `default`. **Returns:** the result.
    """
    return jax.lax.platform_dependent(*given, cpu=cpu, default=default) if accelerators() else cpu(*given)


def default_devices() -> tuple[Device, ...]:
    """The devices of this process of the default kind."""
    default = jax.config.values["jax_default_device"]
    platform = getattr(default, "platform", default)
    return tuple(jax.local_devices(backend=platform))


def has_many_rows(rows: int) -> bool:
    """Whether a GPU runs so many simulations sooner than the cores of this process."""
    return rows >= ROWS_PER_CORE * count_cores()


def devices_of(tree: Any, is_wide: bool) -> tuple[Device, ...]:
    """The devices for work on arrays.

    **Arguments:** `tree` of arrays; `is_wide`, whether an accelerator does this work sooner. **Returns:** the devices
    where someone has put the arrays; else the accelerators, if the work is wide; else the default ones.
    """
    leaves = [leaf for leaf in jax.tree.leaves(tree) if isinstance(leaf, jax.Array)]
    if not is_known(leaves):
        return default_devices()
    chosen = {device for leaf in leaves if leaf.committed for device in leaf.devices()}
    if chosen:
        return tuple(sorted(chosen, key=lambda device: device.id))
    return (is_wide and accelerators()) or default_devices()


def put(tree: T, is_wide: bool) -> T:
    """The arrays on the first accelerator, if there is one and the work is wide; else where they are.

    **Arguments:** `tree` of arrays; `is_wide`, whether an accelerator does this work sooner. **Returns:** the tree.
    """
    return put_on(tree, devices_of(tree, is_wide)[:1])


def put_on(tree: T, devices: tuple[Device, ...]) -> T:
    """The arrays on the device, if it is one accelerator; else where they are. Several devices take their shares.

    **Arguments:** `tree` of arrays; `devices` of `devices_of`. **Returns:** the tree.
    """
    return jax.device_put(tree, devices[0]) if len(devices) == 1 and _is_accelerator(devices[0]) else tree
