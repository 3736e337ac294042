"""The command line. ``--json`` prints a JSON object on stdout; bad input prints a line on stderr and exits with 2."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any

import typer

from explainlab.declared import assignments
from explainlab.errors import ExplainLabError, RequestError
from explainlab.instance import dashboard, doctor, export, settings, store, worker, workers
from explainlab.options import (
    Column,
    Device,
    Dtype,
    Engine,
    Json,
    Label,
    Model,
    Models,
    OptionalModels,
    Output,
    Seed,
    Set,
    Target,
    Text,
    TextPair,
    Unit,
    Workers,
    own,
    print_body,
    print_cells,
    print_result,
)
from explainlab.reporting import LATEST, Reporter, in_sight

app = typer.Typer(
    name="explainlab",
    help="Why a transformer classified a text as it did, and how far the explanation can be trusted.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

OF_THE_APP = {"alembic", "altair", "authlib", "httpx", "plotly", "psycopg", "sqlalchemy", "streamlit"}
"""Packages that the app needs and the library does not."""
_UsageError: Any = next(cls for cls in typer.BadParameter.__mro__ if cls.__name__ == "ClickException")


@app.command()
def models(
    delete: Annotated[
        str | None, typer.Option("--delete", metavar="made:NAME", help="First delete a model that was made here.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the embedded models, and those that were made here."""
    from explainlab.service.service import open_service
    from explainlab.service.store.made import listed_models
    from explainlab.service.users import LOCAL

    if delete:
        with open_service() as service:
            service.delete_made(delete)
    body = listed_models(LOCAL.id)
    lines = [f"{m['id']}  {m['architecture']}: {', '.join(m['labels'])}  {m.get('name', '')}".rstrip() for m in body]
    print_body({"models": body}, as_json, lines)


@app.command()
def methods(as_json: Json = False) -> None:
    """List the attribution methods with their parameters."""
    from explainlab.attribution.registry import describe_methods

    body = describe_methods()
    lines = [
        f"{m['id']:<34}{m['label']}  ({', '.join(p['name'] for p in m['parameters']) or 'no parameters'})" for m in body
    ]
    print_body({"methods": body}, as_json, lines)


@app.command()
def predict(
    model: Model,
    text: Text,
    text_pair: TextPair = None,
    device: Device = None,
    dtype: Dtype = "float32",
    as_json: Json = False,
) -> None:
    """Classify a text."""
    from explainlab.models.loading import load_model
    from explainlab.models.reading_warnings import reading_warnings
    from explainlab.settings import settings

    classifier = load_model(model, device, dtype, settings().limits)
    encoding = classifier.encode(text, text_pair)
    prediction = classifier.predict(encoding)
    label_share = classifier.label_share(encoding)
    warnings = reading_warnings(classifier, encoding, label_share)
    body = {"prediction": asdict(prediction), "tokens": len(encoding), "truncated": encoding.cut > 0}
    lines = [f"{p:8.4f}  {label}" for label, p in prediction.probabilities.items()]
    if classifier.prompt:
        body |= {"prompt_tokens": sum(part is not None for part in encoding.prompt)}
    if label_share is not None:
        body |= {"label_share": label_share}
        lines.append(f"{label_share:8.4f}  of the next token is held by the label words")
    print_body({**body, "warnings": warnings}, as_json, [*lines, *warnings])


@app.command()
def explain(
    model: Model,
    text: Text,
    method: Annotated[str, typer.Option("--method", help="A method id; see `methods`.")] = "integrated_gradients",
    assigned: Set = None,
    text_pair: TextPair = None,
    target: Target = "predicted",
    output: Output = None,
    unit: Unit = "token",
    seed: Seed = 0,
    device: Device = None,
    dtype: Dtype = "float32",
    as_json: Json = False,
) -> None:
    """Attribute a prediction to the tokens, words or sentences of its text."""
    from explainlab.attribution.registry import get_method

    result = _ask(
        device,
        (),
        question=get_method(method).id,
        model=model,
        text=text,
        text_pair=text_pair,
        parameters=assignments(assigned),
        target=target,
        output=output,
        unit=unit,
        seed=seed,
        dtype=dtype,
    )
    print_result(result, result.to_json(), as_json)


