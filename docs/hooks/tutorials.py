"""Tutorials as pages: each notebook in docs/tutorials is run, and its outputs are put beneath its cells.

The source of a notebook is a script in jupytext's percent format, which Jupyter opens with jupytext. A finished run is
kept in `.tutorials/` under a hash of the notebook and of the packages, so that only changes are run again. The page
also offers the run notebook for download. With TUTORIALS=skip in the environment pages show the cells alone: the
continuous integration builds the site so, and `make test-full` runs the notebooks.
"""

import base64
import hashlib
import os
from pathlib import Path

import jupytext
import nbformat
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "tutorials").glob("*.py"))
KEPT = ROOT / ".tutorials"
LONGEST = 1800  # s for one cell, on a busy machine


def run(source: Path, folder: Path) -> nbformat.NotebookNode:
    """A notebook with its outputs, run in `folder`. **Raises:** CellExecutionError where a cell fails."""
    notebook = jupytext.read(source)
    NotebookClient(
        notebook,
        timeout=LONGEST,
        kernel_name="python3",
        resources={"metadata": {"path": folder}},
        startup_timeout=LONGEST,
    ).execute()
    return notebook


def load_or_run(source: Path) -> nbformat.NotebookNode:
    """The run of a notebook, from the store where nothing has changed since."""
    if os.environ.get("TUTORIALS") == "skip":
        return jupytext.read(source)
    sources = [
        source,
        *(p for name in ("difsim", "inversion", "experiments") for p in (ROOT / name).rglob("*.py")),
    ]
    mark = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(sources))).hexdigest()[:16]
    folder = KEPT / f"{source.stem}-{mark}"
    done = folder / f"{source.stem}.ipynb"
    if not done.exists():
        folder.mkdir(parents=True, exist_ok=True)
        nbformat.write(run(source, folder), done)
    return nbformat.read(done, as_version=4)


def page(name: str, notebook: nbformat.NotebookNode) -> tuple[str, dict[str, bytes]]:
    """The Markdown of a page, and its pictures by name."""
    text, pictures = [], {}
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            text.append(cell.source)
            continue
        text.append(f"```python\n{cell.source}\n```")
        for output in cell.outputs:
            if output.output_type == "stream" and output.name == "stdout":
                text.append(f"```text\n{output.text.rstrip()}\n```")
            elif "image/png" in output.get("data", {}):
                picture = f"{name}-{len(pictures) + 1}.png"
                pictures[picture] = base64.b64decode(output.data["image/png"])
                text.append(f"![Output of the cell above]({picture})")
    text.append(f'<a href="{name}.ipynb" download>This page as a notebook</a>')
    return "\n\n".join(text), pictures


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page, its pictures and the notebook for each tutorial."""
    for source in NOTEBOOKS:
        notebook = load_or_run(source)
        markdown, pictures = page(source.stem, notebook)
        files.append(File.generated(config, f"tutorials/{source.stem}.md", content=markdown))
        files.append(File.generated(config, f"tutorials/{source.stem}.ipynb", content=nbformat.writes(notebook)))
        for name, content in pictures.items():
            files.append(File.generated(config, f"tutorials/{name}", content=content))
    return files
