"""All methods, discovered in the modules of `methods/`: adding a method touches its own file only."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import product
from math import prod
from reprlib import repr as quote
from typing import Any

from explainlab.attribution import methods as package
from explainlab.attribution.baselines import data_digest
from explainlab.attribution.method import Method
from explainlab.declared import Parameters, discovered, lookup, parse, parse_options
from explainlab.errors import RequestError
from explainlab.models.architectures import Architecture
from explainlab.reader import Reader
from explainlab.request import CompleteRequest, Request, digest

FAMILIES = ("Gradients", "Paths", "Perturbation", "Attention", "Decomposition", "Others", "Control")
"""The families in the order shown; any other follows."""

MEMBERS = "members"
"""The parameter of a method that names other methods with their options, which are joined by plus."""
MOST_SWEPT = 100
"""The most methods that a spec with several values may stand for."""
_COUNTS = ("samples", "steps", "passes", "neighbours", "timesteps")


@dataclass(frozen=True)
class MethodRequest:
    """A method with all its parameters."""

    method: str
    parameters: Parameters

    @property
    def name(self) -> str:
        """The shortest text that :func:`parse_method` reads as this."""
        return ":".join([self.method, *(f"{name}={value}" for name, value in self._own)])

    @property
    def label(self) -> str:
        """The method's label with all parameters that differ from their defaults: ``KernelSHAP, 16n samples``."""
        return ", ".join([get_method(self.method).label, *(_spelled(name, value) for name, value in self._own)])

    def unsupported(self, architecture: Architecture) -> str:
        """See :meth:`Method.unsupported`."""
        return get_method(self.method).unsupported(architecture, self.parameters)

    @property
    def _own(self) -> list[tuple[str, Any]]:
        usual = type(self.parameters)()
        return [(name, value) for name, value in self.parameters if value != getattr(usual, name)]


def _spelled(name: str, value: Any) -> str:
    """A parameter as a reader says it: counts before their name, what is switched off without its value."""
    words = name.replace("_", " ")
    if isinstance(value, bool):
        return words if value else f"not {words}"
    counts = name in _COUNTS and str(value).removesuffix("n").isdigit()
    return f"{value} {words}" if counts else f"{words} {value}"


@cache
def methods() -> dict[str, Method]:
    """Every method by id, family by family."""
    return {method.id: method() for method in discovered(package, Method, FAMILIES)}  # type: ignore[type-abstract]


def get_method(method_id: str) -> Method:
    """The method with this id; raises :class:`RequestError` with the nearest names."""
    return lookup("method", method_id, methods())


def label_of(name: str) -> str:
    """The label of a method with its options; the ``name`` itself, as of a file, if this version cannot read it."""
    try:
        return parse_method(name).label
    except RequestError:
        return name


def chosen_by(name: str) -> str | None:
    """The id of the metric by which a method with its options picks one of many maps; usually none (see the method)."""
    try:
        request = parse_method(name)
    except RequestError:
        return None
    return get_method(request.method).chosen_by(request.parameters)


def request_label(request: Request) -> str:
    """The label of the method of ``request`` with the options that differ from their defaults.

    The name of the method itself if this version cannot read it.
    """
    try:
        return complete_method(request.question, request.parameters).label
    except RequestError:
        return label_of(request.question)


def signed_of(method_id: str, parameters: Mapping[str, Any], scores: Sequence[float]) -> bool:
    """Whether ``scores`` [n_features] have signs: as their method says, else if any is negative."""
    method = methods().get(method_id)
    return method.is_signed(parse(method, parameters)) if method else min(scores) < 0


def parse_method(text: str, settings: Mapping[str, Mapping[str, Any]] | None = None) -> MethodRequest:
    """``kernel_shap:samples=16n:paired=false`` as a complete request; values may contain colons.

    ``settings``, by the ids of methods, hold for what ``text`` does not say. Options after :data:`MEMBERS` that the
    method itself does not have are those of its last member. Raises :class:`RequestError` for an unknown method or
    option, an option repeated, without a value, or out of range.
    """
    method, written = _split(text)
    given = (settings or {}).get(method.id, {})
    return complete_method(method.id, {**given, **written})


def swept(text: str) -> list[str]:
    """The specs that ``text`` stands for: one for every value of those that plus joins, as in ``rpi:steps=10+20+30``.

    Several such options give all combinations. A value that the method takes as it is stays whole, as the members of an
    ensemble. Raises as :func:`parse_method`, and for more than :data:`MOST_SWEPT`.
    """
    method, written = _split(text)
    values = [[(name, part) for part in _parts(method, name, value)] for name, value in written.items()]
    count = prod(map(len, values))
    if count > MOST_SWEPT:
        raise RequestError(f"{quote(text)} stands for {count:,} methods.", f"Give at most {MOST_SWEPT} at a time.")
    return [":".join([method.id, *(f"{name}={part}" for name, part in chosen)]) for chosen in product(*values)]


def _parts(method: Method, name: str, value: str) -> list[str]:
    """The values joined by plus in ``value``; all of it where the method takes it as it is."""
    if "+" in value:
        try:
            complete_method(method.id, {name: value})
        except RequestError:
            return [part.strip() for part in value.split("+")]
    return [value]


def _split(text: str) -> tuple[Method, dict[str, str]]:
    """The method of a spec and its options as they are written; raises as :func:`parse_method`."""
    method_id, *pieces = re.split(r":(?=\s*\w+\s*=)", text)
    method = get_method(method_id.strip())
    written: list[str] = []
    for piece in pieces:
        own = piece.partition("=")[0].strip() in method.Parameters.model_fields
        if not own and written and written[-1].partition("=")[0].strip() == MEMBERS:
            written[-1] += f":{piece}"
        else:
            written.append(piece)
    return method, parse_options(method, written)


def parse_members(text: str) -> list[MethodRequest]:
    """The methods of ``text``, joined by plus: ``lime+kernel_shap:samples=16n``; raises as :func:`parse_method`."""
    return [parse_method(spec) for spec in re.split(r"\+(?=\s*[A-Za-z_]\w*\s*(?:[:+]|$))", text)]


def member_versions(request: MethodRequest, reader: Reader) -> list[str]:
    """What the scores of a method depend on beside its own version, parameters and data; empty for most methods.

    A line each of the methods that it runs: its parameters, its version, and the data that it reads as ``reader``.
    """
    lines = []
    for member in get_method(request.method).members(request.parameters):
        parameters = member.parameters.model_dump(mode="json")
        read = data_digest(parameters, reader)
        lines.append(f"{member.method} {get_method(member.method).version} {digest(parameters)} {read}".strip())
    return lines


def complete_method(method_id: str, parameters: Mapping[str, Any]) -> MethodRequest:
    """The method with all its parameters; raises :class:`RequestError` for one that it does not accept."""
    method = get_method(method_id)
    return MethodRequest(method.id, parse(method, parameters))


def describe_methods() -> list[dict[str, Any]]:
    """The declarations of all methods as plain records (design: the contract of ``methods --json``)."""
    return [
        {
            "id": method.id,
            "label": method.label,
            "family": method.family,
            "plain": method.plain,
            "good_for": method.good_for,
            "speed": method.speed(),
            "adds_up": method.adds_up,
            "source": method.source,
            "definition": method.definition,
            "signed": method.signed,
            "needs": list(method.needs),
            "parameters": [asdict(spec) for spec in method.parameter_specs()],
        }
        for method in methods().values()
    ]


def complete(request: Request) -> CompleteRequest:
    """The same request with every parameter of its method filled in."""
    return request.completed(parse(get_method(request.question), request.parameters))
