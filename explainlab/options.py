"""Options that commands share, and functions that print results."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from explainlab.result import Result, with_verdict, written


def own(model: str | list[str] | None) -> Any:
    """Return the id of a model that the local user has trained and named; return any other id unchanged."""
    from explainlab.service.store.made import resolve_model_alias
    from explainlab.service.users import LOCAL

    return (
        [resolve_model_alias(name, LOCAL.id) for name in model]
        if isinstance(model, list)
        else model and resolve_model_alias(model, LOCAL.id)
    )


Model = Annotated[
    str,
    typer.Option(
        "--model", callback=own, help="embedded:NAME, made:NAME, a directory, a hub id, completion:TEMPLATE:MODEL."
    ),
]
Models = Annotated[list[str], typer.Option("--model", callback=own, help="A model, as elsewhere; may be repeated.")]
OptionalModels = Annotated[
    list[str] | None,
    typer.Option("--model", callback=own, help="A model, as elsewhere; may be repeated. Some studies need none."),
]
Text = Annotated[str, typer.Option("--text", help="The text to classify.")]
TextPair = Annotated[str | None, typer.Option("--text-pair", help="The second text of a pair.")]
Target = Annotated[str, typer.Option("--target", help="predicted, a class name or its index.")]
Output = Annotated[str | None, typer.Option("--output", help="probability or logit; default: the method's own.")]
Unit = Annotated[str, typer.Option("--unit", help="token, word or sentence.")]
Seed = Annotated[int, typer.Option("--seed", help="Seed of everything random.")]
Device = Annotated[str | None, typer.Option("--device", help="cuda, mps or cpu; default: the best one here.")]
Dtype = Annotated[str, typer.Option("--dtype", help="float32, bfloat16 or float16.")]
Set = Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A parameter; may be repeated.")]
Column = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="ROLE=NAME",
        help="The column of text, label, text_b, rationale, rationale_b or paraphrase; its number if it has no name.",
    ),
]
Label = Annotated[
    list[str] | None,
    typer.Option(
        "--label", metavar="WRITTEN=CLASS", help="The class that a label of the file means; empty: leave its rows out."
    ),
]
Engine = Annotated[
    Literal["local", "ray"] | None,
    typer.Option("--engine", help="Where workers compute: on this machine, or on a Ray cluster; default: the setting."),
]
Workers = Annotated[
    int | None,
    typer.Option("--workers", min=1, help="Processes to start, which share the work; default: this process alone."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def print_body(body: dict[str, Any], as_json: bool, lines: list[str]) -> None:
    """Print ``body`` as one JSON object, or else ``lines``."""
    for piece in written(body, ensure_ascii=False, allow_nan=False) if as_json else ["\n".join(lines)]:
        typer.echo(piece, nl=False)
    typer.echo()


def print_cells(models: list[str], data: list[str] | None, answer: Any, as_json: bool, text: Any = None) -> None:
    """Print the ``answer`` for each model and data set: see :func:`explainlab.analyses.cells.cells`."""
    from explainlab.analyses.cells import cells, require_data
    from explainlab.analyses.evaluation.sets import share_lines, share_rows
    from explainlab.service.uploads import reader_for
    from explainlab.service.users import LOCAL

    asked = list(cells(models, require_data(text, data), answer, reader_for(LOCAL.id)))
    records = (cell.in_parts() for cell in asked)
    shares = share_rows((cell.model, cell.data, cell.result) for cell in asked)
    more = {"shares": [row.model_dump(mode="json") for row in shares]} if shares else {}
    lines = [line for cell in asked for line in cell.lines()]
    print_body({"cells": records, **more}, as_json, [*lines, *share_lines(shares)])


def print_result(result: Result, body: dict[str, Any], as_json: bool) -> None:
    """Print the answer in words, its numbers, the drawn rows, and warnings; or print all of that as JSON."""
    from explainlab.analyses.base import AnalysisResult
    from explainlab.analyses.registry import get_analysis

    report = get_analysis(result.request.question).report(result)
    rows = result.sample_words if isinstance(result, AnalysisResult) else ""
    lines = [report.headline, "", *report.lines, *([f"Rows drawn: {rows}."] if rows else []), *result.warnings]
    print_body(with_verdict(body, report.headline), as_json, lines)
