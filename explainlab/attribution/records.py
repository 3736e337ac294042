"""The record of an attribution: the scores of a method for a text, with all that is needed to repeat them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from explainlab.models.classifier import Classifier, Prediction
from explainlab.request import Kind, Output, Unit
from explainlab.result import Result
from explainlab.text.units import Feature

if TYPE_CHECKING:
    import pandas as pd
    import shap

CANCELS = 0.001
"""Share of Σ|φ| below which an error relative to F(x) - F(x′) means nothing."""


def cancels(total: float, size: float) -> bool:
    """Return whether scores of total size Σ|φ| = ``size`` cancel: ``total`` is too small for errors relative to it."""
    return bool(abs(total) <= CANCELS * size)


@dataclass(frozen=True)
class Target:
    """The class explained."""

    index: int
    label: str


@dataclass(frozen=True)
class Completeness:
    """The sum of the scores, beside the sum that the method promises.

    ``approximation_error`` = |sum - expected| / |expected|; None where |expected| < 1e-8, as it then means nothing.
    """

    sum: float
    expected: float
    approximation_error: float | None

    @classmethod
    def of(cls, scores: np.ndarray, expected: float) -> Completeness:
        """Return the sum of float64 [n] ``scores``, beside ``expected``."""
        total = float(scores.sum())
        error = abs(total - expected) / abs(expected) if abs(expected) >= 1e-8 else None
        return cls(total, float(expected), error)

    @property
    def off(self) -> str:
        """``approximation_error`` as a percentage with two digits; empty where it is None."""
        if self.approximation_error is None:
            return ""
        percentage = 100 * self.approximation_error
        return f"{percentage:,.0f}%" if percentage >= 10 else f"{percentage:.2g}%"

    def failure(self, within: float, size: float) -> str:
        """Return ``−0.107, not +0.578 (off by 118%)`` where the sum is off by more than ``within``; otherwise empty.

        ``within`` is a share of |expected|; where the scores cancel, of their total size Σ|φ| = ``size``.
        """
        cancel = cancels(self.expected, size)
        if abs(self.sum - self.expected) <= within * (size if cancel else abs(self.expected)):
            return ""
        total, expected = (f"{value:+.3g}".replace("-", "−") for value in (self.sum, self.expected))
        return f"{total}, not {expected}" + (f" (off by {self.off})" if self.off and not cancel else "")


@dataclass(frozen=True, eq=False, kw_only=True)
class Attribution(Result):
    """The scores of a method for a text.

    ``scores`` float64 [n_features], special tokens included. ``errors`` float64 [n_features]: estimates of the scores'
    numerical errors, where the method has them. ``spread`` float64 [n_features]: for a mean of several methods, its
    standard deviation over them. ``signed``: False where scores are magnitudes only. ``cut``: number of
    tokens that did not fit into the model. ``label_share``: for a language model with a prompt, the share of the next
    token that the label words together hold, in [0, 1]. ``logit``: that of the target for the text itself, where
    this is what is explained and is known. ``notes``: facts of this run that are in no other field.
    """

    kind: ClassVar[Kind] = "attribution"

    prediction: Prediction
    target: Target
    features: tuple[Feature, ...]
    scores: np.ndarray
    errors: np.ndarray | None
    signed: bool
    completeness: Completeness | None
    spread: np.ndarray | None = None
    cut: int = 0
    label_share: float | None = None
    logit: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def contradicts(self) -> bool:
        """True if the scores, each of which speaks for or against the predicted class, together speak against it.

        Where a sum is promised (:attr:`completeness`), the promise counts: a sum that fails has a warning of its own.
        """
        total, size = float(self.scores.sum()), float(np.abs(self.scores).sum())
        meant = total if self.completeness is None else self.completeness.expected
        explains_prediction = self.signed and self.target.label == self.prediction.label
        return explains_prediction and max(total, meant) < 0 and not cancels(total, size)

    @property
    def truncated(self) -> bool:
        """True if the model read only a part of the text."""
        return self.cut > 0

    @property
    def content(self) -> np.ndarray:
        """bool [n]: features that are not special tokens."""
        return np.array([not feature.special for feature in self.features], dtype=bool)

    @property
    def shares(self) -> np.ndarray:
        """float64 [n]: every content feature's share of the sum of their |score|; NaN for special tokens."""
        content, size = self.content, np.abs(self.scores)
        return np.where(content, size / max(size[content].sum(), np.finfo(float).tiny), np.nan)

    @property
    def ranks(self) -> np.ndarray:
        """int64 [n]: ranks of the content features by |score|, 1 for the largest; 0 for special tokens."""
        content = np.flatnonzero(self.content)
        order = np.argsort(-np.abs(self.scores[content]), kind="stable")
        ranks = np.zeros(len(self.scores), dtype=np.int64)
        ranks[content[order]] = np.arange(1, len(content) + 1)
        return ranks

    def highest(self, k: int) -> list[int]:
        """Return the indices of the ``k`` highest content features, the highest first; of equal ones the first."""
        content = np.flatnonzero(self.content)
        indices: list[int] = content[np.argsort(-self.scores[content], kind="stable")[:k]].tolist()
        return indices

    def to_frame(self) -> pd.DataFrame:
        """Return a row per feature: text, start, end, part, special, score, error, spread, share of Σ|score|, rank.

        Share and rank are of content features only.
        """
        import pandas as pd  # half a second

        frame = pd.DataFrame(
            [
                {"text": f.text, "start": f.start, "end": f.end, "part": f.part, "special": f.special}
                for f in self.features
            ]
        )
        frame["score"] = self.scores
        frame["error"] = self.errors if self.errors is not None else np.nan
        frame["spread"] = self.spread if self.spread is not None else np.nan
        frame["share"] = self.shares
        frame["rank"] = pd.Series(self.ranks).where(~frame["special"]).astype("Int64")
        return frame

    @classmethod
    def from_scores(
        cls,
        scores: Any,
        classifier: Classifier,
        text: str | None = None,
        *,
        tokens: Sequence[str] | None = None,
        target: str | int = "predicted",
        method: str = "",
        output: Output = "probability",
        unit: Unit = "token",
        signed: bool | None = None,
    ) -> Attribution:
        """Return the map of another library, to be drawn, compared and judged as ours.

        ``scores``: a ``shap.Explanation`` of one text, an explanation of ferret, the JSON of inseq (a path, or read),
        or numbers with their ``tokens``, such as a tensor of Captum: see
        :func:`explainlab.attribution.elsewhere.read_map`. ``text`` is needed where they do not hold it.
        ``method`` names the map, ``output`` is what it explains; ``signed``: whether its scores have signs (None: if
        any is negative). Scores of parts of a feature are added up, those of special tokens are left out. The
        classifier's own tokens are known in the spelling of its tokenizer, with special ones or without, and of SHAP;
        others are looked for in the text. One pass asks the classifier what it predicts.

        Raises :class:`RequestError` for tokens that are not those of the text, or that cross the border of a feature
        of this classifier: a coarser ``unit`` helps.
        """
        from explainlab.attribution.elsewhere import attribution_of

        return attribution_of(
            scores,
            classifier,
            text,
            tokens=tokens,
            target=target,
            method=method,
            output=output,
            unit=unit,
            signed=signed,
        )

    def to_shap(self) -> shap.Explanation:
        """Return the scores of the text as SHAP's ``Explanation`` of one text, for its plots: ``shap.plots.text``.

        It has a piece for each feature that is not special, and they spell the text whole, also where it was cut. The
        last of the features that share a character has it. :meth:`from_scores` reads them back.
        The base value is the explained probability or logit less the sum of the scores. Raises
        :class:`UnsupportedError` where ``shap`` is not installed, and for a logit that is not known.
        """
        from explainlab.attribution.elsewhere import explanation_of

        return explanation_of(self)

    def rows_in_parts(self) -> Iterator[list[dict[str, Any]]]:
        """See :meth:`explainlab.result.Result.rows_in_parts`."""
        yield self.to_json()["features"]

    def own_json(self) -> dict[str, Any]:
        """See :meth:`explainlab.result.Result.own_json`."""
        scored = zip(self.features, self.scores, _numbers(self.errors, self), _numbers(self.spread, self), strict=True)
        return {
            "prediction": asdict(self.prediction),
            **({} if self.label_share is None else {"label_share": self.label_share}),
            "target": asdict(self.target),
            **({} if self.logit is None else {"logit": self.logit}),
            "target_asked": None,
            "features": [
                {**vars(f), "score": float(score), "error": error, "spread": spread}
                for f, score, error, spread in scored
            ],
            "signed": self.signed,
            "completeness": asdict(self.completeness) if self.completeness else None,
            "cost": None,
            "truncated": self.truncated,
            "cut": self.cut,
            "warnings": None,
            "notes": list(self.notes),
        }

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Attribution:
        """Return the map of a record of :meth:`to_json`; scores come back bit for bit."""
        return cls(
            **cls.frame_of(body),
            prediction=Prediction(**body["prediction"]),
            target=Target(**body["target"]),
            features=tuple(_feature(record) for record in body["features"]),
            scores=np.array([f["score"] for f in body["features"]], dtype=np.float64),
            errors=_array([f["error"] for f in body["features"]]),
            spread=_array([f.get("spread") for f in body["features"]]),
            signed=body["signed"],
            completeness=Completeness(**body["completeness"]) if body["completeness"] else None,
            cut=body["cut"],
            label_share=body.get("label_share"),
            logit=body.get("logit"),
            notes=tuple(body["notes"]),
        )


def _numbers(values: np.ndarray | None, of: Attribution) -> list[float | None]:
    """Return ``values`` [n_features] as plain numbers; None for each feature where there are none."""
    return [None] * len(of.scores) if values is None else values.tolist()


def _array(values: list[float | None]) -> np.ndarray | None:
    """Return the array of the numbers of :func:`_numbers`."""
    return None if None in values else np.array(values, dtype=np.float64)


def _feature(record: dict[str, Any]) -> Feature:
    """Return the feature of a ``record``, which also has its score."""
    known = Feature.__dataclass_fields__
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in record.items() if name in known
    }
    return Feature(**fields)
