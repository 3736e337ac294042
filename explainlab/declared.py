"""Declarations: an id with typed parameters, from which forms, options and keys are made."""

from __future__ import annotations

import difflib
import importlib
import inspect
import pkgutil
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from reprlib import repr as quote
from types import ModuleType
from typing import Any, ClassVar, Literal, Protocol, TypeVar, get_args, get_origin

import annotated_types
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from explainlab.errors import RequestError, first_refused
from explainlab.limits import Limits

T = TypeVar("T")
_LONGEST = 100
"""Characters of a name that are compared with the known ones."""


class Parameters(BaseModel):
    """Base of all declared parameters: typed fields with default, range and a one-line description."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)


@dataclass(frozen=True)
class AtMost:
    """Marks a parameter, a number or a multiple such as ``16n``, that is bounded by the limit of this name."""

    limit: str


def as_validation_error(read: Callable[[], T]) -> T:
    """Return the result of ``read``; raise a :class:`RequestError` as pydantic's error of a validator."""
    try:
        return read()
    except RequestError as error:
        raise PydanticCustomError("request", "{error}", {"error": str(error).rstrip(".")}) from None


ParametersClass = type[Parameters]


class Declared(Protocol):
    """A method, a metric or an analysis: an id and a class of parameters."""

    @property
    def id(self) -> str:
        """The name in requests."""

    @property
    def Parameters(self) -> ParametersClass:  # noqa: N802 (a class)
        """The class of the parameters."""


class InPlainWords:
    """A base of classes that a reader chooses: ``plain`` is a sentence that anyone understands.

    By default it is the first paragraph of the class's docstring.
    """

    plain: ClassVar[str]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "plain" not in vars(cls):
            cls.plain = (inspect.getdoc(cls) or "").split("\n\n")[0].replace("\n", " ")


Kind = Literal["choice", "integer", "number", "flag", "text"]
_KINDS: dict[object, Kind] = {bool: "flag", int: "integer", float: "number"}


@dataclass(frozen=True)
class ParameterSpec:
    """One parameter, for forms, the command line and tables."""

    name: str
    kind: Kind
    default: object
    choices: tuple[str, ...]
    minimum: float | None
    maximum: float | None
    help: str

    def written(self, value: Any) -> Any:
        """Return ``value`` as a control of this kind holds it: as text where text is typed, a list with commas."""
        if self.kind != "text":
            return value
        return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def specs(parameters: type[Parameters]) -> list[ParameterSpec]:
    """Return the fields of ``parameters``, in the order of declaration."""
    return [spec_of(name, info) for name, info in parameters.model_fields.items()]


class _Member(Protocol):
    id: ClassVar[str]
    family: ClassVar[str]


Member = TypeVar("Member", bound=_Member)


@cache
def installed(kind: str) -> dict[str, Any]:
    """Return the ``methods``, ``metrics``, ``analyses`` or ``models`` of other installed packages by their names.

    A package names them as entry points of the group ``explainlab.KIND``. One that cannot be imported is left out with
    a warning, so that everything else goes on.
    """
    found: dict[str, Any] = {}
    for point in sorted(entry_points(group=f"explainlab.{kind}")):
        try:
            found.setdefault(point.name, point.load())
        except Exception as error:
            skip(kind, point.name, f"its import fails ({type(error).__name__}: {error})")
    return found


def skip(kind: str, name: str, reason: str) -> None:
    """Warn that one of the ``installed`` objects of a ``kind`` cannot be used."""
    warnings.warn(f"{name}, an entry point of explainlab.{kind}, is left out: {reason}.", stacklevel=2)


def discovered(package: ModuleType, base: type[Member], families: Sequence[str]) -> list[type[Member]]:
    """Return the classes with an id below ``base``: those of the modules of ``package``, then those ``installed``.

    They come family by family, ``families`` first, then by module and in the order of their declaration.
    """
    members: list[type[Member]] = []
    for info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        classes = [value for value in vars(module).values() if isinstance(value, type) and issubclass(value, base)]
        members += [cls for cls in classes if cls.__module__ == module.__name__ and "id" in vars(cls)]
    kind, known = package.__name__.rpartition(".")[2], {member.id for member in members}
    for name, cls in installed(kind).items():
        if not (isinstance(cls, type) and issubclass(cls, base) and "id" in vars(cls)):
            skip(kind, name, f"it is no {base.__name__} with an id")
        elif cls.id in known:
            skip(kind, name, f"there is one with the id {cls.id}")
        else:
            members.append(cls)
            known.add(cls.id)
    order = {family: place for place, family in enumerate(families)}
    return sorted(members, key=lambda m: (order.get(m.family, len(order)), m.family))


