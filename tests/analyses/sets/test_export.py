"""A set as files: numbers of all cells, reasons of those that failed, and one page without the network."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

from explainlab.analyses.sets.table import number_rows, set_csv, set_html, set_json
from tests.analyses.sets.conftest import HOSTILE, LARGE, SMALL, MakeSet

ONE = {"lime": 0.5, "occlusion": 0.3, "random": 0.1}


def test_csv_and_json_have_all_cells(make_set: MakeSet) -> None:
    made = make_set({(SMALL, "d:a"): ONE, (replace(LARGE, id="=1+1"), "d:a"): None})
    rows = list(csv.DictReader(io.StringIO(set_csv(number_rows(made)))))
    assert len(rows) == 2 * 3 + 1
    assert (rows[0]["of"], rows[0]["measure"], rows[0]["mean"]) == ("lime", "activation", "0.5")
    assert (rows[-1]["model"], rows[-1]["reason"]) == ("'=1+1", "It <b>failed</b>.")
    body = json.loads(set_json(made, ["One sentence."]))
    assert [cell["status"] for cell in body["cells"]] == ["done", "failed"]
    assert body["cells"][0]["body"]["rows"][0]["label"] == "LIME"
    assert body["finding"] == ["One sentence."]
    assert "texts" not in body["cells"][0]["body"]


def test_the_page_loads_nothing_and_words_stay_words(make_set: MakeSet) -> None:
    hostile = replace(SMALL, name=HOSTILE)
    made = make_set({(hostile, f"d:{HOSTILE}"): ONE, (LARGE, "d:a"): None})
    page = set_html("Activation", [f"About {HOSTILE}."], made)
    assert "<script>alert" not in page
    assert "It &lt;b&gt;failed&lt;/b&gt;." in page
    head = page[: page.index("<script>")] + page[page.index("</script>") :]
    assert "src=" not in head
    assert "http://" not in head.replace("http://www.w3.org", "")
