"""The base classes of methods, and the declarations that a method makes."""

from __future__ import annotations

import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError
from pydantic_core import PydanticCustomError

from explainlab.attribution.records import Completeness
from explainlab.attribution.subject import Subject
from explainlab.declared import AtMost, InPlainWords, Parameters, ParameterSpec, specs
from explainlab.errors import RequestError, UnsupportedError, first_refused
from explainlab.limits import Limits
from explainlab.models.classifier import Classifier
from explainlab.models.context import PassCount
from explainlab.models.model import Architecture
from explainlab.request import Output, Unit
from explainlab.text.encoding import Encoding
from explainlab.text.units import group

if TYPE_CHECKING:
    from explainlab.attribution.registry import MethodSpec

Baseline = Literal["mask", "pad", "unk", "zero", "max_entropy"]
BASELINE_HELP = "What takes the place of hidden words: the input that stands for “no information”."
BaselineData = Annotated[
    str, Field(description="Data file that max_entropy is chosen from; empty: the embedded examples of these classes.")
]
"""A data set by path or embedded id; read only where the baseline is ``max_entropy``."""


Evaluations = Annotated[int, Field(ge=1), AtMost("max_evaluations")]
"""A number of model evaluations."""

Candidates = Annotated[int, Field(ge=1, le=10_000), AtMost("max_candidates")]
"""A number of attributions of one text to choose among."""

_TENS = 100.0
SPEEDS = (
    (1.0, "one pass"),
    (9.0, "a few passes"),
    (_TENS, "tens of passes"),
    (float("inf"), "hundreds of passes or more"),
)
"""Upper limits of passes with gradients (three forward passes count as one), and the words for them."""
ENOUGH = 0.05
"""The relative error of a sum at which a path has enough steps (Makino et al. 2024)."""

_NUMBER = TypeAdapter(Annotated[int, Field(ge=1)])
_MULTIPLE = re.compile(r"([0-9]+)n")


def _budget(value: Any) -> int | str:
    multiple = _MULTIPLE.fullmatch(value) if isinstance(value, str) else None
    try:
        number = _NUMBER.validate_python(multiple[1] if multiple else value)
    except ValidationError as error:
        text = "Give a multiple of n, such as 2n, or a whole number: {reason}"
        raise PydanticCustomError("budget", text, {"reason": first_refused(error).reason}) from None
    return f"{number}n" if multiple else number


Budget = Annotated[int | str, BeforeValidator(_budget), AtMost("max_evaluations")]
"""A number of model evaluations, or a multiple of the features: ``2n``."""


def budgeted(budget: int | str, n: int) -> int:
    """Return the evaluations of a ``budget`` for ``n`` features."""
    return int(budget.removesuffix("n")) * n if isinstance(budget, str) else budget


def counted(budget: int | str, n: int, name: str, limits: Limits) -> int:
    """Return :func:`budgeted`; raises :class:`RequestError`, with ``name``, if a multiple is too many."""
    evaluations = budgeted(budget, n)
    if isinstance(budget, str) and evaluations > limits.max_evaluations:
        raise RequestError(
            f"{name} = {budget} of {n} features are {evaluations:,} model evaluations.",
            limits.words("max_evaluations"),
        )
    return evaluations


def require_affordable(work: str, evaluations: int, limits: Limits) -> None:
    """Raise :class:`RequestError` if ``evaluations``, made of ``work``, are more than the ``limits`` allow."""
    if evaluations > limits.max_evaluations:
        raise RequestError(
            f"This takes {evaluations:,} model evaluations ({work}).",
            f"Choose fewer steps or a shorter text. {limits.words('max_evaluations')}",
        )


class TextSize(NamedTuple):
    """The size of a text: its ``tokens`` without special ones, and its scored ``features``."""

    tokens: int
    features: int

    @classmethod
    def of(cls, encoding: Encoding, unit: Unit) -> TextSize:
        """Return the size of an ``encoding`` whose features are ``unit``s."""
        return cls(int(encoding.content.sum()), len(group(encoding, unit).content))


