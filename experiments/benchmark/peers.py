"""Peers that run in an interpreter of their own, which an environment variable names."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def find_python(variable: str, needs: str) -> str | None:
    """Return the interpreter that a variable names; None, and words about it, where it names none."""
    if variable not in os.environ:
        print(f"no rows of peers: set {variable} to a Python with {needs}")
    return os.environ.get(variable)


def run_script(python: str | Path, script: str, *arguments: Any, **environment: str) -> str:
    """Run a script of this folder and return what it prints. Without our flags of XLA: as users of the peer run it."""
    theirs = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"} | environment
    done = subprocess.run(
        [python, HERE / script, *map(str, arguments)], stdout=subprocess.PIPE, text=True, check=True, env=theirs
    )
    return done.stdout


def ask(variable: str, script: str, needs: str) -> Any:
    """Return the JSON in the last line that a script prints; None where the variable names no interpreter."""
    python = find_python(variable, needs)
    return python and json.loads(run_script(python, script).splitlines()[-1])