def lookup(kind: str, name: str, known: Mapping[str, T]) -> T:
    """Return ``known[name]``; raise :class:`RequestError`, with the closest names, for an unknown or malformed name."""
    if not isinstance(name, str):
        raise RequestError(f"A {kind} cannot be named by a {type(name).__name__}.", "Give one name, as a string.")
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name[:_LONGEST], known, n=2, cutoff=0.4)
    remedy = f"Did you mean {' or '.join(near)}?" if near else f"Known: {', '.join(sorted(known))}."
    raise RequestError(f"There is no {kind} {quote(name)}.", remedy)


def parse_options(owner: Declared, written: Sequence[str]) -> dict[str, str]:
    """Return ``["k=10", "removal=mask"]`` as a mapping.

    Raises :class:`RequestError` for a repeated option, and for one without a name or a value.
    """
    values: dict[str, str] = {}
    for option in written:
        name, equals, value = (part.strip() for part in option.partition("="))
        if not (name and equals and value):
            raise RequestError(
                f"{quote(option.strip())} is not an option of {owner.id}.", "Write options as :name=value."
            )
        if name in values:
            raise RequestError(f"{owner.id} has the option {name} twice.", "Give it once.")
        values[name] = value
    return values


def parse(owner: Declared, values: Mapping[str, Any]) -> Parameters:
    """Return the parameters of ``owner`` from ``values`` and defaults.

    Raises :class:`RequestError` naming the first parameter that is unknown or out of range.
    """
    try:
        return owner.Parameters(**values)
    except ValidationError as error:
        first = first_refused(error)
        known = ", ".join(owner.Parameters.model_fields) or "none"
        if first.kind == "extra_forbidden":
            raise RequestError(f"{owner.id} has no parameter '{first.name}'.", f"Its parameters: {known}.") from None
        problem = f"{first.name} = {quote(first.value)} is" if first.name else "these parameters are"
        raise RequestError(f"{owner.id}: {problem} not accepted.", f"{first.reason}.") from None


def require_within(owner: Declared, parameters: Parameters, limits: Limits) -> None:
    """Raise :class:`RequestError` for a parameter of ``owner`` that is beyond one of the ``limits``."""
    for name, info in type(parameters).model_fields.items():
        value = getattr(parameters, name)
        for bound in info.metadata:
            if isinstance(bound, AtMost) and int(str(value).removesuffix("n")) > getattr(limits, bound.limit):
                raise RequestError(f"{owner.id}: {name} = {quote(value)} is not accepted.", limits.words(bound.limit))


def spec_of(name: str, info: FieldInfo) -> ParameterSpec:
    """Return the declaration of one field."""
    limits: dict[type, object] = {type(m): m for m in info.metadata}
    bounds = [
        getattr(limits.get(kind), attribute, None)
        for kind, attribute in (
            (annotated_types.Ge, "ge"),
            (annotated_types.Gt, "gt"),
            (annotated_types.Le, "le"),
            (annotated_types.Lt, "lt"),
        )
    ]
    choices = get_args(info.annotation) if get_origin(info.annotation) is Literal else ()
    return ParameterSpec(
        name=name,
        kind="choice" if choices else _KINDS.get(info.annotation, "text"),
        default=info.default,
        choices=tuple(str(c) for c in choices),
        minimum=next((b for b in bounds[:2] if b is not None), None),
        maximum=next((b for b in bounds[2:] if b is not None), None),
        help=info.description or "",
    )


def assignments(pairs: list[str] | None, option: str = "--set") -> dict[str, Any]:
    """Return ``["name=value", ...]`` as a mapping, each parted at its first ``=``: a value may have more of them.

    A label of a file is a name that may have more of them, so ``--label`` is parted at the last ``=``. Raises
    :class:`RequestError` for one without ``=`` or given twice.
    """
    values: dict[str, Any] = {}
    for pair in pairs or []:
        name, equals, value = pair.rpartition("=") if option == "--label" else pair.partition("=")
        if not equals or not name.strip():
            raise RequestError(f"{option} {pair} is not of the form name=value.")
        if name.strip() in values:
            raise RequestError(f"{option} {name.strip()} is given twice.")
        values[name.strip()] = value.strip()
    return values