def expected_work(passes: PassCount, tokens: float, architecture: Architecture) -> float:
    """Return the work of ``passes`` over a text of ``tokens`` tokens: see
    :class:`explainlab.models.context.Receivers`.

    A language model reads the label share of the text by one more.
    """
    return tokens * (passes + PassCount(architecture.is_generative)).work


USUAL_TOKENS, USUAL_LAYERS = 20, 6
"""The size of the text and of the model to which speeds refer."""
USUAL_TEXT = TextSize(USUAL_TOKENS, USUAL_TOKENS)


@dataclass(frozen=True)
class Outcome:
    """The result of a method for the n features of its subject.

    ``scores`` float64 [n]. ``expected``: the promised sum of the scores (None: no promise). ``errors`` float64 [n]:
    estimates of the scores' numerical errors. ``spread`` float64 [n]: for a mean of several methods, its standard
    deviation over them. ``rounding_scale``: the largest sum of absolute terms in a score, whose rounding the score
    inherits (0: unknown).

    ``within``: the relative error beyond which the sum has failed; a warning then says so, with ``remedy``, a sentence.
    It is the method's promise. Adaptive integration promises its tolerance. All other sums have the default,
    :data:`ENOUGH`: path methods are right for enough steps or samples, and by Makino et al. 2024 steps are enough at
    5%; DeepLift is right if its rule covers the network; KernelSHAP and progressive inference are exact.
    """

    scores: np.ndarray
    expected: float | None = None
    errors: np.ndarray | None = None
    spread: np.ndarray | None = None
    warnings: tuple[str, ...] = ()
    rounding_scale: float = 0.0
    within: float = ENOUGH
    remedy: str = ""

    @property
    def completeness(self) -> Completeness | None:
        """The sum of the scores beside the promised sum; None without a promise."""
        return None if self.expected is None else Completeness.of(self.scores, self.expected)


