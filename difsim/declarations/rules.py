"""Relations between the numbers of a Module, and whether all numbers of a model are possible."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from difsim.declarations.fields import quantities
from difsim.typing import is_known

_NAMES = re.compile(r"{(\w+)")  # of fields and properties in a message


class Rule:
    """A relation between the numbers of a class, kept by its constructor (`rule`)."""

    def __init__(self, message: str, condition: Callable[[Any], Any]):
        self.message, self.condition = message, condition

    def __set_name__(self, owner: type, name: str) -> None:
        if "__check_init__" not in vars(owner):
            owner.__check_init__ = lambda module: [each.check(module) for each in _rules(owner)]  # type: ignore

    def check(self, module: eqx.Module) -> Any:
        """The condition. **Raises:** ValueError if it is known and false anywhere."""
        condition = self.condition(module)
        if is_known(condition) and not np.all(condition):
            values = {name: getattr(module, name) for name in _NAMES.findall(self.message)}
            raise ValueError(f"{type(module).__name__}: {self.message.format_map(values)}")
        return condition


def rule(message: str) -> Callable[[Callable[[Any], Any]], Rule]:
    """Make a rule of a method without arguments, which returns a condition: a boolean or an array of them.

    **Arguments:** `message` of the error, with what to do; `{name}` in it is the value of that field.
    **Returns:** the decorator.
    """
    return lambda condition: Rule(message, condition)


def _rules(owner: type) -> list[Rule]:
    return [x for x in vars(owner).values() if isinstance(x, Rule)]


def is_valid(tree: Any) -> Bool[Array, ""]:
    """True if all Modules in a pytree, a model or a state, keep their bounds and rules, also for traced values.

    **Raises:** ValueError for a known value that is wrong, for instance one set by `eqx.tree_at`.
    """
    conditions = [jnp.all(each) for module in _modules(tree) for each in _conditions(module) if not is_known(each)]
    return jnp.all(jnp.stack(conditions)) if conditions else jnp.asarray(True)


def _conditions(module: eqx.Module) -> Iterator[Any]:
    module = jax.tree.map(lambda x: jax.lax.stop_gradient(x) if eqx.is_array(x) and not is_known(x) else x, module)
    for name, number in quantities(type(module)).items():
        x = getattr(module, name)
        if is_known(x):
            number.check(f"{type(module).__name__}: {name}", x)
            continue
        yield number.contains(x)
        if number.is_finite:
            # Zero of finite numbers, else NaN. XLA adds up a table that is a constant of a program at once; for the
            # `all` of 8e5 `isfinite` it needed 10 s, and a message on the screen.
            yield jnp.sum(x - x) == 0
    for kind in type(module).__mro__:
        yield from (each.check(module) for each in _rules(kind))


def _modules(tree: Any) -> Iterator[eqx.Module]:
    """All Modules in a pytree, nested ones too."""
    is_inner = lambda x: isinstance(x, eqx.Module) and x is not tree  # noqa: E731
    if isinstance(tree, eqx.Module):
        yield tree
    for inner in jax.tree.leaves(tree, is_leaf=is_inner):
        if is_inner(inner):
            yield from _modules(inner)
