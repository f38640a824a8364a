"""Particles and pairs shared out over several devices, each of which computes its own rows of a list.

Arrays keep their shapes: only their place changes. A list says over how many devices its rows are shared (1: not at
all), and where its arrays are says which devices these are.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AbstractMesh, Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding

from difsim.particles.transposed import linear
from difsim.typing import came, is_known
from difsim.wide import default_devices

AXIS = "devices"
SHORT = 64  # entries: arrays of fewer are those of bodies, not of particles
EVERYWHERE = PartitionSpec()


def rounded(count: int, devices: int) -> int:
    """The number of rows where each device has equally many, of which the last repeat."""
    return -(-count // devices) * devices


def by_share(f: Callable[..., Any], devices: int, takes: Any, gives: Any) -> Callable[..., Any]:
    """The function `f` of a device's shares, as one of whole arrays.

    **Arguments:** `f`; `devices`, their number; `takes`, a tuple, and `gives`: which arguments and results are
    `EVERYWHERE`, and which shared out (`shares`), by their pytrees or prefixes of these. **Returns:** the function; for
    one device `f` itself.
    """
    if devices == 1:
        return f
    # Loops inside start from constants, which are not marked as different from device to device.
    return jax.shard_map(f, mesh=_mesh(devices), in_specs=takes, out_specs=gives, check_vma=False)


def shares(tree: Any) -> Any:
    """The places of arrays whose last axis is shared out."""
    return jax.tree.map(lambda x: PartitionSpec(*(None,) * (len(x.shape) - 1), AXIS), tree)


def gathered(own: Any) -> Any:
    """Whole arrays from the shares of their last axis, on each device. Inside `by_share`."""
    return jax.tree.map(lambda x: jax.lax.all_gather(x, AXIS, axis=x.ndim - 1, tiled=True), own)


def added(totals: Any) -> Any:
    """The sums over all devices of whole arrays, of which each keeps its share of the last axis. Inside `by_share`."""
    return jax.tree.map(lambda x: jax.lax.psum_scatter(x, AXIS, scatter_dimension=x.ndim - 1, tiled=True), totals)


def padded(tree: Any, count: int) -> Any:
    """Floats with a last axis of `count`, of which the last are 1: no law divides by zero there."""

    def longer(x):
        # Not a copy of the last entry, which another device may have.
        more = [(0, 0, 0)] * (x.ndim - 1) + [(0, count - x.shape[-1], 0)]
        return jax.lax.pad(x, jnp.ones((), x.dtype), more) if x.shape[-1] < count else x

    return jax.tree.map(longer, tree)


def spread(tree: Any, devices: int) -> Any:
    """The same arrays under jit, long ones with their last axis shared out, and with them what follows from them."""

    def on(x):
        if not isinstance(x, jax.Array) or x.ndim == 0 or x.shape[-1] < SHORT:
            return x
        return jax.lax.with_sharding_constraint(x, NamedSharding(_mesh(devices), shares(x)))

    return tree if devices == 1 else jax.tree.map(on, tree)


def everywhere(tree: Any, devices: int) -> Any:
    """The same arrays under jit, whole on each device."""

    def on(x):
        return jax.lax.with_sharding_constraint(x, NamedSharding(_mesh(devices), EVERYWHERE))

    return tree if devices == 1 else jax.tree.map(lambda x: on(x) if isinstance(x, jax.Array) else x, tree)


def tied(tree: Any, devices: int) -> Any:
    """The same arrays under jit, of which those with values now bring their devices along.

    jit forgets where its constants are, and would compile for one device what is shared out.
    """

    def on(x):
        if not (isinstance(x, jax.Array) and is_known(x) and len(x.devices()) == devices):
            return x
        return jax.lax.with_sharding_constraint(x, _whole_on(where(x)))

    return tree if devices == 1 else jax.tree.map(on, tree)


def plain(x: Any, devices: int) -> Any:
    """The same number under jit, without the devices in its type, for what `by_share` traces beforehand."""
    return x if devices == 1 else linear(_same, _same, (), x)


def _same(at: Any, tangent: Any) -> Any:
    return tangent


def placed(tree: Any, devices: tuple[jax.Device, ...]) -> Any:
    """The same arrays, whole on each of these devices. On the host."""
    if where(tree) == devices and len(devices) == 1:
        return tree
    place = _whole_on(devices) if len(devices) > 1 else SingleDeviceSharding(devices[0])
    return jax.tree.map(lambda x: jax.device_put(x, place) if isinstance(x, jax.Array | np.ndarray) else x, tree)


def chosen(name: str, given: Any) -> tuple[jax.Device, ...]:
    """Check the devices that a run is to be shared out over.

    **Arguments:** `name` of the argument; `given`. **Returns:** the devices.
    **Raises:** ValueError for anything but some different devices of this process, all of one kind.
    """
    here = (
        f"give devices of this process, such as jax.local_devices(), of which there are {jax.local_device_count()}"
    )
    if not isinstance(given, list | tuple | np.ndarray) or not len(given):
        raise ValueError(f"{name}: got {came(given)}: {here}")
    for device in given:
        if not (isinstance(device, jax.Device) and device.process_index == jax.process_index()):
            raise ValueError(f"{name}: got {device!r}: {here}")
    if len(set(given)) < len(given) or len({device.platform for device in given}) > 1:
        raise ValueError(f"{name}: got {list(given)}: give each device once, and devices of one kind")
    return tuple(given)


def where(tree: Any) -> tuple[jax.Device, ...]:
    """The devices that arrays are on; the first default one where they are NumPy's. On the host."""
    found = {device for x in jax.tree.leaves(tree) if isinstance(x, jax.Array) for device in x.devices()}
    return tuple(sorted(found, key=lambda device: device.id)) or default_devices()[:1]


def _whole_on(devices: tuple[jax.Device, ...]) -> NamedSharding:
    return NamedSharding(Mesh(np.asarray(devices), (AXIS,)), EVERYWHERE)


def _mesh(devices: int) -> AbstractMesh:
    # Its devices are those of the arrays, so that a list can be read from a file.
    return AbstractMesh((devices,), (AXIS,))
