"""The `difsim` command: one subcommand a study."""

from difsim import configure

configure()  # before a study is imported: an array that it makes then would be one of float32

import sys

import tyro

import experiments
from experiments.harness import find_studies


def main() -> None:
    """Read the command line and run."""
    options = tyro.extras.subcommand_cli_from_dict(find_studies(experiments), prog="difsim")
    try:
        options.run()
    except (ValueError, OSError) as error:  # OSError: a file that is not there, a download that did not come
        sys.exit(f"difsim: {error}")


if __name__ == "__main__":
    main()