@app.command()
def study(
    study_id: Annotated[
        str, typer.Argument(metavar="ID", help="A study id, such as integration_error, rpi_candidates or activation.")
    ],
    models: OptionalModels = None,
    text: Annotated[str | None, typer.Option("--text", help="The text to study.")] = None,
    sources: Annotated[list[str] | None, typer.Option("--data", help="A data set; may be repeated.")] = None,
    columns: Column = None,
    classes: Label = None,
    assigned: Set = None,
    text_pair: TextPair = None,
    target: Target = "predicted",
    output: Output = None,
    unit: Unit = "token",
    seed: Seed = 0,
    device: Device = None,
    engine: Engine = None,
    workers: Workers = None,
    dtype: Dtype = "float32",
    as_json: Json = False,
) -> None:
    """Ask a question that needs many attributions, of one text or of a data set; or of several, by several models.

    Some train their models: --set base=NAME says what they begin with.
    """
    from explainlab.analyses.cells import parameters_on
    from explainlab.analyses.registry import get_study, named_base
    from explainlab.service.fleet.command import workers_for

    model = models[0] if models else None
    model, parameters = named_base(study_id, model, assignments(assigned), "Give --model.")
    models = models or [own(model)]
    about, every = {"text": text, "text_pair": text_pair}, list(sources or [])
    read = {"columns": assignments(columns, "--column"), "classes": assignments(classes, "--label")}
    common = {"target": target, "output": output, "unit": unit, "seed": seed, "dtype": dtype}
    fleet = workers_for(engine, workers, device)

    def answer(model: str, data: str | None) -> Any:
        study, place = get_study(study_id), every.index(data) if data else 0
        own_set = parameters_on(study, parameters, place, len(every)) if data else parameters
        given = {"model": model, "data": data, "parameters": own_set}
        return _ask(device, fleet, question=study_id, **given, **about, **read, **common)

    if len(models) * len(sources or [""]) > 1:
        return print_cells(models, sources, answer, as_json, text)
    result = answer(models[0], sources[0] if sources else None)
    print_result(result, result.in_parts(), as_json)


@app.command()
def evaluate(
    models: Models,
    sources: Annotated[list[str], typer.Option("--data", help="A data file or embedded:NAME; may be repeated.")],
    methods: Annotated[str, typer.Option("--methods", help="Methods, as in lime:samples=500,gradient.")],
    metrics: Annotated[str, typer.Option("--metrics", help="Metric ids, options after colons: log_odds:k=10.")],
    assigned: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="METHOD.NAME=VALUE", help="A parameter of a method."),
    ] = None,
    attributions: Annotated[
        list[str] | None,
        typer.Option("--attributions", metavar="FILE", help="Maps made elsewhere: JSON of texts with scores."),
    ] = None,
    columns: Column = None,
    classes: Label = None,
    limit: Annotated[int | None, typer.Option("--limit", help="The most rows.")] = None,
    sample: Annotated[str, typer.Option("--sample", help="Which rows: random, first or all.")] = "random",
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave out rows that cannot be used.")] = False,
    target: Target = "predicted",
    output: Output = None,
    unit: Unit = "token",
    seed: Seed = 0,
    device: Device = None,
    engine: Engine = None,
    workers: Workers = None,
    dtype: Dtype = "float32",
    as_json: Json = False,
) -> None:
    """Judge methods by metrics on a data set, random maps beside them; or on every one of several, by every model."""
    from explainlab.analyses.run import evaluation_parameters, require_rows
    from explainlab.models.loading import describe
    from explainlab.service.fleet.command import workers_for
    from explainlab.service.uploads import reader_for
    from explainlab.service.users import LOCAL

    settings: dict[str, dict[str, Any]] = {}
    for name, value in assignments(assigned).items():
        method, dot, parameter = name.partition(".")
        if not dot:
            raise RequestError(f"--set {name} names no method.", "Write --set METHOD.name=value.")
        settings.setdefault(method, {})[parameter] = value
    parameters = evaluation_parameters(
        methods.split(","), metrics.split(","), limit, sample, settings, attributions or []
    )
    read: Any = {"columns": assignments(columns, "--column"), "classes": assignments(classes, "--label")}
    common = {"target": target, "output": output, "unit": unit, "seed": seed, "dtype": dtype, **read}
    fleet = workers_for(engine, workers, device)

    def answer(model: str, data: str) -> Any:
        if not skip_bad:
            card = describe(model)
            labels = card.labels if card else None
            require_rows(data, labels, parameters, limit, target, reader=reader_for(LOCAL.id), **read)
        return _ask(device, fleet, question="evaluation", model=model, data=data, parameters=parameters, **common)

    if len(models) * len(sources) > 1:
        return print_cells(models, sources, answer, as_json)
    result = answer(models[0], sources[0])
    body = result.in_parts()
    body |= {"skipped": len(body["skipped"]), "skipped_rows": body["skipped"]}
    print_result(result, body, as_json)


