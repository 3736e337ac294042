"""The declaration of an analysis: a question with its parameters, its needs, its computation and its typed result."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, NamedTuple, TypeVar, get_args

import torch
from pydantic import BaseModel, ConfigDict

from explainlab.attribution.baselines import data_digest
from explainlab.attribution.explain import versions_by, versions_with
from explainlab.attribution.method import TextSize
from explainlab.attribution.records import Attribution
from explainlab.attribution.registry import MethodSpec, get_method, member_versions
from explainlab.data import rows_digest, source_digest
from explainlab.declared import Parameters, parse
from explainlab.disk_backed import Packable, Packed
from explainlab.errors import RequestError, UnsupportedError
from explainlab.metrics.registry import get_metric
from explainlab.models import loading
from explainlab.models.classifier import Classifier
from explainlab.models.context import PassCount, RunContext
from explainlab.models.modes import rounding
from explainlab.reader import Reader
from explainlab.request import GOLD, RECORD_VERSION, CompleteRequest, Kind, Output, Request, digest, result_key
from explainlab.result import PART, Result, StoredPart
from explainlab.training import ARCHITECTURES

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from explainlab.analyses.summary import Number


class Record(BaseModel):
    """A part of a result: typed fields that are its JSON, in the order of their declaration.

    ``many`` names the field that has a record a text of a data set, if there is one. ``shown_alone`` are lists that
    only the reader of a single text sees: they are left out of memory while a data set is summarised.
    """

    model_config = ConfigDict(frozen=True)
    many: ClassVar[str] = "texts"
    shown_alone: ClassVar[Sequence[str]] = ()


B = TypeVar("B", bound=Record)


class Skipped(NamedTuple):
    """A row of a data set that was left out, by its number, and the reason."""

    row: int
    reason: str


class Sampled(Record):
    """The rows of a data set chosen for a study: the way they were ``drawn``, and the ``seed``.

    They are ``rows`` out of the ``total`` that the file holds (None: it was not read to its end). Rows that the model
    cannot read are among them: ``skipped`` of the result names these.
    """

    drawn: Literal["random", "first", "all"]
    rows: int
    total: int | None
    seed: int

    def __str__(self) -> str:
        if self.rows == self.total:
            return f"all {self.rows:,}"
        if self.total is None or self.drawn == "first":
            return f"the first {self.rows:,}"
        return f"{self.rows:,} of {self.total:,}, random, seed {self.seed}"


@dataclass(frozen=True, kw_only=True)
class AnalysisResult(Result, Generic[B]):
    """The answer of an analysis: ``body`` is its own part.

    Of a data set ``skipped`` are the rows that were left out, and ``sample`` says which were drawn (None for a text).
    ``parts`` are where the store has the rows of a long one.
    """

    kind: ClassVar[Kind] = "study"

    body: B
    skipped: tuple[Skipped, ...] = ()
    sample: Sampled | None = None
    parts: tuple[StoredPart, ...] = ()

    @property
    def sample_words(self) -> str:
        """The choice of rows from the data set, in words; empty for a single text."""
        return "" if self.sample is None else str(self.sample)

    def plot(self, name: str = "") -> go.Figure:
        """Return the Plotly figure called ``name``, or else the first.

        Raises :class:`RequestError` for another name, or where it has none, and :class:`UnsupportedError` without
        Plotly.
        """
        try:
            from explainlab.analyses.figures import figures_of
        except ModuleNotFoundError as error:
            raise UnsupportedError(f"Charts need {error.name}.", "pip install 'explainlab[app]'") from None
        figures = figures_of(self)
        if not figures.charts:
            raise RequestError(f"This result has no chart. {figures.none}".strip())
        if name and name not in figures.charts:
            raise RequestError(f"There is no chart '{name}'.", f"There are: {', '.join(figures.charts)}.")
        return figures.charts[name or next(iter(figures.charts))].figure

    def own_json(self) -> dict[str, Any]:
        """See :meth:`explainlab.result.Result.own_json`."""
        return self._own(self.body_json())

    def in_parts(self) -> dict[str, Any]:
        """See :meth:`explainlab.result.Result.in_parts`."""
        return self.framed(self._own(self.body_in_parts()))

    @classmethod
    def from_json(cls, record: Mapping[str, Any], body: type[B]) -> AnalysisResult[B]:
        """Return the result whose JSON is ``record``, with a ``body`` of this type.

        Raises ValueError or KeyError for anything else.
        """
        own = {"study", "target_asked", "cost", "warnings", "versions", "skipped", "sample", "parts"}
        names = {*Request.model_fields, *own} - {"target"}
        return AnalysisResult(
            **cls.frame_of(record),
            body=body.model_validate({name: value for name, value in record.items() if name not in names}),
            skipped=tuple(Skipped(*row) for row in record.get("skipped", ())),
            sample=Sampled.model_validate(record["sample"]) if "sample" in record else None,
            parts=tuple(StoredPart(**part) for part in record.get("parts", ())),
        )

    @property
    def named_parts(self) -> dict[str, Any]:
        """``parts`` as JSON names them; nothing where there are none."""
        return {"parts": [part._asdict() for part in self.parts]} if self.parts else {}

    def _own(self, body: Mapping[str, Any]) -> dict[str, Any]:
        skipped = {} if self.request.data is None else {"skipped": [list(row) for row in self.skipped]}
        sample = {} if self.sample is None else {"sample": self.sample.model_dump()}
        return {"target_asked": None, **body, **self.named_parts, **skipped, **sample}

    def body_json(self) -> dict[str, Any]:
        """Return the JSON of the body alone."""
        return self.body.model_dump(mode="json")

    def packed(self) -> Packed | None:
        """See :meth:`explainlab.result.Result.packed`."""
        rows = getattr(self.body, self.body.many, None)
        return rows.packed() if isinstance(rows, Packable) else None

    def rows_in_parts(self) -> Iterator[list[dict[str, Any]]]:
        """See :meth:`explainlab.result.Result.rows_in_parts`."""
        rows = self.body_in_parts().get(self.body.many, [])
        if isinstance(rows, Iterator):
            yield from rows
        elif rows and isinstance(rows[0], dict):
            yield rows

    def body_in_parts(self) -> dict[str, Any]:
        """Return :meth:`body_json`, with more than :data:`PART` texts as :meth:`in_parts` has them."""
        many = self.body.many
        texts: Sequence[Any] = getattr(self.body, many, ())
        if len(texts) <= PART:
            return self.body_json()
        starts = range(0, len(texts), PART)
        parts = ([_plain(text) for text in texts[start : start + PART]] for start in starts)
        body = self.body.model_dump(mode="json", exclude={many})
        return {name: parts if name == many else body[name] for name in type(self.body).model_fields}


def _plain(text: Any) -> Any:
    return text.model_dump(mode="json") if isinstance(text, Record) else text


NO_MODEL = "none"
"""The identity of the model of a request that names none."""
ADAPTIVE = 50.0
"""About the gradients that an adaptive method takes; its most would outweigh all else that a text takes."""


def method_passes(method: MethodSpec, text: TextSize, depth: int) -> PassCount:
    """Return the most passes of ``method``, one of several: see :meth:`Requirements.passes`."""
    own = get_method(method.method)
    passes = own.passes(method.parameters, text, depth)
    most = ADAPTIVE if own.adaptive(method.parameters) else inf
    return passes if passes.work <= most else passes * (most / passes.work)


def passes_of(methods: Sequence[MethodSpec], text: TextSize, depth: int) -> PassCount:
    """Return the sum of the :func:`method_passes` of ``methods``."""
    return sum((method_passes(method, text, depth) for method in methods), PassCount())


class TrainingCost(NamedTuple):
    """The expected cost of a job: most ``passes``, number of ``texts``, and work.

    See :class:`explainlab.models.context.Receivers`.
    """

    passes: PassCount
    texts: int
    work: float


@dataclass(frozen=True, kw_only=True)
class Requirements:
    """The needs of an answer. The store's key, limits, cost and the columns of a data set follow from them.

    Attributes:
        gradients: An estimate of the gradients that one text takes, before anything has run.
        methods: The methods that it runs, with all their parameters.
        metrics: The ids of its metrics.
        files: The files that it reads beside its data set.
        versions: The versions of anything else that decides its numbers.
        labelled: The rows of a data set need labels that are classes of the model.
        uses_labels: It uses such labels where there are some; they are needed where a request says how to read them.
        extra_columns: Roles of :data:`explainlab.data.files.OPTIONAL_COLUMNS` that a data set must have.
        output: The output that it explains where a request names none.
        count_passes: Returns the most passes for a text, from its extent and the layers of the model. Default: those
            of the methods, or else the gradients.
        ends_early: It often ends long before its most passes. Default: if a method does.
        rounds: Passes of a text that wait for each other; on a GPU this many more texts run together to fill a batch.
        estimate: Returns the cost of a training.
        explains_subset: Its predictions decide which texts of a data set it explains.
        guesses_lengths: It plans by the characters of a text, without its tokens.
        table: Returns the place for the facts of very many texts, from the classes of the model and their number.
    """

    gradients: int
    methods: Sequence[MethodSpec] = ()
    metrics: Sequence[str] = ()
    files: Sequence[str] = ()
    versions: Sequence[str] = ()
    labelled: bool = False
    uses_labels: bool = False
    extra_columns: Sequence[str] = ()
    output: Output = "probability"
    count_passes: Callable[[TextSize, int], PassCount] | None = None
    ends_early: bool | None = None
    rounds: int = 1
    estimate: Callable[[CompleteRequest, Reader], TrainingCost | None] | None = None
    explains_subset: bool = False
    guesses_lengths: bool = False
    table: Callable[[Sequence[str], int], Any] | None = None

    def needs_labels(self, target: str, columns: Mapping[str, str], classes: Mapping[str, str]) -> bool:
        """Tell if a request with this ``target`` and reading needs the labels of its data set."""
        named = "label" in columns or bool(classes)
        return self.labelled or target == GOLD or (self.uses_labels and named)

    def passes(self, text: TextSize, depth: int) -> PassCount:
        """Return the most passes for a text of this extent in a model of ``depth`` layers."""
        if self.count_passes is not None:
            return self.count_passes(text, depth)
        return passes_of(self.methods, text, depth) if self.methods else PassCount.gradients(self.gradients)

    @property
    def adaptive(self) -> bool:
        """True if the answer often ends long before its most passes."""
        if self.ends_early is not None:
            return self.ends_early
        return any(get_method(method.method).adaptive(method.parameters) for method in self.methods)

    def fingerprint(self, parameters: BaseModel, reader: Reader) -> str:
        """Return the inputs of the numbers beside the version, the ``parameters`` and the data set."""
        versions = [f"{own.method} {get_method(own.method).version}" for own in self.methods]
        versions += [line for own in self.methods for line in member_versions(own, reader)]
        versions += [f"{name} {get_metric(name).version}" for name in self.metrics]
        read = [data_digest(own.parameters.model_dump(mode="json"), reader) for own in self.methods]
        read += [source_digest(file, reader) for file in self.files]
        read.append(data_digest(parameters.model_dump(mode="json"), reader))
        return digest([[*versions, *self.versions], read])


@dataclass(frozen=True)
class Report:
    """The words and numbers of a ``result``: the ``headline`` answers the question in one sentence, in plain text.

    Only a reader of :attr:`lines` or :attr:`numbers` has them made.
    """

    result: Result
    headline: str
    make_lines: Callable[[Any], list[str]] | None = None
    make_numbers: Callable[[Any], Sequence[Number]] | None = None

    @property
    def lines(self) -> list[str]:
        """The numbers behind the headline, a line each: by default those of the result's body."""
        if self.make_lines is not None:
            return self.make_lines(self.result)
        assert isinstance(self.result, AnalysisResult)
        values = self.result.body_json().items()
        return [f"{name}: {value}" for name, value in values if isinstance(value, int | float | str)]

    @property
    def numbers(self) -> Sequence[Number]:
        """The numbers of a data set's result that stand in a table of several models and data sets: by default none."""
        return () if self.make_numbers is None else self.make_numbers(self.result)


