"""What a user installs: a wheel that has its data files, and papers that agree on the version."""

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

from experiments.data_files import CopyData, data_folder

ROOT = Path(__file__).parents[2]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


def test_the_data_files_of_a_checkout_are_found():
    assert data_folder() == ROOT / "data" and (data_folder() / "philae.toml").is_file()


def test_copies_of_the_data_files_keep_what_is_there(tmp_path, capsys):
    (tmp_path / "philae.toml").write_text("mine")
    CopyData(to=tmp_path).run()
    assert (tmp_path / "philae.toml").read_text() == "mine"
    assert "philae.toml (kept)" in capsys.readouterr().out
    for file in (path for path in data_folder().rglob("*") if path.is_file() and path.name != "philae.toml"):
        assert (tmp_path / file.relative_to(data_folder())).read_bytes() == file.read_bytes()


def test_version_is_that_of_changelog_and_citation():
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## (\S+)", changes, re.M)[1] == VERSION
    assert f"\nversion: {VERSION}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_a_wheel_runs_the_main_study_from_any_folder(tmp_path):
    """The wheel is built from the sdist, so that both have what they need, and installed into an empty environment."""
    # Without PYTHONPATH and in another folder: nothing of the checkout is to be found.
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "XLA_FLAGS")}

    def run(*command, **more):
        done = subprocess.run(
            [str(part) for part in command], cwd=tmp_path, capture_output=True, text=True, env=environment | more
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run(sys.executable, "-m", "venv", tmp_path / "builder")
    run(tmp_path / "builder/bin/pip", "install", "-q", "build", "-c", ROOT / "constraints.txt")
    run(tmp_path / "builder/bin/python", "-m", "build", "--outdir", tmp_path / "dist", ROOT)
    (wheel,), (sdist,) = (tmp_path / "dist").glob("*.whl"), (tmp_path / "dist").glob("*.tar.gz")
    assert wheel.name.startswith(f"difsim-{VERSION}-") and sdist.name == f"difsim-{VERSION}.tar.gz"
    inside = zipfile.ZipFile(wheel).namelist()
    for file in (path for path in data_folder().rglob("*") if path.is_file()):
        assert f"experiments/data/{file.relative_to(data_folder())}" in inside
    assert (
        not [name for name in inside if "experiments/benchmark/" in name]
        and "experiments/templates/page.html.j2" in inside
    )

    run(sys.executable, "-m", "venv", tmp_path / "empty")
    run(tmp_path / "empty/bin/pip", "install", "-q", f"{wheel}[studies]", "-c", ROOT / "constraints.txt")
    difsim = tmp_path / "empty/bin/difsim"
    assert run(difsim, "--version") == f"difsim {VERSION}\n"
    assert f"\nversion: {VERSION}\n" in run(difsim, "--cite")
    refused = subprocess.run([difsim, "benchmark", "gravity"], capture_output=True, text=True, env=environment)
    assert refused.stderr == "difsim: the benchmarks are not installed: run them in a checkout of the sources\n"
    said = run(difsim, "agilkia", "--quick", XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert "written to results/agilkia/" in said
    assert (tmp_path / "results/agilkia/summary.json").is_file()
