"""All methods, discovered in the modules of ``methods/``: a new method touches only its own file."""

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
from explainlab.models.model import Architecture
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
class MethodSpec:
    """A method with all its parameters."""

    method: str
    parameters: Parameters

    @property
    def name(self) -> str:
        """The shortest text that :func:`parse_spec` reads as this."""
        return ":".join([self.method, *(f"{name}={value}" for name, value in self._own)])

    @property
    def label(self) -> str:
        """The method's label with all parameters that differ from their defaults: ``KernelSHAP, 16n samples``."""
        return ", ".join([get_method(self.method).label, *(_spelled(name, value) for name, value in self._own)])

    def unsupported(self, architecture: Architecture) -> str:
        """Return the reason why it cannot run on ``architecture``: see :meth:`Method.unsupported`."""
        return get_method(self.method).unsupported(architecture, self.parameters)

    @property
    def _own(self) -> list[tuple[str, Any]]:
        usual = type(self.parameters)()
        return [(name, value) for name, value in self.parameters if value != getattr(usual, name)]


def _spelled(name: str, value: Any) -> str:
    """Spell a parameter for a reader: counts before their name, options that are off without their value."""
    words = name.replace("_", " ")
    if isinstance(value, bool):
        return words if value else f"not {words}"
    counts = name in _COUNTS and str(value).removesuffix("n").isdigit()
    return f"{value} {words}" if counts else f"{words} {value}"


@cache
def methods() -> dict[str, Method]:
    """Return every method by id, family by family."""
    return {method.id: method() for method in discovered(package, Method, FAMILIES)}  # type: ignore[type-abstract]


def get_method(method_id: str) -> Method:
    """Return the method with this id; raises :class:`RequestError` with the nearest names."""
    return lookup("method", method_id, methods())


def label_of(name: str) -> str:
    """Return the label of a method with its options; of an unknown method, or a file, the ``name`` itself."""
    try:
        return parse_spec(name).label
    except RequestError:
        return name


def chosen_by(name: str) -> str | None:
    """Return the id of the metric that selects one of a method's many maps; usually None (see the method)."""
    try:
        request = parse_spec(name)
    except RequestError:
        return None
    return get_method(request.method).chosen_by(request.parameters)


def request_label(request: Request) -> str:
    """Return the label of the method of ``request`` with the options that differ from their defaults.

    It is the id of the method if this version cannot read it.
    """
    try:
        return complete_method(request.question, request.parameters).label
    except RequestError:
        return label_of(request.question)


def signed_of(method_id: str, parameters: Mapping[str, Any], scores: Sequence[float]) -> bool:
    """Tell whether ``scores`` [n_features] have signs: by their method, else if any is negative."""
    method = methods().get(method_id)
    return method.is_signed(parse(method, parameters)) if method else min(scores) < 0


def parse_spec(text: str, settings: Mapping[str, Mapping[str, Any]] | None = None) -> MethodSpec:
    """Parse ``kernel_shap:samples=16n:paired=false`` into a complete specification; values may contain colons.

    ``settings``, by the ids of methods, apply to parameters that ``text`` leaves out. Options after :data:`MEMBERS`
    that the method itself does not have are those of its last member. Raises :class:`RequestError` for an unknown
    method or option, an option repeated, without a value, or out of range.
    """
    method, written = _split(text)
    given = (settings or {}).get(method.id, {})
    return complete_method(method.id, {**given, **written})


def swept(text: str) -> list[str]:
    """Return the specs of ``text``: one for every value in a list joined by plus, as in ``rpi:steps=10+20+30``.

    Several such options give all combinations. A value that the method accepts stays whole, as the members of an
    ensemble. Raises as :func:`parse_spec`, and for more than :data:`MOST_SWEPT`.
    """
    method, written = _split(text)
    values = [[(name, part) for part in _parts(method, name, value)] for name, value in written.items()]
    count = prod(map(len, values))
    if count > MOST_SWEPT:
        raise RequestError(f"{quote(text)} stands for {count:,} methods.", f"Give at most {MOST_SWEPT} at a time.")
    return [":".join([method.id, *(f"{name}={part}" for name, part in chosen)]) for chosen in product(*values)]


def _parts(method: Method, name: str, value: str) -> list[str]:
    """Return the values joined by plus in ``value``, or ``value`` whole if the method accepts it."""
    if "+" in value:
        try:
            complete_method(method.id, {name: value})
        except RequestError:
            return [part.strip() for part in value.split("+")]
    return [value]


def _split(text: str) -> tuple[Method, dict[str, str]]:
    """Return the method of a spec and its options as written; raises as :func:`parse_spec`."""
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


def parse_members(text: str) -> list[MethodSpec]:
    """Return the methods of ``text``, joined by plus: ``lime+kernel_shap:samples=16n``; see :func:`parse_spec`."""
    return [parse_spec(spec) for spec in re.split(r"\+(?=\s*[A-Za-z_]\w*\s*(?:[:+]|$))", text)]


def member_versions(request: MethodSpec, reader: Reader) -> list[str]:
    """Return the versions of the methods that a method runs; empty for most methods.

    Its scores depend on them. A line for each member has its parameters, its version, and the data that it reads as
    ``reader``.
    """
    lines = []
    for member in get_method(request.method).members(request.parameters):
        parameters = member.parameters.model_dump(mode="json")
        read = data_digest(parameters, reader)
        lines.append(f"{member.method} {get_method(member.method).version} {digest(parameters)} {read}".strip())
    return lines


def complete_method(method_id: str, parameters: Mapping[str, Any]) -> MethodSpec:
    """Return the method with all its parameters; raises :class:`RequestError` for one that it does not accept."""
    method = get_method(method_id)
    return MethodSpec(method.id, parse(method, parameters))


def describe_methods() -> list[dict[str, Any]]:
    """Return the declarations of all methods as plain records: the contract of ``methods --json``."""
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
    """Return the same request with every parameter of its method filled in."""
    return request.completed(parse(get_method(request.question), request.parameters))
