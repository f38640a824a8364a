"""The `difsim` command: one subcommand a study."""

import signal

# Ctrl-C ends the process at once, compiled code too. Nothing is lost: files are written whole or not at all.
signal.signal(signal.SIGINT, signal.SIG_DFL)

from difsim import configure

configure()  # before a study is imported: an array that it makes then would be one of float32

import importlib.metadata
import importlib.util
import sys

from difsim.extras import require

try:
    tyro = require("studies", "tyro")
except ImportError as error:
    sys.exit(f"difsim: {error}")

import experiments
from experiments.data_files import CopyData
from experiments.export import Export
from experiments.harness import find_studies
from experiments.rerun import Compare, Rerun
from experiments.view import View


def main() -> None:
    """Read the command line and run."""
    if sys.argv[1:] == ["--version"]:
        print(f"difsim {importlib.metadata.version('difsim')}")
        return
    if sys.argv[1:2] == ["benchmark"] and importlib.util.find_spec("experiments.benchmarks") is None:
        sys.exit("difsim: the benchmarks are not installed: run them in a checkout of the sources")
    commands = find_studies(experiments) | {
        "compare": Compare,
        "data": CopyData,
        "export": Export,
        "rerun": Rerun,
        "view": View,
    }
    options = tyro.extras.subcommand_cli_from_dict(commands, prog="difsim")
    try:
        options.run()
    except (ValueError, ImportError) as error:
        sys.exit(f"difsim: {error}")
    except OSError as error:  # a file that is not there, a full disk, a download that did not come
        place = error.filename2 or error.filename  # the second is the name that a file was to get
        sys.exit(f"difsim: {place}: {error.strerror}" if place and error.strerror else f"difsim: {error}")


if __name__ == "__main__":
    main()
