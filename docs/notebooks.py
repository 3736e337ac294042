"""The notebooks under ``assets/notebooks/`` with their outputs.

    .venv/bin/python docs/notebooks.py

The script runs each notebook in a kernel of its own, in an empty folder, and writes it back with its outputs. It needs
``pip install nbclient ipykernel``.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]


def run(path: Path) -> None:
    """Run a notebook and store its outputs, without progress bars and times."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(notebook, record_timing=False, resources={"metadata": {"path": folder}})
        client.execute(env={**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"})
    notebook.metadata = {**notebook.metadata, "language_info": {"name": "python"}}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
            for output in cell.outputs:
                if "text/html" in output.get("data", {}):  # the plain text of a result is long, and shown by no viewer
                    output.data.pop("text/plain", None)
    nbformat.write(notebook, path)


if __name__ == "__main__":
    for path in sorted((ROOT / "assets" / "notebooks").glob("*.ipynb")):
        run(path)
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")
