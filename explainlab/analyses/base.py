"""What an analysis declares: a question with its parameters, its typed result, and how it is computed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, NamedTuple, Self, TypeVar

import torch
from pydantic import BaseModel, ConfigDict

from explainlab.attribution.baselines import data_digest
from explainlab.attribution.explain import versions_by, versions_with
from explainlab.attribution.method import TextSize
from explainlab.attribution.registry import MethodSpec, get_method
from explainlab.data import rows_digest
from explainlab.declared import Parameters, parse
from explainlab.errors import RequestError, UnsupportedError
from explainlab.models import loading
from explainlab.models.classifier import Classifier
from explainlab.models.context import PassCount, RunContext
from explainlab.models.modes import rounding
from explainlab.reader import Reader
from explainlab.request import RECORD_VERSION, CompleteRequest, Kind, Output, Request, digest, result_key
from explainlab.result import PART, Cost, Result, StoredPart
from explainlab.spill import Packable, Packed
from explainlab.training import ARCHITECTURES

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from explainlab.analyses.numbers import Number


class Record(BaseModel):
    """A part of a result: typed fields that are its JSON, in the order of their declaration.

    ``many`` names the field that has a record a text of a data set, if there is one.
    """

    model_config = ConfigDict(frozen=True)
    many: ClassVar[str] = "texts"


B = TypeVar("B", bound=Record)


class Skipped(NamedTuple):
    """A row of a data set that was left out, by its number, and why."""

    row: int
    reason: str


class Sampled(Record):
    """The rows of a data set that were to be studied: how they were ``drawn``, and from which ``seed``.

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

    body: B
    skipped: tuple[Skipped, ...] = ()
    sample: Sampled | None = None
    parts: tuple[StoredPart, ...] = ()

    @property
    def sample_words(self) -> str:
        """Which rows of the data set were drawn, in words; empty for a single text."""
        return "" if self.sample is None else str(self.sample)

    def plot(self, name: str = "") -> go.Figure:
        """Its Plotly figure called ``name``, or else the first.

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

    def to_json(self) -> dict[str, Any]:
        """See :meth:`explainlab.result.Result.to_json`."""
        return self._record(self.body_json())

    def in_parts(self) -> dict[str, Any]:
        """See :meth:`explainlab.result.Result.in_parts`."""
        return self._record(self.body_in_parts())

    @property
    def named_parts(self) -> dict[str, Any]:
        """``parts`` as JSON names them; nothing where there are none."""
        return {"parts": [part._asdict() for part in self.parts]} if self.parts else {}

    def _record(self, body: Mapping[str, Any]) -> dict[str, Any]:
        request = self.request.to_json("study")
        target = request.pop("target")
        skipped = {} if self.request.data is None else {"skipped": [list(row) for row in self.skipped]}
        sample = {} if self.sample is None else {"sample": self.sample.model_dump()}
        cost = {"cost": asdict(self.cost), "warnings": list(self.warnings), "versions": self.versions}
        return {**request, "target_asked": target, **body, **self.named_parts, **skipped, **sample, **cost}

    def body_json(self) -> dict[str, Any]:
        """The JSON of the body alone."""
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
        """As :meth:`body_json`, with more than :data:`PART` texts as :meth:`in_parts` has them."""
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
"""What identifies the model of a request that names none."""
ADAPTIVE = 50.0
"""About the gradients that an adaptive method takes; its most would outweigh all else that a text takes."""


def method_passes(method: MethodSpec, text: TextSize, depth: int) -> PassCount:
    """The passes of ``method`` beside others: see :meth:`Analysis.passes`."""
    own = get_method(method.method)
    passes = own.passes(method.parameters, text, depth)
    most = ADAPTIVE if own.adaptive(method.parameters) else inf
    return passes if passes.work <= most else passes * (most / passes.work)


class Analysis(ABC):
    """A question. ``source`` names paper and figure; ``version`` rises whenever the numbers change.

    ``labelled``: the rows of a data set need labels that are classes of the model. ``kind`` says what its requests and
    results are called in JSON. ``self_contained``: its requests name no model, text or data set. ``pauses``: stopped,
    it goes on from there when it is asked again, and :meth:`so_far` knows what there is. ``selects``: which texts of a
    data set it explains, and how many, its predictions decide. ``only_passes``: what it takes of memory beside a model
    is what passes of methods and of texts take. ``parameters`` are an instance of the class' own ``Parameters``, as a
    subclass may annotate, wherever they are not a mapping.
    """

    id: str
    label: str
    source: str
    definition: str
    version: int = 1
    labelled: bool = False
    self_contained: bool = False
    pauses: bool = False
    selects: bool = False
    only_passes: bool = True
    kind: Kind = "study"
    Parameters: type[Parameters] = Parameters

    @classmethod
    def instances(cls) -> Sequence[Self]:
        """What the registry lists: one analysis, unless the class stands for several."""
        return [cls()]

    def default_output(self, parameters: Mapping[str, Any]) -> Output:
        """The output that a request with these ``parameters`` explains by default."""
        return "probability"

    def fingerprint(self, parameters: Any, reader: Reader) -> str:
        """What the numbers depend on beside the version and the data set: other data, versions of methods."""
        return data_digest(parameters.model_dump(mode="json"), reader)

    def marks(self, parameters: Any) -> Sequence[str]:
        """Return the roles of :data:`explainlab.data.files.OPTIONAL_COLUMNS` that every data set must have."""
        return ()

    def method_requests(self, parameters: Any) -> Sequence[MethodSpec]:
        """The methods that the parameters name, with their own parameters; none unless overridden."""
        return ()

    def parameters_on(self, parameters: Mapping[str, Any], place: int, several: int) -> dict[str, Any]:
        """Those of ``parameters`` that are for one of ``several`` data sets, which has this ``place`` from 0 on.

        The same for all, unless overridden.
        """
        return dict(parameters)

    @abstractmethod
    def evaluations(self, parameters: Any) -> int:
        """About how many gradients one text costs, known before anything has run."""

    def passes(self, parameters: Any, text: TextSize, depth: int) -> PassCount:
        """Most passes for a text of this extent in a model of ``depth`` layers.

        Those of the methods that the parameters name, or :meth:`evaluations` where there are none.
        """
        methods = self.method_requests(parameters)
        each = [method_passes(method, text, depth) for method in methods]
        return sum(each, PassCount()) if each else PassCount.gradients(self.evaluations(parameters))

    def work(self, parameters: Any, n: int, depth: int) -> float:
        """The work of the :meth:`passes` for a text of ``n`` tokens, each of them a feature."""
        return self.passes(parameters, TextSize(n, n), depth).work

    def adaptive(self, parameters: Any) -> bool:
        """Whether it often ends long before its most passes, as its methods do."""
        methods = self.method_requests(parameters)
        return any(get_method(method.method).adaptive(method.parameters) for method in methods)

    def known_digest(self, model_id: str) -> str | None:
        """What identifies the model of a request, if it is known: :func:`explainlab.models.loading.known_digest`."""
        return NO_MODEL if self.self_contained else loading.known_digest(model_id)

    def model_digest(self, model_id: str) -> str:
        """What identifies the model of a request: :func:`explainlab.models.loading.model_digest`."""
        return NO_MODEL if self.self_contained else loading.model_digest(model_id)

    @abstractmethod
    def answer(self, classifier: Classifier, request: CompleteRequest, context: RunContext) -> Result:
        """The answer to ``request``, whose model is the loaded ``classifier``."""

    def targets_together(self, request: Request) -> bool:
        """Whether requests that differ from ``request`` in their target alone are answered in one batch."""
        return False

    def answer_targets(
        self, classifier: Classifier, requests: Sequence[CompleteRequest], context: RunContext
    ) -> list[Result]:
        """As :meth:`answer`, of requests that differ in their target alone."""
        return [self.answer(classifier, request, context) for request in requests]

    def so_far(self, request: CompleteRequest, context: RunContext) -> Result | None:
        """The part of the answer that ``context`` remembers, made without computing; None unless overridden."""
        return None

    @abstractmethod
    def read(self, record: Mapping[str, Any]) -> Result:
        """The result whose JSON is ``record``; raises :class:`ValueError` or :class:`KeyError` for anything else."""

    @abstractmethod
    def headline(self, result: Any) -> str:
        """The answer of ``result`` in one sentence, in plain text."""

    def lines(self, result: Any) -> list[str]:
        """The numbers behind the headline, a line each: those of the result's body unless overridden."""
        values = result.body_json().items()
        return [f"{name}: {value}" for name, value in values if isinstance(value, int | float | str)]

    def numbers(self, result: Any) -> Sequence[Number]:
        """What of a data set's ``result`` stands in a table of several models and data sets: none unless overridden."""
        return ()

    def parameters(self, request: Request) -> Any:
        """The ``Parameters`` of ``request``; raises :class:`RequestError` for one that is not accepted."""
        return parse(self, request.parameters)

    def complete(self, request: Request) -> CompleteRequest:
        """The same request with every parameter filled in; raises as :meth:`parameters`.

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

        Files are read as ``reader``. Which rows, and how many, does not enter that of a single text: a text that was
        analysed in a data set is not run again. Nor does the number of rows where all are asked for.
        """
        body = {name: value for name, value in request.to_json("study").items() if name not in {"model", "data"}}
        unused = {"rows"} if request.parameters.get("sample") == "all" else set()
        unused = {"rows", "sample"} if request.text is not None else unused
        for name in unused:
            body["parameters"].pop(name, None)
        data = rows_digest(request.data, reader) if request.data is not None else ""
        read = data + self.fingerprint(self.parameters(request), reader)
        return digest([body, self.version, RECORD_VERSION, read])

    def versions(self, classifier: Classifier) -> dict[str, str]:
        """The versions that a result's numbers depend on."""
        return versions_with(classifier, study=self.version)

    def _read(self, record: Mapping[str, Any], body: type[B]) -> AnalysisResult[B]:
        """The result of ``record`` with a ``body`` of this type."""
        request = Request.of_result(record)
        own = {"study", "target_asked", "cost", "warnings", "versions", "skipped", "sample", "parts"}
        names = {*Request.model_fields, *own} - {"target"}
        fields = {name: value for name, value in record.items() if name not in names}
        return AnalysisResult(
            request=request,
            body=body.model_validate(fields),
            skipped=tuple(Skipped(*row) for row in record.get("skipped", ())),
            sample=Sampled.model_validate(record["sample"]) if "sample" in record else None,
            parts=tuple(StoredPart(**part) for part in record.get("parts", ())),
            cost=Cost(**record["cost"]),
            warnings=tuple(record["warnings"]),
            versions=record["versions"],
        )


class Foreseen(NamedTuple):
    """What a job is expected to take: its ``passes`` at most, of so many ``texts``, and its ``work``.

    See :meth:`explainlab.models.context.RunContext.expect`.
    """

    passes: PassCount
    texts: int
    work: float


class ModelFree(Analysis):
    """A question that no loaded classifier answers.

    The model of its requests is the base that it trains, an architecture or a model; or there is none, where it is
    ``self_contained``.
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

    def foreseen(self, request: CompleteRequest, reader: Reader) -> Foreseen | None:
        """What answering ``request`` will take; None, unless overridden, where nothing tells."""
        return None

    @abstractmethod
    def answer_alone(self, request: CompleteRequest, context: RunContext, device: str) -> Result:
        """The answer to ``request``, computed on ``device``."""

    def answer(self, classifier: Classifier, request: CompleteRequest, context: RunContext) -> Result:
        """See :meth:`Analysis.answer`; ``classifier`` only says on which device."""
        return self.answer_alone(request, context, classifier.device.type)
