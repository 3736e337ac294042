"""A set as files: numbers of all cells, reasons of those that failed, one page without the network, and LaTeX."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

from explainlab.analyses.evaluation.sets.export import set_csv, set_html, set_json, set_latex
from tests.analyses.evaluation.conftest import HOSTILE
from tests.analyses.evaluation.sets.conftest import LARGE, SMALL, MakeSet
from tests.analyses.evaluation.test_latex import well_formed

ONE = {"lime": 0.5, "occlusion": 0.3, "random": 0.1}


def test_csv_and_json_have_all_cells(make_set: MakeSet) -> None:
    made = make_set({(SMALL, "d:a"): ONE, (replace(LARGE, id="=1+1"), "d:a"): None})
    rows = list(csv.DictReader(io.StringIO(set_csv(made))))
    assert len(rows) == 2 * 3 + 1
    assert (rows[-1]["model"], rows[-1]["reason"]) == ("'=1+1", "It <b>failed</b>.")
    body = json.loads(set_json(made))
    assert [cell["status"] for cell in body["cells"]] == ["done", "failed"]
    assert "texts" not in body["cells"][0]["body"]
    assert body["finding"][0].startswith("Over 1 of 2 cells")


def test_the_page_loads_nothing_and_words_stay_words(make_set: MakeSet) -> None:
    hostile = replace(SMALL, name=HOSTILE)
    page = set_html(make_set({(hostile, f"d:{HOSTILE}"): ONE, (LARGE, "d:a"): None}))
    assert "<script>alert" not in page
    assert "It &lt;b&gt;failed&lt;/b&gt;." in page
    head = page[: page.index("<script>")] + page[page.index("</script>") :]
    assert "src=" not in head
    assert "http://" not in head.replace("http://www.w3.org", "")


def test_the_latex_is_well_formed(make_set: MakeSet) -> None:
    hostile = replace(LARGE, name=HOSTILE)
    document = set_latex(make_set({(SMALL, "d:a"): ONE, (hostile, "d:a"): {f"m{i}": i / 10 for i in range(8)}}))
    well_formed(document)
    assert r"made:1 & $\mathbf{0.500} \pm 0.050$" in document
    assert r"\textless{}script\textgreater{}" in document
    assert document.count(r"\begin{table}") == 2 * 2
