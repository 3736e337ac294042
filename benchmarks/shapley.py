"""Accuracy: KernelSHAP's error against exact Shapley values, compared with Captum and SHAP at the same budget."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import factorial

import numpy as np
import torch
from captum.attr import KernelShap as CaptumKernelShap

from benchmarks.runner import Row, classifiers, held_out, model_name
from explainlab.attribution.methods.kernel_shap import coalitions, shapley_values
from explainlab.attribution.subject import Subject
from explainlab.data import read_dataset
from explainlab.models.classifier import Classifier

TEXTS = 50
MAX_WORDS = 12
BUDGETS = (2, 8)
SEEDS = 3


@dataclass(frozen=True)
class Game:
    """All coalitions of a text: ``values`` [2^n], where the bits of the index are the coalition; ``exact`` [n]."""

    n: int
    values: np.ndarray
    exact: np.ndarray

    def at(self, keep: np.ndarray) -> np.ndarray:
        """Return the values float64 [K] of coalitions bool [K, n]."""
        values: np.ndarray = self.values[keep.astype(np.int64) @ (1 << np.arange(self.n))]
        return values

    def error(self, scores: np.ndarray) -> float:
        """Return the L1 distance from the exact values, relative to their L1 norm."""
        return float(np.abs(scores - self.exact).sum() / np.abs(self.exact).sum())


Estimator = Callable[[Game, int, int], np.ndarray]
"""(game, samples besides the empty and the full coalition, seed) -> scores [n]."""


def rows() -> Iterator[Row]:
    """Yield the mean error over texts and seeds, a row for each model, budget and rival, from the same games."""
    for classifier in classifiers():
        if classifier.device.type != "cpu":
            continue
        games = [game(classifier, text) for text in _texts(classifier)]
        for budget in BUDGETS:
            ours = _mean_error(games, _ours, budget)
            for name, rival in _rivals().items():
                yield Row(
                    name="kernel_shap error",
                    work=f"{model_name(classifier)}, {len(games)} texts, {budget}n passes",
                    device="cpu",
                    rival=name,
                    error=ours,
                    rival_error=_mean_error(games, rival, budget),
                )


def game(classifier: Classifier, text: str) -> Game:
    """Return the game of the words of ``text``: all coalitions, and the Shapley values by definition."""
    subject = Subject(classifier, classifier.encode(text), unit="word")
    n = len(subject.units.content)
    keep = (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(bool)
    values = subject.masked(keep, "mask")
    return Game(n, values, _exact(keep, values))


def _exact(keep: np.ndarray, values: np.ndarray) -> np.ndarray:
    n = keep.shape[1]
    weight = np.array([factorial(s) * factorial(n - s - 1) / factorial(n) for s in range(n)])
    scores = np.empty(n)
    for i in range(n):
        without = np.flatnonzero(~keep[:, i])
        gain = values[without + (1 << i)] - values[without]
        scores[i] = (weight[keep[without].sum(axis=1)] * gain).sum()
    return scores


def _texts(classifier: Classifier) -> list[str]:
    """Return the first sentences of 3 to 12 words of a held-out set."""
    texts: list[str] = []
    for row in read_dataset(held_out(classifier)).rows:
        subject = Subject(classifier, classifier.encode(_first_sentence(row.text)), unit="word")
        if 3 <= len(subject.units.content) <= MAX_WORDS:
            texts.append(_first_sentence(row.text))
        if len(texts) == TEXTS:
            break
    return texts


def _first_sentence(text: str) -> str:
    return text.partition(". ")[0]


def _mean_error(games: list[Game], estimate: Estimator, budget: int) -> float:
    return float(
        np.mean([game.error(estimate(game, budget * game.n, seed)) for game in games for seed in range(SEEDS)])
    )


def _ours(game: Game, samples: int, seed: int) -> np.ndarray:
    ends = np.array([[False] * game.n, [True] * game.n])
    keep = np.concatenate([ends, coalitions(game.n, samples, seed, paired=True)])
    return shapley_values(keep, game.at(keep))


def _captum(game: Game, samples: int, seed: int) -> np.ndarray:
    torch.manual_seed(seed)
    np.random.seed(seed)
    explainer = CaptumKernelShap(lambda x: torch.from_numpy(game.at(x.numpy().astype(bool))))
    ones = torch.ones(1, game.n, dtype=torch.long)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = explainer.attribute(ones, baselines=0, n_samples=samples + 2, perturbations_per_eval=samples + 2)
    return np.asarray(scores[0], dtype=np.float64)


def _shap(game: Game, samples: int, seed: int) -> np.ndarray:
    import shap

    np.random.seed(seed)
    explainer = shap.KernelExplainer(lambda x: game.at(x.astype(bool)), np.zeros((1, game.n)), silent=True)
    scores = explainer.shap_values(np.ones(game.n), nsamples=samples, l1_reg=False, silent=True)
    return np.asarray(scores, dtype=np.float64)


def _rivals() -> dict[str, Estimator]:
    """Return Captum, and SHAP if it is installed."""
    try:
        import shap  # noqa: F401
    except ImportError:
        return {"captum KernelShap": _captum}
    return {"captum KernelShap": _captum, "shap KernelExplainer": _shap}
