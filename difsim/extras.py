"""Optional packages, imported where they are used."""

from importlib import import_module
from types import ModuleType


def require(extra: str, module: str) -> ModuleType:
    """Import a module of an optional package, or say how to install it.

    **Arguments:** `extra` of difsim that installs the package; `module`, such as "trimesh.creation".
    **Returns:** the module. **Raises:** ImportError, with the command to type, where the package is not there.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.split(".")[0]
        if error.name is None or error.name.split(".")[0] != package:  # the package lacks one of its own
            raise
        raise ImportError(f'{package} is not installed: pip install "difsim[{extra}]"', name=package) from None