class Analysis(ABC):
    """A question. ``source`` names paper and figure; ``version`` rises whenever the numbers change.

    ``self_contained``: see :class:`SelfContained`. ``parameters`` are an instance of the class' own
    ``Parameters``, as a subclass may annotate. ``bodies`` are the types of its results' bodies: of a text, then of a
    data set; a subclass names them as type arguments: ``TextAnalysis[LengthText, LengthData]``.
    """

    id: str
    label: str
    source: str
    definition: str
    version: int = 1
    self_contained: bool = False
    Parameters: type[Parameters] = Parameters
    bodies: tuple[type[Record] | type[Attribution], ...] = ()

    def __init_subclass__(cls) -> None:
        """Take :attr:`bodies` from the type arguments of the base class."""
        super().__init_subclass__()
        for base in cls.__dict__.get("__orig_bases__", ()):
            if named := tuple(body for body in get_args(base) if isinstance(body, type)):
                cls.bodies = named

    @abstractmethod
    def requirements(self, parameters: Any) -> Requirements:
        """Return the needs of an answer with these ``parameters``."""

    def known_digest(self, model_id: str) -> str | None:
        """Return the known identity of the model of a request: :func:`explainlab.models.loading.known_digest`."""
        return NO_MODEL if self.self_contained else loading.known_digest(model_id)

    def model_digest(self, model_id: str) -> str:
        """Return the identity of the model of a request: :func:`explainlab.models.loading.model_digest`."""
        return NO_MODEL if self.self_contained else loading.model_digest(model_id)

    @abstractmethod
    def run(self, classifier: Classifier, request: CompleteRequest, context: RunContext) -> Result:
        """Answer ``request``, whose model is the loaded ``classifier``."""

    def read(self, record: Mapping[str, Any]) -> Any:
        """Return the result whose JSON is ``record``; raises ValueError or KeyError for anything else."""
        body = self.bodies[0 if record.get("text") is not None else -1]
        return body.from_json(record) if issubclass(body, Attribution) else AnalysisResult.from_json(record, body)

    @abstractmethod
    def report(self, result: Any) -> Report:
        """Return the words and numbers of ``result``."""

    def parameters(self, request: Request) -> Any:
        """Return the ``Parameters`` of ``request``; raises :class:`RequestError` for one that is not accepted."""
        return parse(self, request.parameters)

    def complete(self, request: Request) -> CompleteRequest:
        """Return the same request with every parameter filled in; raises as :meth:`parameters`.

        Also for a request about something that is no part of this question, or about nothing where it must be.
        """
        self.require_source(not request.self_contained)
        return request.completed(self.parameters(request))

    def require_source(self, given: bool) -> None:
        """Raise :class:`RequestError` unless a model, text or data set is ``given`` to a question that needs it."""
        if given and self.self_contained:
            raise RequestError(f"{self.id} takes neither model nor text nor data set.", "Leave them out.")
        if not (given or self.self_contained):
            raise RequestError(f"{self.id} needs a model, and a text or a data set.", "Name them.")

    def key(self, request: CompleteRequest, model_digest: str, reader: Reader) -> str:
        """Return the store's key of a ``request`` whose files are read as ``reader``: see :func:`result_key`."""
        return result_key(self.identity(request, reader), model_digest)

    def identity(self, request: CompleteRequest, reader: Reader) -> str:
        """Return the digest of all that decides the result but the model; data enter by their digests, not names.

        Files are read as ``reader``.
        """
        parameters = self.parameters(request)
        data = rows_digest(request.data, reader) if request.data is not None else ""
        return self.identity_with(request, data + self.requirements(parameters).fingerprint(parameters, reader))

    def identity_with(self, request: CompleteRequest, read: str) -> str:
        """Return the :meth:`identity` of a request; ``read`` is the digest of its data set, methods and files.

        The identity of a single text leaves out the parameters ``rows`` and ``sample``: a text of an analysed data set
        is not run again. The identity of a whole data set leaves out ``rows``.
        """
        body = {name: value for name, value in request.to_json("study").items() if name not in {"model", "data"}}
        unused = {"rows"} if request.parameters.get("sample") == "all" else set()
        unused = {"rows", "sample"} if request.text is not None else unused
        for name in unused:
            body["parameters"].pop(name, None)
        return digest([body, self.version, RECORD_VERSION, read])

    def versions(self, classifier: Classifier) -> dict[str, str]:
        """Return the versions that a result's numbers depend on."""
        return versions_with(classifier, study=self.version)


