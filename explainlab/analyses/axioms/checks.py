"""The six axioms on one text: functions whose right maps are known, compared with the maps by the methods.

All methods that support a function explain it together. Only features that are not special count.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from explainlab.analyses.attributions import attributions_of, text_seed
from explainlab.analyses.axioms.result import Axiom, Checked
from explainlab.analyses.parameters import Outputs
from explainlab.analyses.reexplain import aside
from explainlab.attribution import passes
from explainlab.attribution.records import Attribution
from explainlab.attribution.registry import MethodSpec, get_method
from explainlab.attribution.subject import Subject
from explainlab.models.classifier import Classifier
from explainlab.models.inputs import Inputs, Prefix
from explainlab.models.model import Model
from explainlab.models.networks.randomised import permuted
from explainlab.models.networks.wrapped import Wrapped, around
from explainlab.request import Output, digest


class Function(Wrapped):
    """A function of the word embeddings of one text, made of the model inside: outputs and gradients, no layers."""

    def logits(self, inputs: Inputs, embeddings: Tensor | None = None, prefix: Prefix | None = None) -> Tensor:
        rows = self.word_embeddings.forward(inputs.ids) if embeddings is None else embeddings
        return self.of(inputs, rows, prefix)

    @abstractmethod
    def of(self, inputs: Inputs, rows: Tensor, prefix: Prefix | None) -> Tensor:
        """Return [B, classes] for ``rows`` [B, N, d]."""


class Disregards(Function):
    """The model, reading ``filler`` [P, d] at the ``positions`` whatever stands there."""

    def __init__(self, inner: Model, positions: Sequence[int], filler: Tensor) -> None:
        super().__init__(inner)
        self._positions, self._filler = list(positions), filler

    def of(self, inputs: Inputs, rows: Tensor, prefix: Prefix | None) -> Tensor:
        rows = rows.clone()
        rows[:, self._positions] = self._filler.to(rows)
        return self.inner.logits(inputs, rows, prefix)


class Symmetric(Function):
    """The mean of the model and of the model that reads two positions exchanged."""

    def __init__(self, inner: Model, first: int, second: int) -> None:
        super().__init__(inner)
        self._there, self._back = [first, second], [second, first]

    def of(self, inputs: Inputs, rows: Tensor, prefix: Prefix | None) -> Tensor:
        exchanged = rows.clone()
        exchanged[:, self._there] = rows[:, self._back]
        return (self.inner.logits(inputs, rows, prefix) + self.inner.logits(inputs, exchanged, prefix)) / 2


class Combined(Function):
    """The model with another logit for the class ``first``: twice its own less the logit of ``second``."""

    def __init__(self, inner: Model, first: int, second: int) -> None:
        super().__init__(inner)
        self._first, self._second = first, second

    def of(self, inputs: Inputs, rows: Tensor, prefix: Prefix | None) -> Tensor:
        logits = self.inner.logits(inputs, rows, prefix)
        combined = 2 * logits[:, self._first] - logits[:, self._second]
        return torch.cat([logits[:, : self._first], combined[:, None], logits[:, self._first + 1 :]], dim=1)


SAME = 1e-5
"""Two models compute the same if their logits differ by less than this share of the largest."""
NOTHING = 1e-6
"""A score, or a change of the output, below this share of the largest is 0 but for rounding."""
_INSIDE = "not promised: the method looks inside the model, of which a function around it has nothing to show"
_SHORT = "not known: the text has too few words of a single token"

Maps = dict[str, Attribution]
"""Attributions by the names of the methods that support the function."""


@dataclass(frozen=True, eq=False)
class Question:
    """A text with a known target, its ``methods``, and the settings of the checks; ``count`` random places."""

    subject: Subject
    methods: Sequence[MethodSpec]
    outputs: Outputs
    tolerance: float
    count: int

    def checked(self, axiom: Axiom, method: str, passed: bool | None, value: float | None, why: str) -> Checked:
        """Return a row of the result."""
        return Checked(axiom=axiom, method=method, passed=passed, value=value, tolerance=self.tolerance, why=why)

    def silent(self, axiom: Axiom, why: str) -> list[Checked]:
        """Return a row without an answer for every method."""
        return [self.checked(axiom, method.name, None, None, why) for method in self.methods]

    @property
    def content(self) -> np.ndarray:
        """The features that count, int64 [n]."""
        return self.subject.units.content

    @property
    def generator(self) -> np.random.Generator:
        """The random draws for this text: the same in every axiom."""
        return np.random.default_rng(text_seed(self.subject))

    def positions(self, feature: int) -> np.ndarray:
        """Return int64: the positions of a feature's tokens."""
        return np.flatnonzero(self.subject.units.membership == feature)

    def maps(
        self,
        classifier: Classifier,
        *,
        ids: np.ndarray | None = None,
        target: int | None = None,
        output: Output | None = None,
    ) -> Maps:
        """Return the maps under ``classifier`` by all methods that support it; the passes count with the text.

        ``ids`` int64 [N] are read in place of the text's, ``target`` is explained in place of its target.
        """
        own, model = self.subject, classifier.model
        chosen = [
            method
            for method in self.methods
            if not method.unsupported(classifier.architecture)
            and not (isinstance(model, Function) and looks_inside(method))
        ]
        if not chosen:
            return {}
        subject = Subject(
            classifier,
            own.encoding if ids is None else replace(own.encoding, ids=ids),
            target=str(own.target.index if target is None else target),
            output=output or own.output,
            unit=own.unit,
            seed=own.seed,
            batcher=own.batcher.beside(classifier, aside(own.context)),
        )
        asked = [(method.method, method.parameters.model_dump(mode="json")) for method in chosen]
        (made,) = attributions_of([subject], asked, outputs=self.outputs, seeds=[text_seed(own)])
        own.forward += subject.forward
        own.backward += subject.backward
        return dict(zip([method.name for method in chosen], made, strict=True))

    def wrapped(self, model: Function) -> Classifier:
        """Return the classifier with ``model`` around its own."""
        classifier = self.subject.classifier
        return around(classifier, model, digest([classifier.digest, type(model).__name__]))


