"""The subject of a method: a text, a classifier and the target. It counts every model pass of the method.

The target is fixed when the original text is first seen, so no pass is made twice. A property that needs a pass is not
a ``cached_property``: Python 3.11 locks such a property in all threads during its computation, and a pass waits for
other threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from explainlab.attribution import passes
from explainlab.attribution.baselines import choose, data_source
from explainlab.attribution.passes import Points
from explainlab.attribution.records import Target
from explainlab.errors import RequestError
from explainlab.models.batching import Batcher
from explainlab.models.classifier import Classifier, Prediction
from explainlab.models.context import RunContext
from explainlab.models.inputs import Inputs
from explainlab.models.reading_warnings import reading_warnings
from explainlab.request import Output, Rationale, Unit
from explainlab.text.encoding import Encoding
from explainlab.text.units import NO_RATIONALE, Units, group

T = TypeVar("T")


class Original:
    """A text and its classifier, shared by all its subjects.

    Once known: ``logits`` float64 [classes] and, for a language model, the ``label_share``.
    """

    def __init__(self, classifier: Classifier, encoding: Encoding) -> None:
        self.classifier = classifier
        self.encoding = encoding
        self.logits: np.ndarray | None = None
        self.label_share: float | None = None

    @cached_property
    def inputs(self) -> Inputs:
        """The text as a batch of one."""
        return self.classifier.inputs([self.encoding])

    @cached_property
    def embeddings(self) -> Tensor:
        """Word embeddings [N, d] of the text."""
        return self.classifier.embed(self.inputs.ids[0])


class Subject:
    """An encoding, a classifier, and the explained scalar: ``output`` of the target class.

    ``forward`` and ``backward`` count passes per single input, also passes that another subject of the same text has
    made: the cost of this subject alone. ``warnings`` are for every reader, ``notes`` for interested ones.
    ``baseline_data`` names the data set of the baseline ``max_entropy``; ``rationale`` is the reference of metrics,
    ``paraphrases`` the text in other words (None: not known). Subjects whose passes run together share a ``batcher``,
    and those of the same text its ``text`` and ``units``.
    """

    def __init__(
        self,
        classifier: Classifier,
        encoding: Encoding,
        *,
        target: str = "predicted",
        output: Output = "probability",
        unit: Unit = "token",
        seed: int = 0,
        baseline_data: str = "",
        context: RunContext | None = None,
        batcher: Batcher | None = None,
        text: Original | None = None,
        rationale: Rationale = NO_RATIONALE,
        paraphrases: Sequence[str] | None = None,
        units: Units | None = None,
    ) -> None:
        self.classifier = classifier
        self.encoding = encoding
        self.output = output
        self.seed = seed
        self.unit = unit
        self.rationale = rationale
        self.paraphrases = paraphrases
        self.units: Units = group(encoding, unit) if units is None else units
        self.batcher = batcher or Batcher(classifier, context or RunContext())
        self.context = self.batcher.context
        self.forward = 0
        self.backward = 0
        self.warnings: list[str] = []
        self.notes: list[str] = []
        self._baseline_data = baseline_data
        self._requested = None if target == "predicted" else class_index(target, classifier.labels)
        self.text = text or Original(classifier, encoding)
        self._original: np.ndarray | None = None
        self._prediction: Prediction | None = None
        self._max_entropy: Tensor | None = None

    def again(self, *, output: Output, seed: int, baseline_data: str) -> Subject:
        """Return another subject of the same text and target, which shares the text's embeddings and logits."""
        return Subject(
            self.classifier,
            self.encoding,
            target=self.target.label,
            output=output,
            unit=self.unit,
            seed=seed,
            baseline_data=baseline_data,
            batcher=self.batcher,
            text=self.text,
            units=self.units,
        )

    # The target ------------------------------------------------------------------------------------------------------

    @property
    def inputs(self) -> Inputs:
        """The text as a batch of one."""
        return self.text.inputs

    @property
    def embeddings(self) -> Tensor:
        """Word embeddings [N, d] of the text."""
        return self.text.embeddings

    @property
    def original(self) -> np.ndarray:
        """float64 [classes]: the logits of the text itself (one forward pass, unless seen)."""
        if self._original is None:
            passes.read_originals([self])
        assert self._original is not None
        return self._original

    @property
    def prediction(self) -> Prediction:
        """The classifier's prediction for the text itself."""
        if self._prediction is None:
            self._prediction = self.classifier.prediction(self.original)
        return self._prediction

    @property
    def target(self) -> Target:
        """The target class; ``predicted``: the class predicted for the original text."""
        index = self.prediction.index if self._requested is None else self._requested
        return Target(index, self.classifier.labels[index])

    @property
    def label_share(self) -> float | None:
        """The share of the next token that the label words hold; None until read, and for other models."""
        return self.text.label_share

    @property
    def logit(self) -> float | None:
        """The logit of the target for the text itself, if the logit is explained."""
        return float(self.original[self.target.index]) if self.output == "logit" else None

    @property
    def reading_warnings(self) -> list[str]:
        """Warnings about how the model read the text: :func:`explainlab.models.reading_warnings.reading_warnings`."""
        return reading_warnings(self.classifier, self.encoding, self.label_share)

    @property
    def explains_prediction(self) -> bool:
        """True if the target is the predicted class, known only after a pass over the text."""
        return self._requested is None

    def baseline(self, kind: str) -> Tensor:
        """Return word embeddings [N, d] with ``mask``, ``pad``, ``unk`` or ``zero`` in place of every content token.

        ``max_entropy``: with the tokens of :func:`explainlab.attribution.baselines.choose` in their place, cut or
        padded with ``mask``. The passes of the choice count in ``forward``; none if the context has cached it.
        """
        if kind == "max_entropy":
            if self._max_entropy is None:
                self._max_entropy = self._chosen_baseline()
            return self._max_entropy
        if kind == "zero":
            filler = torch.zeros_like(self.embeddings[0])
        else:
            filler = self.classifier.embed(torch.tensor(self.classifier.filler_id(kind), device=self.classifier.device))
        content = torch.as_tensor(self.encoding.content, device=self.classifier.device)
        return torch.where(content[:, None], filler, self.embeddings)

    def _chosen_baseline(self) -> Tensor:
        source = data_source(self._baseline_data, self.classifier)
        chosen = choose(self.batcher, source)
        self.forward += chosen.passes
        self.notes.append(chosen.note(source, len(self.classifier.labels)))
        content = self.encoding.content
        ids = self.encoding.ids.copy()
        ids[content] = chosen.fitted(int(content.sum()), self.classifier.filler_id("mask"))
        return self.classifier.embed(torch.as_tensor(ids, device=self.classifier.device))

    # Passes ------------------------------------------------------------------------------------------------------

    def values(self, points: Tensor) -> np.ndarray:
        """Return float64 [K]: the explained scalar at ``points`` [K, N, d]; see :func:`.passes.values`."""
        return passes.values([self], [points])[0]

    def masked(self, keep: np.ndarray, baseline: str) -> np.ndarray:
        """Return float64 [K]: the explained scalar of K versions; see :func:`.passes.masked`."""
        return passes.masked([self], [keep], baseline)[0]

    def versions(self, keep: np.ndarray, baseline: str) -> Points:
        """Return K versions of the text: the features ``keep`` bool [K, n_content] stay, ``baseline`` replaces the
        rest.
        """
        filler, text = self.baseline(baseline), self.embeddings
        tokens = torch.as_tensor(self.units.token_mask(keep), device=self.classifier.device)
        return lambda part: torch.where(tokens[part, :, None], text, filler)

    def readings(self, points: Points, count: int, positions: np.ndarray) -> np.ndarray:
        """Return float64 [count, P]: a causal decoder's explained scalar at ``positions`` [P] of each point.

        The first point is the text itself, and the last position its last token: together they fix the target.
        """
        where = torch.as_tensor(positions, device=self.classifier.device)

        def run(part: slice) -> np.ndarray:
            batch = points(part)
            with torch.no_grad():
                logits = self.classifier.position_logits(self.inputs.repeat(len(batch)), batch)[:, where]
            self.forward += len(batch)
            finite = self.classifier.finite(logits)
            if part.start == 0:
                self.see(finite[0, -1])
            return self.scalar(finite)

        return np.concatenate(list(self._batches(count, run, gradients=False, phase="intermediate predictions")))

    def gradients(self, points: Points, count: int) -> Iterator[tuple[slice, Tensor, Tensor]]:
        """Yield, for batches of ``count`` points, their slice, the explained scalar [k], and its gradient [k, N, d]."""
        self.target  # noqa: B018  fixed before the points are run

        def run(part: slice) -> tuple[slice, Tensor, Tensor]:
            batch = points(part).detach().requires_grad_()
            value = self.explained(self.classifier.logits(self.inputs.repeat(len(batch)), batch))
            (gradient,) = torch.autograd.grad(value.sum(), batch)
            self.forward += len(batch)
            self.backward += len(batch)
            return part, value.detach(), gradient

        yield from self._batches(count, run, gradients=True, phase="gradients")

    def scalar(self, logits: np.ndarray) -> np.ndarray:
        """Return float64 [...]: ``output`` of the target, from float64 [..., classes] logits."""
        return self.explained(torch.from_numpy(logits)).numpy()

    def explained(self, logits: Tensor) -> Tensor:
        """Return [...]: ``output`` of the target, from [..., classes] logits, as a library or autograd needs it."""
        return (logits if self.output == "logit" else logits.softmax(dim=-1))[..., self.target.index]

    @property
    def rounding_scale(self) -> float:
        """Σ_c |∂F/∂z_c · z_c| over the logits z of the text; the rounding of F is proportional to it."""
        logits = torch.from_numpy(self.original)
        gradient = torch.func.grad(self.explained)(logits)
        return float((gradient * logits).abs().sum())

    def see(self, logits: np.ndarray, label_share: float | None = None) -> None:
        """Take float64 [classes] as the logits of the text itself, with its label share; the first fix the target."""
        if label_share is not None:
            self.text.label_share = label_share
        if self._original is None:
            self._original = logits
        if self.text.logits is None:
            self.text.logits = logits
            self.context.progress.predicted(lambda: self.prediction)

    def recalls(self) -> bool:
        """Tell whether the logits of the text are known; if only from another subject, count their pass."""
        if self._original is None and self.text.logits is not None:
            self._original = self.text.logits
            self.forward += 1
        return self._original is not None

    def _batches(self, count: int, run: Callable[[slice], T], *, gradients: bool, phase: str) -> Iterator[T]:
        return self.batcher.over(np.full(count, len(self.encoding)), run, gradients=gradients, phase=phase)


def class_index(target: str, labels: tuple[str, ...]) -> int:
    """Return the index of the class ``target``, a label (case-insensitive if unambiguous) or an index.

    Raises :class:`RequestError` with the labels there are.
    """
    if target in labels:
        return labels.index(target)
    folded = [i for i, label in enumerate(labels) if label.casefold() == target.strip().casefold()]
    if len(folded) == 1:
        return folded[0]
    if target.strip().isdecimal() and int(target) < len(labels):
        return int(target)
    raise RequestError(f"'{target}' is not a class of this model.", f"Its classes: {', '.join(labels)}.")