class Pauses(ABC):
    """An analysis that continues a stopped run at the next request."""

    @abstractmethod
    def partial_result(self, request: CompleteRequest, context: RunContext) -> Result | None:
        """Return the part of the answer that ``context`` remembers, without computing; None where there is none."""


class TrainsModels(Analysis, Generic[B]):
    """A question that no loaded classifier answers.

    The model of its requests is the base that it trains, an architecture or a model.
    """

    def known_digest(self, model_id: str) -> str | None:
        """See :meth:`Analysis.known_digest`."""
        return f"architecture:{model_id}" if model_id in ARCHITECTURES else super().known_digest(model_id)

    def model_digest(self, model_id: str) -> str:
        """See :meth:`Analysis.model_digest`."""
        return self.known_digest(model_id) or super().model_digest(model_id)

    def versions_on(self, device: str, base: str) -> dict[str, str]:
        """Return the versions that the numbers of trainings of ``base`` on a ``device`` depend on."""
        return versions_by(self.model_digest(base), device, rounding(torch.device(device)), study=self.version)

    @abstractmethod
    def train(self, request: CompleteRequest, context: RunContext, device: str) -> Result:
        """Answer ``request`` on ``device``."""

    def run(self, classifier: Classifier, request: CompleteRequest, context: RunContext) -> Result:
        """See :meth:`Analysis.run`; ``classifier`` only says on which device."""
        return self.train(request, context, classifier.device.type)


class SelfContained(TrainsModels[B]):
    """A question about no model, text or data set: its requests name none, and parameters and seed decide all."""

    self_contained = True
