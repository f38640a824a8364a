"""The `difsim` command: one subcommand a study. It imports the one that is chosen."""

import signal

# Ctrl-C ends the process at once, compiled code too. Nothing is lost: files are written whole or not at all.
signal.signal(signal.SIGINT, signal.SIG_DFL)

import sys
from collections.abc import Mapping
from importlib.metadata import version

import experiments
from experiments.commands import TOOLS, Command, describe_commands, find_studies
from experiments.data_files import find_shipped


def main() -> None:
    """Read the command line and run."""
    words, studies = sys.argv[1:], find_studies(experiments)
    commands = studies | TOOLS
    if words == ["--version"]:
        print(f"difsim {version('difsim')}")
    elif words == ["--cite"]:
        print(find_shipped("CITATION.cff").read_text(encoding="utf-8").rstrip())
    elif words in ([], ["-h"], ["--help"]):
        print(describe_commands(studies))
    elif words[0] in commands:
        run({words[0]: commands[words[0]]})
    elif words[0].startswith("--tyro"):  # to write completions takes the options of all
        run(commands)
    elif words[0] == "benchmark":
        sys.exit("difsim: the benchmarks are not installed: run them in a checkout of the sources")
    else:
        sys.exit(f"difsim: there is no command {words[0]!r}: difsim --help lists them")


def run(commands: Mapping[str, Command]) -> None:
    """Read the options of the command that is chosen among these, and run it."""
    from difsim import configure  # takes seconds
    from difsim.extras import require

    configure()  # before a study is imported: an array that it makes then would be one of float32
    try:
        cli = require("studies", "tyro").extras.subcommand_cli_from_dict
        cli({name: command.load() for name, command in commands.items()}, prog="difsim").run()
    except (ValueError, ImportError) as error:
        sys.exit(f"difsim: {error}")
    except OSError as error:  # a file that is not there, a full disk, a download that did not come
        place = error.filename2 or error.filename  # the second is the name that a file was to get
        sys.exit(f"difsim: {place}: {error.strerror}" if place and error.strerror else f"difsim: {error}")


if __name__ == "__main__":
    main()
