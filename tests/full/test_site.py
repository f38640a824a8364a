"""The site: every public name has an entry, equations are made without a script, notebooks are short and run."""

import ast
import dataclasses
import html.parser
import importlib
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import difsim
import inversion
from tests.helpers import python_blocks
from tests.more.test_site import DOCS, ROOT, TUTORIALS

BRIDGES = DOCS / "how-to" / "basilisk.md", DOCS / "how-to" / "mujoco.md"  # test_bridges runs these
SHOWN = [
    DOCS / "index.md",
    *(path for path in sorted((DOCS / "how-to").glob("*.md")) if path not in BRIDGES),
    DOCS / "theory-contact.md",
    DOCS / "theory-flight.md",
]

# Tags that a browser loads by itself.
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "video": "src"}


def public_names():
    """What a user imports: the names that each package hands on, and what the single modules of difsim define."""
    parts = [difsim, inversion]
    parts += [importlib.import_module(f"difsim.{each.name}") for each in pkgutil.iter_modules(difsim.__path__)]
    inside = [each.name for each in pkgutil.iter_modules(inversion.__path__) if each.ispkg]
    parts += [importlib.import_module(f"inversion.{name}") for name in inside]
    for part in parts:
        tree = ast.parse(Path(part.__file__).read_text(encoding="utf-8"))
        imported = [a.asname or a.name for n in tree.body if isinstance(n, ast.ImportFrom) for a in n.names]
        defined = [n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)]
        is_package = hasattr(part, "__path__")
        yield from (f"{part.__name__}.{x}" for x in (imported if is_package else defined) if not x.startswith("_"))


class Page(html.parser.HTMLParser):
    """The ids, the links and what else a page loads."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.loaded = set(), [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if "id" in given:
            self.ids.add(given["id"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in LOADED and given.get(LOADED[tag]) and given.get("rel") not in ("canonical", "next", "prev"):
            self.loaded.append(given[LOADED[tag]])


def python(*words, **more):
    """What Python prints as a user runs it from the checkout, with these words and environment."""
    skipped = ("XLA_FLAGS", "TUTORIALS")
    environment = {k: v for k, v in os.environ.items() if k not in skipped} | {"PYTHONPATH": str(ROOT)} | more
    done = subprocess.run([sys.executable, *words], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site as `make docs` builds it, but for the outputs of its notebooks, which are run one by one below."""
    out = tmp_path_factory.mktemp("site")
    python("-m", "mkdocs", "build", "--strict", "-d", str(out), TUTORIALS="skip")
    return out


def test_every_public_name_has_an_entry(site):
    ids = set().union(*(Page(path).ids for path in (site / "api").glob("*.html")))
    missing = [name for name in public_names() if name not in ids]
    assert not missing


def test_constructors_show_their_arguments(site):
    for path in (site / "api").glob("*.html"):
        shown = re.sub(r"<[^>]+>", "", path.read_text(encoding="utf-8"))
        for name in public_names():
            package, _, short = name.rpartition(".")
            made = getattr(importlib.import_module(package), short) if package == path.stem else None
            if dataclasses.is_dataclass(made) and any(each.init for each in dataclasses.fields(made)):
                assert not re.search(rf"^\s*{short}\(\)", shown, re.M), name


def test_pages_load_only_what_is_in_the_site(site):
    for path in site.rglob("*.html"):
        for target in Page(path).loaded:
            assert not re.match(r"(https?:)?//", target), (path.name, target)
            if not target.startswith("data:") and path.name != "404.html":
                assert (path.parent / target.split("?")[0].split("#")[0]).exists(), (path.name, target)


def test_pages_can_be_searched_from_a_folder_and_lead_on(site):
    assert (site / "search" / "search_index.js").read_text(encoding="utf-8").startswith("var __index = {")
    page = (site / "how-to" / "solver.html").read_text(encoding="utf-8")
    assert page.index("iframe-worker.js") < page.index("assets/javascripts/bundle")
    assert 'class="md-footer__link md-footer__link--prev"' in page and "md-footer__link--next" in page


def test_equations_are_mathml_and_no_text_of_tex_is_left(site):
    for path in site.glob("theory-*.html"):
        page = path.read_text(encoding="utf-8")
        assert "arithmatex" not in page, path.name
        if path.name != "theory-pair.html":  # which has none
            assert page.count("<math ") > 2, path.name


TUTORIAL = """
import sys
sys.path.insert(0, "docs/hooks")
import tutorials
name = sys.argv[1]
(source,) = (path for path in tutorials.NOTEBOOKS if path.stem == name)
text, pictures = tutorials.page(name, tutorials.kept(source))
print(text, *pictures, sep="\\n")
"""


def test_the_star_of_a_symbol_is_no_emphasis(site):
    for path in site.rglob("*.html"):
        text = re.sub(r"<(pre|code)\b.*?</\1>", "", path.read_text(encoding="utf-8"), flags=re.S)
        assert not re.search(r"\w<em>", text), path.name


@pytest.mark.parametrize("name", [path.stem for path in TUTORIALS])
def test_a_tutorial_runs_and_shows_its_output(site, name):
    cells = re.findall(r"^# %%$", (DOCS / "tutorials" / f"{name}.py").read_text(encoding="utf-8"), re.M)
    page = (site / "tutorials" / f"{name}.html").read_text(encoding="utf-8")
    assert page.count('class="highlight"') >= len(cells) and (site / "tutorials" / f"{name}.ipynb").is_file()
    made = python("-c", TUTORIAL, name)
    assert made.count("```python") >= len(cells) and "```text" in made
    assert f"]({name}-1.png)" in made and f"\n{name}-1.png\n" in made


def blocks():
    """The blocks of Python on the pages whose blocks each run by themselves."""
    for path in SHOWN:
        yield from (pytest.param(block, id=f"{path.stem}-{i}") for i, block in enumerate(python_blocks(path)))


@pytest.mark.parametrize("block", list(blocks()))
def test_a_block_of_a_page_runs(block, tmp_path):
    environment = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS"} | {"PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", block], cwd=tmp_path, env=environment, check=True)
