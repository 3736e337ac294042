"""The generated parts of the manual, which its pages include: methods, metrics, studies, commands, settings, findings.

Every part comes from the declarations of the product. ``conf.py`` writes them before a build; git ignores them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import typer
from pydantic_core import PydanticUndefined

from explainlab.analyses.registry import studies
from explainlab.app.glossary import FAMILIES
from explainlab.attribution.method import USUAL_LAYERS, USUAL_TEXT, USUAL_TOKENS, Method
from explainlab.attribution.registry import methods
from explainlab.cli import app
from explainlab.declared import Parameters, specs
from explainlab.metrics.metric import AnyMetric, StabilityMetric
from explainlab.metrics.registry import metrics
from explainlab.settings import ROOT, describe_settings

FOLDER = Path(__file__).parent / "_generated"
METRIC_FAMILIES = {
    "Perturbation": "Remove or keep the top-ranked words, and ask the model again.",
    "Activation": "Reveal the text word by word, and watch the prediction.",
    "Stability": "Change the text a little, and make the map again.",
    "Rationale": "Compare the map with the marked evidence. These metrics need no pass.",
}
_MARKS = re.compile(r"([\\*_\[\]<>|$~])")


def parts() -> dict[str, str]:
    """Return every generated part by its name, in Markdown whose headings begin at the second level."""
    return {
        "methods": _methods(),
        "metrics": _metrics(),
        "studies": _studies(),
        "commands": _commands(),
        "settings": _settings(),
        "findings": _findings(),
    }


def write() -> None:
    """Write each part to its file, unless the file has it already."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in parts().items():
        path = FOLDER / f"{name}.md"
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _methods() -> str:
    overview = [
        [f"[{method.label}](#{_anchor('method', method.id)})", _escaped(method.good_for), method.speed()]
        for method in methods().values()
    ]
    starts = [
        f"[{method.label}](#{_anchor('method', method.id)})" for method in methods().values() if method.recommended
    ]
    lines = [
        "## All methods",
        f"Start with {' or '.join(starts)}. They tell for from against, and work with most models.",
        *_table(["method", "when to use it", "takes as long as"], overview),
    ]
    return _page([*lines, *_by_family(methods().values(), FAMILIES, _method)])


def _method(method: Method) -> list[str]:
    passes = method.passes(method.Parameters(), USUAL_TEXT, USUAL_LAYERS)
    most = "at most " if method.adaptive(method.Parameters()) or method.deduplicates else ""
    cost = f"{method.speed()}: {most}{passes.forward:,.0f} forward and {passes.backward:,.0f} backward"
    return [
        *_heading(3, method.label, "method", method.id),
        _escaped(method.plain),
        *([f"**Use it for:** {_escaped(method.good_for)}"] if method.good_for else []),
        *_formula(method.definition),
        *_facts(
            ("Name", f"`{method.id}`"),
            ("Source", _escaped(method.source)),
            ("Cost", f"{cost}, for a text of {USUAL_TOKENS} tokens and a model of {USUAL_LAYERS} layers."),
            ("Sum", "The scores are meant to add up." if method.adds_up else "No promise."),
            ("Sign", "For and against the class." if method.signed else "None: the map shows strength alone."),
            ("Needs", ", ".join(method.needs) or "any model"),
        ),
        *_parameters(method.Parameters),
    ]


def _metrics() -> str:
    overview = [
        [f"[{metric.label}](#{_anchor('metric', metric.id)})", _escaped(metric.plain), _cost(metric)]
        for metric in metrics().values()
    ]
    lines = ["## All metrics", *_table(["metric", "what it tells", "cost of one map"], overview)]
    return _page([*lines, *_by_family(metrics().values(), METRIC_FAMILIES, _metric)])


def _metric(metric: AnyMetric) -> list[str]:
    parameters = metric.Parameters()
    presets = [f"`{name}` ({_escaped(preset.label)})" for name, preset in metric.presets.items()]
    return [
        *_heading(3, metric.label, "metric", metric.id),
        _escaped(metric.plain),
        *_formula(metric.definition(parameters)),
        *_facts(
            ("Name", f"`{metric.id}`"),
            ("Source", _escaped(metric.source)),
            ("Better", "higher" if metric.higher_is_better else "lower"),
            ("Cost", f"{_cost(metric)}, for a text of {USUAL_TOKENS} tokens."),
            ("Columns", ", ".join(metric.marks(parameters)) or "only the text"),
            ("Presets", ", ".join(presets) or "none"),
        ),
        *_parameters(metric.Parameters),
    ]


def _cost(metric: AnyMetric) -> str:
    parameters = metric.Parameters()
    inputs = metric.inputs(parameters, USUAL_TOKENS)
    passes = f"at most {inputs} passes" if inputs else "no pass"
    again = metric.explanations(parameters) if isinstance(metric, StabilityMetric) else 0
    return f"{passes}; the map is made again {again} times" if again else passes


