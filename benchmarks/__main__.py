"""``python -m benchmarks [PART ...]``: measure costs and speeds, in the project's folder."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from benchmarks import run_bench
from explainlab.errors import ExplainLabError
from explainlab.options import Engine, Json, Workers
from explainlab.service.fleet.command import workers_for


def measure(
    names: Annotated[list[str] | None, typer.Argument(help="Parts to run; default: all.")] = None,
    engine: Engine = None,
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """Measure costs and speeds against the bare model passes and against other libraries."""
    try:
        fleet = workers_for(engine, workers, None)
        body = run_bench(names or [], lambda line: typer.echo(line, err=True), fleet)
    except ExplainLabError as error:
        typer.echo(f"benchmarks: {error}", err=True)
        raise typer.Exit(2) from None
    if as_json:
        json.dump(body, sys.stdout)


if __name__ == "__main__":
    typer.run(measure)