def looks_inside(method: MethodSpec) -> bool:
    """Tell if a method needs more of a model than outputs and gradients, or runs a method that does."""
    chosen = get_method(method.method)
    return (
        chosen.uses_internals
        or not {"gradients"}.issuperset(chosen.needs)
        or any(looks_inside(member) for member in chosen.members(method.parameters))
    )


def check_all(question: Question) -> list[Checked]:
    """Check every axiom by every method, in the order of :data:`CHECKS`."""
    batcher, rows = question.subject.batcher, []
    passes.read_originals([question.subject])
    for i, check in enumerate(CHECKS.values()):
        with batcher.span(i, i + 1, len(CHECKS)):
            rows += check(question)
    return rows


def completeness(question: Question) -> list[Checked]:
    """Check that the scores add up to the sum that the method promises."""
    maps, rows = question.maps(question.subject.classifier), []
    for method in question.methods:
        made = maps.get(method.name)
        if made is None or made.completeness is None:
            rows.append(
                question.checked("completeness", method.name, None, None, "not promised: the scores need not add up")
            )
            continue
        total, expected = float(made.scores.sum()), made.completeness.expected
        error = abs(total - expected) / (abs(expected) or 1.0)
        why = f"the scores add up to {total:.4g}, and must to {expected:.4g}"
        rows.append(question.checked("completeness", method.name, error <= question.tolerance, error, why))
    return rows


def dummy(question: Question) -> list[Checked]:
    """Check that a place that the function disregards has no score."""
    subject, worst = question.subject, dict[str, tuple[float, str]]()
    filler = subject.baseline("mask")
    chosen = question.generator.permutation(question.content)[: question.count].tolist()
    for feature in chosen:
        places = question.positions(feature)
        maps = question.maps(question.wrapped(Disregards(subject.classifier.model, places.tolist(), filler[places])))
        for name, made in maps.items():
            share = _share(abs(made.scores[feature]), made.scores[question.content])
            word = subject.units.features[feature].text
            worst[name] = max(worst.get(name, (-1.0, "")), (share, word))
    return _rows(question, "dummy", worst, "the model reads the mask there: {1!r} gets {0:.2g} of the largest score")


def symmetry(question: Question) -> list[Checked]:
    """Check that two equal tokens that the function treats alike have equal scores."""
    subject, single = question.subject, [f for f in question.content.tolist() if len(question.positions(f)) == 1]
    if len(single) < 2:
        return question.silent("symmetry", _SHORT)
    first, second = question.generator.permutation(single)[:2].tolist()
    there, back = int(question.positions(first)[0]), int(question.positions(second)[0])
    ids = subject.encoding.ids.copy()
    ids[there] = ids[back]
    maps = question.maps(question.wrapped(Symmetric(subject.classifier.model, there, back)), ids=ids)
    found = {}
    for name, made in maps.items():
        gap = abs(made.scores[first] - made.scores[second])
        found[name] = (_share(gap, made.scores[question.content]), subject.units.features[second].text)
    return _rows(question, "symmetry", found, "the scores of {1!r}, written twice, differ by {0:.2g} of the largest")


def linearity(question: Question) -> list[Checked]:
    """Check that the map of a sum of logits is the sum of their maps."""
    subject = question.subject
    a, classes = subject.target.index, len(subject.classifier.labels)
    if classes < 2:
        return question.silent("linearity", "not known: the model has a single class")
    b = (a + 1) % classes
    combined = question.maps(question.wrapped(Combined(subject.classifier.model, a, b)), output="logit", target=a)
    first, second = (question.maps(subject.classifier, output="logit", target=c) for c in (a, b))
    found, excused = {}, {}
    for method in question.methods:
        chosen, name = get_method(method.method), method.name
        if not chosen.is_signed(method.parameters):
            excused[name] = "not promised: the scores have no sign"
        elif chosen.chosen_by(method.parameters) is not None:
            excused[name] = "not promised: the method picks one of many maps"
        elif name in combined:
            own = [maps[name].scores[question.content] for maps in (combined, first, second)]
            right = 2 * own[1] - own[2]
            found[name] = (_share(float(np.abs(own[0] - right).max()), right), "")
    words = "under 2 z_a - z_b the scores differ from 2 φ_a - φ_b by {0:.2g} of the largest"
    return _rows(question, "linearity", found, words, excused)


