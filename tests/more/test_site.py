"""The site: every public name has an entry, equations are made without a script, notebooks are short and run."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]

DOCS = ROOT / "docs"

TUTORIALS = sorted((DOCS / "tutorials").glob("*.py"))


def test_tutorials_have_at_most_ten_cells_and_link_on():
    assert len(TUTORIALS) == 5
    for path in TUTORIALS:
        cells = re.findall(r"^# %%", path.read_text(encoding="utf-8"), re.M)
        assert 5 <= len(cells) <= 10, path.name


def test_every_picture_of_the_gallery_names_its_command():
    page = (DOCS / "gallery.md").read_text(encoding="utf-8")
    pictures = re.findall(r"!\[[^\]]*\]\((figures/[^)]+)\)", page)
    assert {f"figures/{path.name}" for path in (DOCS / "figures").iterdir()} == set(pictures)
    for part in re.split(r"^## ", page, flags=re.M)[1:]:
        assert "`difsim " in part, part.splitlines()[0]


def test_readme_is_short_and_its_links_resolve():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 120
    targets = [t for t in re.findall(r"\]\(([^)\s#]+)", text) if "://" not in t]
    assert targets and all((ROOT / target).exists() for target in targets)
