"""The subject: one text before one classifier. Every model pass that a method makes goes through it.

It counts what is spent and fixes the target from the original text the first time that text is seen, so that no pass is
made twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import cache, cached_property
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from explainlab.attribution.baselines import choose, data_source
from explainlab.attribution.records import Target
from explainlab.errors import RequestError
from explainlab.models.batching import Batcher
from explainlab.models.classifier import Classifier, Prediction
from explainlab.models.context import RunContext
from explainlab.models.inputs import Inputs
from explainlab.models.prefix import FEW, LEAST
from explainlab.request import Output, Unit
from explainlab.text.encoding import Encoding
from explainlab.text.units import Units, group

T = TypeVar("T")
Points = Callable[[slice], Tensor]
"""Word embeddings [k, N, d] of the points of a slice, made when their batch is due."""


class Subject:
    """One encoding, a classifier, and the scalar explained: ``output`` of the target class.

    ``forward`` and ``backward`` count passes per single input; ``warnings`` collects what a reader must know,
    ``notes`` what a reader may want to know. ``baseline_data`` names the data set of the baseline ``max_entropy``.
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
    ) -> None:
        self.classifier = classifier
        self.encoding = encoding
        self.output = output
        self.seed = seed
        self.unit = unit
        self.units: Units = group(encoding, unit)
        self.context = context or RunContext()
        self.forward = 0
        self.backward = 0
        self.warnings: list[str] = []
        self.notes: list[str] = []
        self._baseline_data = baseline_data
        self._asked = None if target == "predicted" else class_index(target, classifier.labels)
        self._original: np.ndarray | None = None
        self.batcher = Batcher(classifier, self.context)

    # What is explained -------------------------------------------------------------------------------------------

    @cached_property
    def inputs(self) -> Inputs:
        """The text as a batch of one."""
        return self.classifier.inputs([self.encoding])

    @cached_property
    def embeddings(self) -> Tensor:
        """Word embeddings [N, d] of the text."""
        return self.classifier.embed(self.inputs.ids[0])

    @property
    def original(self) -> np.ndarray:
        """float64 [classes]: the logits of the text itself (one forward pass, unless already seen)."""
        if self._original is None:
            self._original = self._logits(lambda _: self.embeddings[None], 1, "prediction")[0]
        return self._original

    @cached_property
    def prediction(self) -> Prediction:
        """What the classifier says of the text itself."""
        return self.classifier.prediction(self.original)

    @property
    def target(self) -> Target:
        """The class explained; ``predicted``: the one predicted for the original text, wherever a path leads."""
        index = self.prediction.index if self._asked is None else self._asked
        return Target(index, self.classifier.labels[index])

    def baseline(self, kind: str) -> Tensor:
        """Word embeddings [N, d] with ``mask``, ``pad``, ``unk`` or ``zero`` in place of every content token.

        ``max_entropy``: with the tokens of :func:`explainlab.attribution.baselines.choose` in place of them, cut or
        filled up with ``mask``. The passes that the choice takes are counted in ``forward``; where the context
        remembers it there are none.
        """
        if kind == "max_entropy":
            return self._max_entropy
        if kind == "zero":
            filler = torch.zeros_like(self.embeddings[0])
        else:
            filler = self.classifier.embed(torch.tensor(self.classifier.filler_id(kind), device=self.classifier.device))
        content = torch.as_tensor(self.encoding.content, device=self.classifier.device)
        return torch.where(content[:, None], filler, self.embeddings)

    @cached_property
    def _max_entropy(self) -> Tensor:
        source = data_source(self._baseline_data, self.classifier)
        chosen = choose(self.classifier, source, self.context)
        self.forward += chosen.passes
        self.notes.append(chosen.note(source, len(self.classifier.labels)))
        content = self.encoding.content
        ids = self.encoding.ids.copy()
        ids[content] = chosen.fitted(int(content.sum()), self.classifier.filler_id("mask"))
        return self.classifier.embed(torch.as_tensor(ids, device=self.classifier.device))

    # Passes ------------------------------------------------------------------------------------------------------

    def values(self, points: Tensor) -> np.ndarray:
        """float64 [K]: the explained scalar at ``points`` [K, N, d]; the text joins the batch if not yet seen.

        Points equal to the text are not run: they have its very score, free of rounding.
        """
        other = ~(points == self.embeddings).flatten(1).all(dim=1)
        pending = points[other]
        if self._original is None:
            pending = torch.cat([pending, self.embeddings[None]])
        logits = self._logits(lambda part: pending[part], len(pending))
        if self._original is None:
            self._original, logits = logits[-1], logits[:-1]
        found = np.repeat(self._original[None], len(points), axis=0)
        found[other.cpu().numpy()] = logits
        return self.scalar(found)

    def masked(self, keep: np.ndarray, baseline: str) -> np.ndarray:
        """float64 [K]: the explained scalar of K versions of the text, ``keep`` bool [K, n_content] telling what stays.

        Equal versions are run once, and the untouched text only if it has not been seen.
        """
        whole = np.ones((1, keep.shape[1]), dtype=bool)
        distinct, back = np.unique(np.concatenate([keep, whole]), axis=0, return_inverse=True)
        pending = len(distinct) - (self._original is not None)  # the untouched text sorts last
        logits = self._logits(self.versions(distinct, baseline), pending, "masked texts")
        if self._original is None:
            self._original = logits[-1]
        else:
            logits = np.concatenate([logits, self._original[None]])
        return self.scalar(logits)[back[: len(keep)]]

    def versions(self, keep: np.ndarray, baseline: str) -> Points:
        """K versions of the text: ``keep`` bool [K, n_content] tells what stays, ``baseline`` stands for the rest."""
        filler, text = self.baseline(baseline), self.embeddings
        tokens = torch.as_tensor(self.units.token_mask(keep), device=self.classifier.device)
        return lambda part: torch.where(tokens[part, :, None], text, filler)

    def readings(self, points: Points, count: int, positions: np.ndarray) -> np.ndarray:
        """float64 [count, P]: the explained scalar as a causal decoder sees it at ``positions`` [P] of each point.

        The first point is the text itself, and the last position that of its last token: together they fix the target.
        """
        where = torch.as_tensor(positions, device=self.classifier.device)

        def run(part: slice) -> np.ndarray:
            batch = points(part)
            with torch.no_grad():
                logits = self.classifier.position_logits(self.inputs.repeat(len(batch)), batch)[:, where]
            self.forward += len(batch)
            found = self.classifier.finite(logits)
            if part.start == 0:
                self.see(found[0, -1])
            return self.scalar(found)

        return np.concatenate(list(self._batches(count, run, gradients=False, phase="intermediate predictions")))

    def gradients(self, points: Points, count: int) -> Iterator[tuple[slice, Tensor, Tensor]]:
        """For batches of ``count`` points: their slice, the explained scalar [k], and its gradient [k, N, d] there."""
        self.target  # noqa: B018  fixed before the points are run

        def run(part: slice) -> tuple[slice, Tensor, Tensor]:
            batch = points(part).detach().requires_grad_()
            value = self.explained(self._pass(batch))
            (gradient,) = torch.autograd.grad(value.sum(), batch)
            self.forward += len(batch)
            self.backward += len(batch)
            return part, value.detach(), gradient

        yield from self._batches(count, run, gradients=True, phase="gradients")

    def input_gradient(self, rules: AbstractContextManager[None] | None = None) -> Tensor:
        """[N, d]: the gradient of the explained scalar at the text itself; the same pass fixes the target.

        The model runs inside ``rules``, which may change how gradients flow back through it.
        """

        def run(_: slice) -> Tensor:
            batch = self.embeddings[None].detach().requires_grad_()
            with rules or nullcontext():
                logits = self._pass(batch)
            self._original = self.classifier.finite(logits.detach())[0]
            (gradient,) = torch.autograd.grad(self.explained(logits).sum(), batch)
            self.forward += 1
            self.backward += 1
            return gradient[0]

        return next(self._batches(1, run, gradients=True, phase="gradient"))

    def differentiable(self, points: Tensor) -> Tensor:
        """The explained scalar [K] at ``points`` [K, N, d] in one pass, for a library that differentiates it itself."""
        value = self.explained(self._pass(points))
        self.forward += len(points)
        return value

    def once(self, run: Callable[[], T]) -> T:
        """``run()`` as one batch of one: it can be cancelled before, and memory running out is told clearly."""
        return next(self._batches(1, lambda _: run(), gradients=True, phase="gradient"))

    def attention_maps(self) -> np.ndarray:
        """float64 [layers, N, N]: attention probabilities on the text itself, the mean of each layer's heads.

        The same pass fixes the target.
        """

        def run(_: slice) -> np.ndarray:
            maps, logits = self.classifier.attention_maps(self.inputs)
            self.forward += 1
            self._original = self.classifier.finite(logits)[0]
            return torch.stack([layer[0].float().mean(dim=0) for layer in maps]).cpu().double().numpy()

        return next(self._batches(1, run, gradients=False, phase="attention"))

    def attention_gradients(self) -> list[tuple[Tensor, Tensor]]:
        """Per layer, bottom first: attention probabilities [heads, N, N] and the explained scalar's gradient there.

        One pass each way on the text itself, which fixes the target.
        """

        def run(_: slice) -> list[tuple[Tensor, Tensor]]:
            batch = self.embeddings[None].detach().requires_grad_()
            maps, logits = self.classifier.attention_maps(self.inputs, batch)
            self._original = self.classifier.finite(logits.detach())[0]
            gradients = torch.autograd.grad(self.explained(logits).sum(), maps)
            self.forward += 1
            self.backward += 1
            return [(layer[0].detach(), gradient[0]) for layer, gradient in zip(maps, gradients, strict=True)]

        return next(self._batches(1, run, gradients=True, phase="attention"))

    def scalar(self, logits: np.ndarray) -> np.ndarray:
        """float64 [...]: ``output`` of the target, from float64 [..., classes] logits."""
        return self.explained(torch.from_numpy(logits)).numpy()

    def explained(self, logits: Tensor) -> Tensor:
        """[...]: ``output`` of the target, from [..., classes] logits, as a library or autograd needs it."""
        return (logits if self.output == "logit" else logits.softmax(dim=-1))[..., self.target.index]

    @property
    def terms(self) -> float:
        """Σ_c |∂F/∂z_c · z_c| over the logits z of the text: what the rounding of F is in proportion to."""
        logits = torch.from_numpy(self.original)
        gradient = torch.func.grad(self.explained)(logits)
        return float((gradient * logits).abs().sum())

    def see(self, logits: np.ndarray) -> None:
        """Take float64 [classes] for the logits of the text itself; the first to be seen fix the target."""
        if self._original is None:
            self._original = logits

    # Batching ----------------------------------------------------------------------------------------------------

    def _pass(self, batch: Tensor) -> Tensor:
        return self.classifier.logits(self.inputs.repeat(len(batch)), batch)

    def _logits(self, points: Points, count: int, phase: str = "forward passes") -> np.ndarray:
        before = int(self.encoding.content.argmax())  # a prompt's tokens, which no point changes
        pays = self.encoding.prompt and before >= LEAST and count >= FEW
        prefix = cache(lambda: self.classifier.prefix(self.inputs.ids[0, :before]) if pays else None)

        def run(part: slice) -> Tensor:
            batch = points(part)
            with torch.no_grad():
                logits = self.classifier.logits(self.inputs.repeat(len(batch)), batch, prefix())
            self.forward += len(batch)
            return logits

        rows = list(self._batches(count, run, gradients=False, phase=phase))
        return self.classifier.finite(torch.cat(rows)) if rows else np.empty((0, len(self.classifier.labels)))

    def _batches(self, count: int, run: Callable[[slice], T], *, gradients: bool, phase: str) -> Iterator[T]:
        return self.batcher.over(np.full(count, len(self.encoding)), run, gradients=gradients, phase=phase)


def class_index(target: str, labels: tuple[str, ...]) -> int:
    """The class that ``target`` names, by label (case-insensitive if that is unambiguous) or by index.

    Raises :class:`RequestError` with the labels there are.
    """
    if target in labels:
        return labels.index(target)
    folded = [i for i, label in enumerate(labels) if label.casefold() == target.strip().casefold()]
    if len(folded) == 1:
        return folded[0]
    if target.strip().isdecimal() and int(target) < len(labels):
        return int(target)
    raise RequestError(f"'{target}' is no class of this model.", f"Its classes: {', '.join(labels)}.")
