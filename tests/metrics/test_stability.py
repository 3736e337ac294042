"""The metrics that have a text explained again: closed forms, and Captum on the same draws."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from captum.attr import IntegratedGradients
from captum.metrics import infidelity, sensitivity_max
from scipy.stats import spearmanr

from explainlab.analyses.attributions import attributions_of, text_seed
from explainlab.analyses.reexplain import Repeater
from explainlab.attribution.selection import evaluate_attributions
from explainlab.attribution.subject import Subject
from explainlab.errors import UnsupportedError
from explainlab.metrics.edits import Editor
from explainlab.metrics.evaluate import MetricResult
from explainlab.metrics.registry import parse_metric
from explainlab.models.classifier import Classifier
from explainlab.testing.observation import watched
from tests.attribution.conftest import Toys
from tests.attribution.plain import Plain
from tests.conftest import Zoo
from tests.metrics.conftest import TEXT, case_of, judged
from tests.toys import Linear, Squares

IG = ("integrated_gradients", {"rule": "gauss_legendre", "steps": 6})
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:captum")


def subject_of(classifier: Classifier, text: str = TEXT, output: str = "logit", unit: str = "token") -> Subject:
    return Subject(classifier, classifier.encode(text), target="0", output=output, unit=unit)


def results(subject: Subject, metric: str, *methods: tuple[str, dict], turned: bool = False) -> list[MetricResult]:
    """The maps of ``methods``, as the evaluation makes them, by ``metric``; ``turned``: with the reversed ones."""
    (made,) = attributions_of([subject], methods)
    maps = np.stack([own.scores for own in made])
    places = [*range(len(methods))] * (1 + turned)
    again = Repeater([subject], methods, "own", places)
    maps = np.concatenate([maps, -maps]) if turned else maps
    (rows,) = evaluate_attributions([subject], [maps], [parse_metric(metric)], subject.batcher, again)
    return [row[0] for row in rows]


def values(*given, **named) -> list[float]:
    return [result.value for result in results(*given, **named)]


def draws(subject: Subject, radius: float, samples: int) -> np.ndarray:
    """float32 [samples, n, d]: those of the metric, for the tokens that are not special."""
    n, width = int(subject.encoding.content.sum()), subject.embeddings.shape[1]
    drawn = np.random.default_rng(text_seed(subject)).uniform(-radius, radius, (samples, n, width))
    return drawn.astype(np.float32)


# Sensitivity ---------------------------------------------------------------------------------------------------------


def test_the_sensitivity_of_a_linear_model_is_that_of_its_terms(toys: Toys) -> None:
    """Input x gradient of w · x moves by w · u; a gradient does not move."""
    subject = subject_of(toys(Linear))
    weight = subject.classifier.model.network.head.weight[: len(subject.encoding), :, 0].numpy()
    own = (subject.embeddings.numpy() * weight).sum(axis=-1)
    moves = np.linalg.norm((draws(subject, 0.5, 7) * weight).sum(axis=-1), axis=-1)
    methods = ("input_x_gradient", {}), ("gradient", {})
    found = values(subject, "max_sensitivity:radius=0.5:samples=7", *methods)
    np.testing.assert_allclose(found, [moves.max() / np.linalg.norm(own), 0.0], rtol=1e-5, atol=1e-6)


def test_the_sensitivity_of_a_gradient_grows_with_the_radius_which_may_count_in_deviations(toys: Toys) -> None:
    """The gradient of Σ x² is 2x: its move is exactly twice the draw."""
    subject = subject_of(toys(Squares))
    norms = np.linalg.norm(2 * (subject.embeddings.numpy() + draws(subject, 0.1, 10)), axis=-1)
    own = np.linalg.norm(2 * subject.embeddings.numpy(), axis=-1)
    expected = np.linalg.norm(norms - own, axis=-1).max() / np.linalg.norm(own)
    spread = float(subject.classifier.model.word_embeddings.weight.double().std(correction=0))
    for radius in ("0.1", f"{0.1 / spread:.8f}s"):
        found = values(subject, f"max_sensitivity:radius={radius}", ("gradient", {}))
        np.testing.assert_allclose(found, [expected], rtol=1e-4)
    assert values(subject, "max_sensitivity:radius=0", ("gradient", {})) == [0.0]


def test_a_map_that_is_no_methods_own_or_0_everywhere_has_no_sensitivity(toys: Toys) -> None:
    subject = subject_of(toys(lambda: Linear(bias=False)))
    found = values(subject, "max_sensitivity", ("input_x_gradient", {}), ("random", {}), turned=True)
    assert np.isfinite(found[:2]).all()
    assert np.isnan(found[2:]).all()
    subject.classifier.model.network.head.weight.zero_()
    assert np.isnan(values(subject_of(subject.classifier), "max_sensitivity", ("input_x_gradient", {}))).all()


def test_random_scores_are_told_as_they_are(zoo: Zoo) -> None:
    """Each version of a text gets other random scores: neither metric calls them stable."""
    subject = subject_of(zoo("bert"))
    assert values(subject, "max_sensitivity", ("random", {}))[0] > 0.3
    assert abs(values(subject, "edit_stability", ("random", {}))[0]) < 0.5


def captum_map(plain: Plain, text: str):
    """Integrated gradients [B, N, 1] as Captum makes them, special tokens left out."""
    scalar, special = plain.scalar("logit", 0), plain.special(text)

    def explain(given: torch.Tensor | tuple[torch.Tensor]) -> tuple[torch.Tensor]:
        points = given[0] if isinstance(given, tuple) else given
        start = plain.baseline(text).expand_as(points)  # special tokens are the text's own, and do not move
        with torch.enable_grad():
            made = IntegratedGradients(scalar).attribute(points, start, n_steps=6, method="gausslegendre")
        return (made.sum(dim=-1)[:, ~special],)

    return explain


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_equals_captums_sensitivity_on_the_same_draws(zoo: Zoo, name: str) -> None:
    classifier = zoo(name)
    subject, plain = subject_of(classifier), Plain(classifier.id, classifier.tokenizer)
    shifts = torch.zeros(5, len(subject.encoding), subject.embeddings.shape[1])
    shifts[:, subject.encoding.content] = torch.from_numpy(draws(subject, 0.2, 5))
    text = plain.embed(plain.ids(TEXT))
    captum = sensitivity_max(captum_map(plain, TEXT), text, lambda points: points + shifts, n_perturb_samples=5)
    found = values(subject, "max_sensitivity:radius=0.2:samples=5", IG)
    np.testing.assert_allclose(found, captum.numpy(), rtol=1e-5, atol=1e-5)


# Infidelity ----------------------------------------------------------------------------------------------------------


def test_maps_that_add_up_to_every_change_of_an_additive_model_are_faithful(toys: Toys) -> None:
    """KernelSHAP over all subsets, and integrated gradients; in another unit only with the best factor."""
    subject = subject_of(toys(Linear), "a funny film")
    exact = ("kernel_shap", {"samples": "2000"}), IG
    for scale in ("true", "false"):
        found = values(subject, f"infidelity:samples=20:scale={scale}", *exact)
        np.testing.assert_allclose(found, 0, atol=1e-9)


@pytest.mark.parametrize("output", ["logit", "probability"])
@pytest.mark.parametrize("scale", [True, False])
def test_equals_captums_infidelity_on_the_same_draws(zoo: Zoo, output: str, scale: bool) -> None:
    classifier = zoo("bert")
    subject, plain = subject_of(classifier, output=output), Plain(classifier.id, classifier.tokenizer)
    generator, content = np.random.default_rng(text_seed(subject)), subject.encoding.content
    gone = torch.zeros(30, len(content), dtype=torch.bool)
    gone[:, content] = torch.from_numpy(generator.random((30, int(content.sum()))) < 0.5)
    assert gone.any(dim=1).all(), "an empty subset would be drawn again"
    text, start = plain.embed(plain.ids(TEXT)), plain.baseline(TEXT)
    method = ("gradient", {})
    (made,) = attributions_of([subject], [method])
    # Captum multiplies a perturbation with an attribution of its shape: one number of each token carries all of it
    carrier = torch.zeros_like(text)
    carrier[0, :, 0] = torch.from_numpy(made[0].scores).float()

    def perturb(points: torch.Tensor):
        ones = gone[..., None].float().expand_as(points)
        return ones, torch.where(gone[..., None], start, points)

    scalar = plain.scalar(output, 0)
    captum = infidelity(scalar, perturb, text, carrier, n_perturb_samples=30, normalize=scale)
    found = values(subject, f"infidelity:samples=30:scale={str(scale).lower()}", method)
    np.testing.assert_allclose(found, captum.numpy(), rtol=1e-5, atol=1e-5)


def test_a_reversed_map_is_as_faithful_only_where_a_factor_is_free(zoo: Zoo) -> None:
    subject = subject_of(zoo("bert"))
    scaled = values(subject, "infidelity", IG, turned=True)
    assert scaled[0] == pytest.approx(scaled[1])
    plain = values(subject, "infidelity:scale=false", IG, turned=True)
    assert plain[0] < plain[1]


def test_every_map_is_held_against_the_output_that_it_explains(toys: Toys) -> None:
    """LRP explains the logit where the request asks for the probability; here it is input x gradient of the logit."""
    subject = subject_of(toys(lambda: Linear(bias=False)), output="probability")
    methods = ("lrp", {}), ("input_x_gradient", {})
    (made,) = attributions_of([subject], methods)
    assert [own.request.output for own in made] == ["logit", "probability"]
    gone = np.random.default_rng(text_seed(subject)).random((9, len(subject.units.content))) < 0.5
    (explained,) = Repeater([subject], methods, "own", [0, 1]).explained([~gone])
    logits = torch.from_numpy(explained)
    assert ((logits[1] >= 0) & (logits[1] <= 1)).all()
    assert not ((logits[0] >= 0) & (logits[0] <= 1)).all()


# Edits ---------------------------------------------------------------------------------------------------------------


def by_hand(subject: Subject, method: str, texts: Sequence[str]) -> tuple[list[float], int]:
    """Spearman's rho to each edited text of the same class, over the words of the same place that are the same."""
    classifier, rows = subject.classifier, []
    for text in texts:
        other = Subject(classifier, classifier.encode(text), target="0", output=subject.output, unit="word")
        if other.prediction.index != subject.prediction.index:
            continue
        ((mine,), (theirs,)) = ([own.scores for own in row] for row in (_made(subject, method), _made(other, method)))
        pairs = zip(subject.units.features, other.units.features, strict=True)
        same = [i for i, (a, b) in enumerate(pairs) if not a.special and a.text.casefold() == b.text.casefold()]
        rows.append(spearmanr(mine[same], theirs[same]).statistic)
    return rows, len(rows)