class Method(InPlainWords, ABC):
    """A way to attribute a prediction to the features of a text.

    For every reader: ``plain``, a description; ``good_for``, a reason to choose it; ``recommended``: one of the few to
    begin with.

    ``adds_up``: its outcomes promise a sum (``expected``). ``source``: paper and equation. ``version`` rises whenever
    the numbers change (it is part of the store's key). ``needs``: names of :attr:`Classifier.capabilities`.
    ``uses_internals``: True if it reads or changes values inside the model, even if ``needs`` does not show it.
    ``signed``: True if a negative score is evidence against the target. ``random``: True if another seed can give other
    scores. ``deduplicates``: it runs equal inputs once, so its passes are fewer if some are equal. ``definition``: the
    formula in one line, shown on the page. ``parameters`` are always an instance of the class' own ``Parameters``; a
    subclass may annotate them so.
    """

    id: ClassVar[str]
    label: ClassVar[str]
    family: ClassVar[str]
    source: ClassVar[str]
    definition: ClassVar[str]
    good_for: ClassVar[str] = ""
    recommended: ClassVar[bool] = False
    adds_up: ClassVar[bool] = False
    version: ClassVar[int] = 1
    signed: ClassVar[bool] = True
    random: ClassVar[bool] = False
    deduplicates: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ()
    uses_internals: ClassVar[bool] = False
    output: ClassVar[Output] = "probability"
    Parameters: ClassVar[type[Parameters]] = Parameters

    @abstractmethod
    def attribute(self, subject: Subject, parameters: Any) -> Outcome:
        """Score the features of ``subject``, which counts every model pass."""

    def attribute_many(self, subjects: Sequence[Subject], parameters: Any) -> list[Outcome]:
        """Score the features of all ``subjects``, which share a batcher: here one after another."""
        outcomes = []
        for i, subject in enumerate(subjects):
            with subject.batcher.span(i, i + 1, len(subjects)):
                outcomes.append(self.attribute(subject, parameters))
        return outcomes

    @classmethod
    def default_output(cls, parameters: Mapping[str, Any]) -> Output:
        """Return the default output of a request with these ``parameters``; :attr:`output` unless overridden."""
        return cls.output

    @classmethod
    def members(cls, parameters: Any) -> Sequence[MethodSpec]:
        """Return the methods that it runs, on whose versions its scores depend; none unless overridden."""
        return ()

    @classmethod
    def chosen_by(cls, parameters: Any) -> str | None:
        """Return the id of the metric that selects one of many maps, and that therefore flatters it; usually None."""
        return None

    @classmethod
    def ineffective_parameters(cls, parameters: Any) -> frozenset[str]:
        """Return the names of parameters without effect beside the others; pages need not show their values."""
        return frozenset()

    @classmethod
    def passes(cls, parameters: Any, text: TextSize, depth: int) -> PassCount:
        """Return the passes for a text of this size in a model of ``depth`` layers: one gradient unless overridden.

        The number is exact. For a method that is :meth:`adaptive` or :attr:`deduplicates` it is an upper bound.
        """
        return PassCount.gradients(1)

    @classmethod
    def work(cls, parameters: Any, n: int, depth: int) -> float:
        """Return the work of the :meth:`passes` for a text of ``n`` tokens, each of them a feature."""
        return cls.passes(parameters, TextSize(n, n), depth).work

    @classmethod
    def speed(cls) -> str:
        """Describe its default number of passes for a text of :data:`USUAL_TOKENS`, in words.

        An adaptive method ends long before its most passes: its estimate is tens.
        """
        parameters = cls.Parameters()
        work = _TENS if cls.adaptive(parameters) else cls.work(parameters, USUAL_TOKENS, USUAL_LAYERS)
        return next(words for most, words in SPEEDS if work <= most)

    @classmethod
    def adaptive(cls, parameters: Any) -> bool:
        """Tell whether it ends at sufficient precision, often long before its most passes."""
        return False

    @classmethod
    def is_signed(cls, parameters: Any) -> bool:
        """Tell whether scores under these parameters have signs; :attr:`signed` unless overridden."""
        return cls.signed

    @classmethod
    def is_random(cls, subject: Subject, parameters: Any) -> bool:
        """Tell whether another seed gives ``subject`` other scores, beyond rounding; :attr:`random` unless overridden.

        No pass is made to find out.
        """
        return cls.random

    @classmethod
    def unsupported(cls, architecture: Architecture, parameters: Any = None) -> str:
        """Return the reason why this method, or one that it runs under ``parameters``, cannot run on ``architecture``.

        The reason is a sentence; empty if it can run.
        """
        if reasons := architecture.missing(cls.needs):
            return f"{cls.label} cannot run on a {architecture.family} model: {'; '.join(reasons)}."
        members = () if parameters is None else cls.members(parameters)
        return next(filter(None, (member.unsupported(architecture) for member in members)), "")

    @classmethod
    def require(cls, classifier: Classifier, parameters: Any = None) -> None:
        """Raise :class:`UnsupportedError` if this method cannot run on ``classifier`` (see :meth:`unsupported`)."""
        if reason := cls.unsupported(classifier.architecture, parameters):
            raise UnsupportedError(reason, "Choose another method or another model.")

    @classmethod
    def parameter_specs(cls) -> list[ParameterSpec]:
        """Return the parameters in the order of their declaration."""
        return specs(cls.Parameters)


class BatchedMethod(Method):
    """A method whose passes of many texts run together; see :mod:`explainlab.attribution.passes`."""

    def attribute(self, subject: Subject, parameters: Any) -> Outcome:
        """Score the features of one subject, by :meth:`attribute_many`."""
        return self.attribute_many([subject], parameters)[0]

    @abstractmethod
    def attribute_many(self, subjects: Sequence[Subject], parameters: Any) -> list[Outcome]:
        """Score the features of all ``subjects``, which share a batcher, as if each were alone."""


def __getattr__(name: str) -> Any:
    """Return the object of a public name that version 1.0 renamed, with a :class:`DeprecationWarning`."""
    if name == "Extent":
        warnings.warn("Extent is called TextSize since version 1.0.", DeprecationWarning, stacklevel=2)
        return TextSize
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