@app.command()
def plant(
    data: Annotated[str, typer.Option("--data", help="A data file, embedded:NAME or hub:NAME.")],
    out: Annotated[str, typer.Option("--out", help="A CSV file that does not exist yet.")],
    columns: Column = None,
    assigned: Set = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Put words into the texts of a data set that alone decide its new labels, so that the truth is known."""
    from explainlab.data.plant import Planting, plant
    from explainlab.request import validated
    from explainlab.service.uploads import reader_for
    from explainlab.service.users import LOCAL

    planting = validated(Planting, **assignments(assigned))
    read: Any = {"columns": assignments(columns, "--column"), "reader": reader_for(LOCAL.id)}
    planted = plant(data, out, seed=seed, **read, **dict(planting))
    body = {name: value for name, value in asdict(planted).items() if value is not None}
    print_body(body, as_json, planted.lines())


@app.command()
def train(
    data: Annotated[
        str, typer.Option("--data", help="CSV, TSV, JSON, JSONL or Parquet with the columns text and label.")
    ],
    out: Annotated[str, typer.Option("--out", help="A directory that does not exist yet.")],
    architecture: Annotated[
        str | None,
        typer.Option("--architecture", help="Begin with random weights: bert, gpt2, t5_encoder or bilstm_attention."),
    ] = None,
    base: Annotated[
        str | None, typer.Option("--base", callback=own, help="Begin with a model's weights: a directory or a hub id.")
    ] = None,
    checkpoints: Annotated[
        str | None, typer.Option("--checkpoints", help="Folder to go on from, should the training be stopped.")
    ] = None,
    device: Device = None,
    engine: Engine = None,
    workers: Workers = None,
    assigned: Set = None,
    as_json: Json = False,
) -> None:
    """Train a classifier: from random weights, as the embedded ones were, or from another model.

    Of several seeds each is trained by one worker.
    """
    from explainlab.service.fleet.command import trained_by, workers_for
    from explainlab.service.uploads import reader_for
    from explainlab.service.users import LOCAL
    from explainlab.training import ARCHITECTURES, out_directories, train_files

    if (architecture is None) == (base is None):
        raise RequestError("A training begins with random weights or with a model.", "Give --architecture or --base.")
    if architecture and architecture not in ARCHITECTURES:
        raise RequestError(f"Unknown architecture {architecture!r}.", f"Known: {', '.join(ARCHITECTURES)}.")

    given: Any = {"checkpoints": checkpoints, "report": Reporter(in_sight()), **assignments(assigned)}
    fleet, start = workers_for(engine, workers, device), architecture or base or ""
    if fleet:
        trained = trained_by(fleet, data, start, out, **given)
    else:
        trained = train_files(data, start, out, reader=reader_for(LOCAL.id), device=device, **given)
    bodies = [
        {"out": str(path), **asdict(model)}
        for path, model in zip(out_directories(out, len(trained)), trained, strict=True)
    ]
    body = bodies[0] if len(bodies) == 1 else {"out": out, "models": bodies}
    print_body(body, as_json, [f"{name}: {value}" for each in bodies for name, value in each.items()])


@app.command(hidden=True, context_settings={"ignore_unknown_options": True})
def bench(arguments: Annotated[list[str] | None, typer.Argument()] = None) -> None:
    """Say where the benchmark went; this command goes with the next version."""
    raise RequestError("The benchmark is no part of the package.", "In the project's folder: python -m benchmarks.")


app.command("app")(dashboard)
app.command()(settings)
app.command()(doctor)
app.command()(export)
app.command()(workers)
app.command()(worker)
app.add_typer(store, name="store", help="Back up the store, and restore it.")


def main() -> None:
    """Entry point of ``python -m explainlab``."""
    try:
        code = app(sys.argv[1:] or ["--help"], standalone_mode=False)
    except _UsageError as error:
        code = _complain(error.format_message())
    except ExplainLabError as error:
        code = _complain(str(error))
    except ModuleNotFoundError as error:
        if (error.name or "explainlab").split(".")[0] not in OF_THE_APP:
            raise
        code = _complain(f"This needs {error.name}. Install it: pip install 'explainlab[app]'.")
    except (typer.Abort, KeyboardInterrupt):
        code = 130
    sys.exit(code or 0)


def _ask(device: str | None, workers: Sequence[Any], **fields: Any) -> Any:
    """Return the answer to the request of these ``fields``: from the store, or computed here or by ``workers``."""
    from explainlab.analyses.registry import new_request
    from explainlab.notebook.telling import EstimateLine, ProgressBar
    from explainlab.service.fleet.command import answered, cost_words
    from explainlab.service.resolved import resolve
    from explainlab.service.service import open_service

    asked = resolve(new_request(**fields), unrestricted=True)
    with open_service(device, workers) as service:
        if service.notice:
            typer.echo(service.notice, err=True)
        report, pace = Reporter(in_sight()), service.paces.nearest(asked.request)
        line = EstimateLine(report, partial(cost_words, service, asked), LATEST)
        try:
            return answered(
                service, asked, lambda context: ProgressBar(context, report, line, pace).context, report, line
            )
        finally:
            report.close()


def _complain(message: str) -> int:
    typer.echo(f"explainlab: {' '.join(message.split())}", err=True)
    return 2
