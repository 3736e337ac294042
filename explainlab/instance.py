"""Commands about this installation: its settings, its workers, and the runs that it keeps."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from explainlab.options import Json, print_body


def settings(as_json: Json = False) -> None:
    """List the settings: environment variables with default and help."""
    from explainlab.settings import describe_settings

    body = describe_settings()
    print_body({"settings": body}, as_json, [f"{s['name']:<32}{s['help']}" for s in body])


def workers(as_json: Json = False) -> None:
    """List the workers of the servers that run here; where none does, start those of the settings and look at them."""
    from explainlab.service.fleet.command import all_workers
    from explainlab.service.fleet.told import lines_of

    body = all_workers()
    print_body(body, as_json, lines_of(body))


def worker(
    address: Annotated[str, typer.Option("--address", help="HOST:PORT of the head of a Ray cluster.")],
) -> None:
    """Join this machine to a Ray cluster, until Ctrl+C: the servers that use the cluster may then compute here."""
    from explainlab.workers.cluster.joining import join

    typer.echo(f"This machine works for the cluster at {address}, until Ctrl+C.", err=True)
    join(address)


def dashboard(
    options: Annotated[list[str] | None, typer.Argument(help="Streamlit's own, such as --server.port=8600.")] = None,
) -> None:
    """Open the app in the browser; options after -- are Streamlit's."""
    from explainlab.errors import UnsupportedError
    from explainlab.settings import ROOT

    if find_spec("streamlit") is None:
        raise UnsupportedError("The app needs Streamlit.", "Install it: pip install 'explainlab[app]'.")
    command = [sys.executable, "-m", "streamlit", "run", str(ROOT / "app.py"), *(options or [])]
    raise typer.Exit(subprocess.call(command))


def export(
    run: Annotated[str, typer.Option("--run", help="The id of a run: it ends the link of its page under Runs.")],
    out: Annotated[Path, typer.Option("--out", help="A new file: NAME.parquet, NAME.csv or NAME.jsonl.")],
    as_json: Json = False,
) -> None:
    """Write the rows of a stored run, a row a text, as one file."""
    from explainlab.errors import RequestError
    from explainlab.figures.rows import write_rows
    from explainlab.service.service import open_service
    from explainlab.service.users import LOCAL

    with open_service() as service:
        opened = service.open_run(run, LOCAL)
        if opened.result is None:
            raise RequestError(opened.missing, "Run it again on its page.")
        count = write_rows(opened.result.rows_in_parts, out)
    print_body({"out": str(out), "rows": count}, as_json, [f"{count:,} rows in {out}"])