def implementation_invariance(question: Question) -> list[Checked]:
    """Check that the same function by other weights has the same map."""
    axiom: Axiom = "implementation_invariance"
    classifier = question.subject.classifier
    if reason := classifier.architecture.capabilities["post-norm blocks"]:
        return question.silent(axiom, f"not known: the model cannot be written in another way, as {reason}")
    inputs = classifier.inputs([question.subject.encoding])
    model = permuted(classifier, inputs, text_seed(question.subject))
    other = replace(classifier, model=model, digest=digest([classifier.digest, axiom]))
    with torch.no_grad():
        logits = classifier.finite(other.logits(inputs))[0]
    question.subject.forward += 2
    original = question.subject.original
    if np.abs(logits - original).max() > SAME * np.abs(original).max():
        return question.silent(axiom, "not known: the model written in another way rounds to other logits")
    before, after = question.maps(classifier), question.maps(other)
    found = {}
    for name, made in after.items():
        own, right = made.scores[question.content], before[name].scores[question.content]
        found[name] = (_share(float(np.abs(own - right).max()), right), "")
    words = "with heads and hidden units in another order the scores differ by {0:.2g} of the largest"
    return _rows(question, axiom, found, words)


def sensitivity(question: Question) -> list[Checked]:
    """Check that the only word that differs from the baseline, and changes the output, has a score."""
    axiom: Axiom = "sensitivity"
    subject, classifier = question.subject, question.subject.classifier
    mask = subject.encoding.ids.copy()
    mask[subject.encoding.content] = classifier.filler_id("mask")
    chosen = question.generator.permutation(question.content)[: question.count].tolist()
    texts = np.tile(mask, (1 + len(chosen), 1))
    for row, feature in zip(texts[1:], chosen, strict=True):
        row[question.positions(feature)] = subject.encoding.ids[question.positions(feature)]
    keep = np.zeros((1 + len(chosen), len(question.content)), dtype=bool)
    for row, feature in zip(keep[1:], chosen, strict=True):
        row[question.content == feature] = True
    (values,) = passes.masked([subject], [keep], "mask")
    changes = np.abs(values[1:] - values[0])
    place = int(changes.argmax())
    if changes[place] <= NOTHING * max(1.0, abs(values[0])):
        return question.silent(axiom, "not known: no word alone changes the output")
    feature, word = chosen[place], subject.units.features[chosen[place]].text
    maps, rows = question.maps(classifier, ids=texts[1 + place]), []
    for method in question.methods:
        made, baseline = maps.get(method.name), getattr(method.parameters, "baseline", "mask")
        if made is None or baseline != "mask":
            why = "the method cannot run on this model" if made is None else f"its baseline is {baseline}, not the mask"
            row = question.checked(axiom, method.name, None, None, f"not promised: {why}")
        else:
            share = _share(abs(made.scores[feature]), made.scores[question.content])
            change = f"{word!r} alone among masks changes the output by {changes[place]:.2g}"
            why = f"{change}; it has {share:.2g} of the largest score"
            row = question.checked(axiom, method.name, share > NOTHING, share, why)
        rows.append(row.model_copy(update={"tolerance": NOTHING}))
    return rows


CHECKS: Mapping[Axiom, Callable[[Question], list[Checked]]] = {
    "completeness": completeness,
    "dummy": dummy,
    "symmetry": symmetry,
    "linearity": linearity,
    "implementation_invariance": implementation_invariance,
    "sensitivity": sensitivity,
}
"""The axioms in the order shown."""


def _rows(
    question: Question,
    axiom: Axiom,
    found: Mapping[str, tuple[float, str]],
    words: str,
    excused: Mapping[str, str] | None = None,
) -> list[Checked]:
    """Return a row for each method: the finding (a number and a word for ``words``), or the reason for none."""
    rows = []
    for method in question.methods:
        if method.name not in found:
            why = (excused or {}).get(method.name, _INSIDE)
            rows.append(question.checked(axiom, method.name, None, None, why))
            continue
        value = found[method.name][0]
        passed = value <= question.tolerance
        rows.append(question.checked(axiom, method.name, passed, value, words.format(*found[method.name])))
    return rows


def _share(value: float, scores: np.ndarray) -> float:
    """Return ``value`` as a share of the largest of the ``scores``; if all of them are 0, the value itself."""
    return float(value) / (float(np.abs(scores).max(initial=0)) or 1.0)
