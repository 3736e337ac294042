"""Options that commands share, and how they print."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from explainlab.result import written


def own(model: str | list[str] | None) -> Any:
    """The id of a model that the local user has made and named; any other id as it is."""
    from explainlab.service.store.made import called
    from explainlab.service.users import LOCAL

    return [called(name, LOCAL.id) for name in model] if isinstance(model, list) else model and called(model, LOCAL.id)


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
        "--column", metavar="ROLE=NAME", help="The column of text, label, text_b, rationale, rationale_b or paraphrase."
    ),
]
Label = Annotated[
    list[str] | None,
    typer.Option(
        "--label", metavar="WRITTEN=CLASS", help="The class that a label of the file means; empty: leave its rows out."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def print_body(body: dict[str, Any], as_json: bool, lines: list[str]) -> None:
    """Print ``body`` as one JSON object, or else ``lines``."""
    for piece in written(body, ensure_ascii=False, allow_nan=False) if as_json else ["\n".join(lines)]:
        typer.echo(piece, nl=False)
    typer.echo()
