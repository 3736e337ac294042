"""Texts and class names that try to break out of a page, and the app with an example set made of them.

As a script (``streamlit run``) it is that app; the examples' file is named by HOSTILE_EXAMPLES.
"""

from __future__ import annotations

import os
import runpy
from pathlib import Path

from explainlab.data.sources import EXAMPLES, PREFIX, ExampleSet
from explainlab.settings import ROOT

SCRIPTS = (
    "<script>window.__hit=1</script>",
    "<svg><script>window.__hit=1</script></svg>",
    '<img src=x onerror="window.__hit=1">',
)
MARKS = (
    '&amp; "quoted" it\'s <br />',
    "[link](https://evil.example) ![image](https://evil.example/x.png)",
    "$x^2$ :material/home: :red[red] **bold**",
    "שלום \u202eevil\u202c zero\u200bwidth 👨‍👩‍👧",
)
HOSTILE = "<script>alert(1)</script> <img src=x onerror=alert(2)> a good film &amp; more"
"""Hostile and readable, for pages that need no more."""
LABELS = (*SCRIPTS[1:], MARKS[2])

if __name__ == "__main__":
    path = Path(os.environ["HOSTILE_EXAMPLES"])
    EXAMPLES[f"{PREFIX}hostile"] = ExampleSet(f"{PREFIX}hostile", "Hostile", path, LABELS)
    runpy.run_path(str(ROOT / "app.py"))