def _studies() -> str:
    lines = []
    for study in studies().values():
        lines += [
            *_heading(2, study.label, "study", study.id),
            _escaped(str(sys.modules[type(study).__module__].__doc__).splitlines()[0]),
            *_formula(study.definition),
            *_facts(("Name", f"`{study.id}`"), ("Source", _escaped(study.source))),
            *_parameters(study.Parameters),
        ]
    return _page(lines)


def every_command() -> dict[str, Any]:
    """Return every command of the command line by its name, those of a group after the name of the group."""
    top: Any = typer.main.get_command(app)
    found: dict[str, Any] = {}
    for name, command in top.commands.items():
        inside = getattr(command, "commands", None)
        own = {f"{name} {part}": each for part, each in inside.items()} if inside else {name: command}
        found |= {} if command.hidden else own
    return found


def _commands() -> str:
    lines = []
    for name, command in every_command().items():
        rows = [[f"`{_written(option)}`", _escaped(option.help or ""), _default(option)] for option in command.params]
        head, *more = (command.help or "").split("\n\n")
        lines += [*_heading(3, name, "command", name.replace(" ", "-")), _escaped(head), *map(_escaped, more)]
        lines += _table(["option", "what it sets", "default"], rows) if rows else []
    return _page(lines)


def _written(option: Any) -> str:
    if option.param_type_name == "argument":
        return str(option.metavar or option.name.upper())
    value = "" if option.is_flag else f" {option.metavar or option.name.upper()}"
    return f"{option.opts[0]}{value}"


def _default(option: Any) -> str:
    if option.required:
        return "required"
    return "" if option.default in (None, False) else f"`{option.default}`"


def _settings() -> str:
    rows = [[f"`{setting['name']}`", _escaped(setting["help"]), setting["default"]] for setting in describe_settings()]
    return _page(["## All settings", *_table(["variable", "what it sets", "default"], rows)])


def _findings() -> str:
    lines = []
    for path in sorted((ROOT / "findings").glob("*.sh")):
        title, *more = _comments(path)
        told = " ".join(more)
        facts = re.findall(r"(Versions|Expected|Seen): (.*?)(?= (?:Versions|Expected|Seen): |$)", told)
        lines += [
            *_heading(2, title.rstrip("."), "finding", path.stem),
            *_facts(*((name, _escaped(value)) for name, value in facts), ("Shown by", f"`bash findings/{path.name}`")),
        ]
    return _page(lines)


def _comments(path: Path) -> list[str]:
    """Return the lines of the comment at the head of a script, without the line that names its shell."""
    _, *lines = path.read_text(encoding="utf-8").splitlines()
    head = lines[: next(i for i, line in enumerate(lines) if not line.startswith("#"))]
    return [line.lstrip("# ") for line in head if line.strip("# ")]


def _by_family(
    members: Iterable[Any], introductions: Mapping[str, str], entry: Callable[[Any], list[str]]
) -> list[str]:
    """Return a section for each family of neighbouring ``members``: its introduction and their entries."""
    lines = []
    for family, own in groupby(members, lambda member: member.family):
        lines += [f"## {family}", introductions.get(family, "")]
        lines += [line for member in own for line in entry(member)]
    return lines


def _parameters(parameters: type[Parameters]) -> list[str]:
    rows = [
        [
            f"`{spec.name}`",
            _escaped(spec.help),
            _value(spec.default),
            ", ".join(f"`{choice}`" for choice in spec.choices),
        ]
        for spec in specs(parameters)
    ]
    return _table(["parameter", "what it sets", "default", "choices"], rows) if rows else []


def _value(default: object) -> str:
    if default is PydanticUndefined:
        return "required"
    if isinstance(default, list | tuple):
        default = ",".join(map(str, default))
    return f"`{default}`" if default not in ("", {}) else "empty"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a table as one block; a cell may have code and links."""
    written = [[re.sub(r"(?<!\\)\|", r"\\|", cell) for cell in row] for row in rows]
    lines = [list(heads), ["---"] * len(heads), *written]
    return ["\n".join(f"| {' | '.join(cells)} |" for cells in lines)]


def _facts(*facts: tuple[str, str]) -> list[str]:
    return ["\n".join(f"* **{name}:** {value}" for name, value in facts)]


def _formula(definition: str) -> list[str]:
    return [f"```text\n{definition}\n```"]


def _heading(level: int, title: str, kind: str, name: str) -> list[str]:
    return [f"({_anchor(kind, name)})=\n{'#' * level} {_escaped(title)}"]


def _anchor(kind: str, name: str) -> str:
    return f"{kind}-{name.replace('_', '-')}"


def _escaped(text: str) -> str:
    """Return ``text`` as Markdown that shows it; its code between backticks stays code."""
    pieces = re.split(r"(``.*?``|`.*?`)", text)
    return "".join(
        piece.replace("``", "`") if piece.startswith("`") else _MARKS.sub(r"\\\1", piece) for piece in pieces
    )


def _page(blocks: Iterable[str]) -> str:
    return "\n\n".join(block for block in blocks if block) + "\n"
