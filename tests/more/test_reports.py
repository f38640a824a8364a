"""Reports: tables from a summary, the studies' texts, and the page that holds all of it."""

import matplotlib.figure

from experiments.report import Report, format_value, label, remedies, tables_of

ABOUT = {
    "stage": "fall",
    "quick": True,
    "created": "today",
    "version": "1",
    "wall_seconds": 2.0,
    "command": "difsim",
}


def list_rows(table):
    return [list(table.columns), *table.to_numpy().tolist()]


def test_a_summary_becomes_tables():
    laws = {"hard": {"e": 0.5, "to": {"a": 1, "b": 2}}, "soft": {"e": 0.25, "to": {"a": 3, "b": 4}}}
    tables = tables_of(
        {"mass_kg": 2.0, "status": "OK", "laws": laws, "rows": [[1, 2]], "none": {}, "one": {"k": {"a": 1}}}
    )
    assert {title: list_rows(table) for title, table in tables.items()} == {
        "numbers": [["", "value"], ["mass, kg", "2"], ["status", "OK"]],
        "laws": [["", "e", "to: a", "to: b"], ["hard", "0.5", "1", "2"], ["soft", "0.25", "3", "4"]],
        "rows": [["", "1"], ["1", "1"], ["2", "2"]],
        "one": [["", "a"], ["k", "1"]],
    }
    wide = tables_of({"runs": {"a": dict.fromkeys("rstuvwxyz", 1), "b": dict.fromkeys("rstuvwxyz", 2)}})["runs"]
    assert list_rows(wide)[:2] == [["", "a", "b"], ["r", "1", "2"]]
    assert label("rebound_speed_m_s") == "rebound speed, m/s" and label("m") == "m"
    cells = {-1.25e-7: "−1.25 × 10^−7", 0.84519: "0.8452", 3: "3", True: "yes", None: "–", float("inf"): "–"}
    assert {value: format_value(value) for value in cells} == cells
    assert format_value(list(range(7))) == "7 numbers, 0 to 6"


def test_a_page_holds_text_tables_and_pictures(tmp_path):
    (tmp_path / "report.md.j2").write_text(
        '{% if report == "fall" %}\n## How long?\n\nIt falls for\n{{ time_s | digits(2) }} s onto {{ ground }}.\n\n'
        '{{ tables("times") }}\n{{ grid("slip", ["a"], [1, 2], [[3, 4e-5]]) }}\n{{ picture("path", "Its <path>.") }}\n'
        "{% endif %}"
    )
    for name in ("path", "other"):
        matplotlib.figure.Figure(figsize=(1, 1)).savefig(tmp_path / f"{name}.png")
    pictures = {name: (tmp_path / f"{name}.png", f"the {name}") for name in ("path", "other")}
    summary = {"time_s": 1.234, "ground": "<b>", "times": {"first_s": 1.0}, "status": "LEFT"}
    report = Report(summary, tmp_path, "fall", pictures)
    text = report.text()
    assert "It falls for 1.2 s onto <b>.\n" in text and "first, s" in text and "4 × 10^−5" in text
    assert text.splitlines()[-1].startswith("> LEFT: the body left the region")
    page = report.page("difsim toy", "A toy.", ABOUT, [tmp_path / "path.png"])
    for each in (
        "<h2>How long?</h2>",
        "onto &lt;b&gt;.",
        "4 × 10<sup>−5</sup>",
        "smoke test",
        "the other",
        "<td>first, s</td>",
    ):
        assert each in page, each
    assert (
        page.count("data:image/png") == 2
        and "<td>first, s</td>" in page
        and "Its &lt;path&gt;." in page
        and "the path" not in page
    )


def test_a_status_comes_with_its_remedy():
    said = remedies({"runs": [{"status": "UNSETTLED"}, {"status": "OK"}], "statuses": {"LEFT": 2, "STEP": 1}})
    assert [each.split(":")[0] for each in said] == ["UNSETTLED", "LEFT"]
    assert all(each.count(": ") == 2 for each in said)  # name, event, remedy