def _made(subject: Subject, method: str):
    return attributions_of([subject], [(method, {})])[0]


@pytest.mark.parametrize("kind", ["case", "typo", "synonym"])
def test_the_stability_under_edits_is_that_of_a_plain_loop(zoo: Zoo, kind: str) -> None:
    text = "A good film, a great story and a wonderful plot."
    subject = subject_of(zoo("gpt2" if kind == "case" else "bert"), text, unit="word")
    texts = Editor(subject.classifier).edited(subject.encoding, [kind], 4, text_seed(subject))
    assert texts
    rows, count = by_hand(subject, "input_x_gradient", [edited for edited, _ in texts])
    (found,) = results(subject, f"edit_stability:edits={kind}:samples=4", ("input_x_gradient", {}))
    assert found.counted == count
    assert found.value == pytest.approx(np.mean(rows), abs=1e-6)


def test_a_text_with_a_single_word_has_no_stability_under_edits(zoo: Zoo) -> None:
    assert np.isnan(values(subject_of(zoo("bert"), "Wonderful"), "edit_stability", IG)).all()


def test_edits_that_change_the_class_do_not_count(toys: Toys) -> None:
    """A model of which every token's weights are huge changes its class with every other edit."""
    subject = subject_of(toys(lambda: Linear(bias=False)), "The plot is thin and the acting is worse than the plot")
    texts = Editor(subject.classifier).edited(subject.encoding, ["typo"], 30, text_seed(subject))
    same = sum(
        subject.classifier.predict(subject.classifier.encode(text)).index == subject.prediction.index
        for text, _ in texts
    )
    assert 0 < same < len(texts)
    (found,) = results(subject, "edit_stability:edits=typo:samples=30", IG)
    assert found.counted == same


# Arguments -----------------------------------------------------------------------------------------------------------


def test_all_passes_are_counted_with_the_text(zoo: Zoo) -> None:
    subject = subject_of(zoo("bert"))
    subject.original  # noqa: B018
    before, again = subject.forward, Repeater([subject], [("gradient", {})], "own", [0])
    with watched(subject.classifier) as passes:
        again.moved([np.zeros((3, *subject.embeddings.shape), dtype=np.float32)])
        ((version,),) = again.edited([[("A good film", None)]])
    assert version.maps[0] is not None
    assert (subject.forward - before, subject.backward) == (passes.forward, passes.backward)


def test_nothing_that_explains_is_at_hand(zoo: Zoo) -> None:
    with pytest.raises(UnsupportedError, match="Max-sensitivity"):
        judged(zoo("bert"), [case_of(zoo("bert"))], "max_sensitivity")
