"""The settings of Sphinx. A build first writes the generated parts."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from docs.generate import FOLDER, write  # noqa: E402 (found by the line above)

write()

project = "ExplainLab"
author = "ExplainLab maintainers"
project_copyright = "ExplainLab maintainers, Apache-2.0"
extensions = ["myst_parser"]
exclude_patterns = ["requirements.txt", FOLDER.name]
nitpicky = True
myst_heading_anchors = 3
html_theme = "furo"
html_title = "ExplainLab"
html_favicon = "../assets/icon.svg"
html_show_sourcelink = False
