"""The `difsim` command: one subcommand a study."""

import signal

signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))  # they wait for the next two lines

from experiments.interruption import end_in_peace, end_on_signals

end_on_signals()  # before the imports, which take seconds

from difsim import configure

configure()  # before a study is imported: an array that it makes then would be one of float32

import importlib.metadata
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
from experiments.view import View


def main() -> None:
    """Read the command line and run."""
    if sys.argv[1:] == ["--version"]:
        print(f"difsim {importlib.metadata.version('difsim')}")
        return
    commands = find_studies(experiments) | {"data": CopyData, "export": Export, "view": View}
    options = tyro.extras.subcommand_cli_from_dict(commands, prog="difsim")
    try:
        options.run()
    except (ValueError, ImportError) as error:
        sys.exit(f"difsim: {error}")
    except OSError as error:  # a file that is not there, a full disk, a download that did not come
        place = error.filename2 or error.filename  # the second is the name that a file was to get
        sys.exit(f"difsim: {place}: {error.strerror}" if place and error.strerror else f"difsim: {error}")
    end_in_peace()


if __name__ == "__main__":
    main()
