"""The contract of classifiers, checked for any network."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from explainlab.errors import UnsupportedError
from explainlab.models.classifier import Classifier
from explainlab.testing.exact import assert_equal, exact
from explainlab.testing.observation import traces, unchanged
from explainlab.text.encoding import Encoding

SHORT = "a funny film, isn't it?"
LONG = "I did not like this film at all. It isn't funny, and it isn't good!"


def check_model(classifier: Classifier) -> None:
    """Check that ``classifier`` fulfils the contract on which methods and metrics rely.

    Raises :class:`AssertionError` with what is wrong. Comparisons run on a copy in float64 (:func:`exact`);
    capabilities that the architecture lacks must be refused.
    """
    for check in CHECKS:
        try:
            with unchanged(classifier, check.__name__):
                check(classifier)
        except AssertionError as error:
            raise AssertionError(f"{classifier.id}, {check.__name__}: {error}") from error


def _logits(classifier: Classifier, *encodings: Encoding, embeddings: Tensor | None = None) -> np.ndarray:
    with torch.no_grad():
        return classifier.finite(classifier.logits(classifier.inputs(encodings), embeddings))


def _closely(classifier: Classifier, actual: np.ndarray, expected: np.ndarray, what: str) -> None:
    """Assert that logits agree up to rounding, which depends on their size."""
    assert_equal(actual, expected, what, terms=max(1.0, float(np.abs(expected).max())))


def _refused(run: Callable[[], object], what: str) -> None:
    """Check that ``run`` raises :class:`UnsupportedError`, as the architecture says."""
    try:
        run()
    except UnsupportedError:
        return
    raise AssertionError(f"a model that cannot do so by its architecture {what}")


def facts(classifier: Classifier) -> None:
    """Check that the model has at least two labels and is in evaluation mode; no parameter requires gradients."""
    assert len(set(classifier.labels)) == len(classifier.labels) >= 2, f"the labels are {classifier.labels}"
    assert not classifier.model.network.training, "the model is in training mode"
    asking = [name for name, parameter in classifier.model.network.named_parameters() if parameter.requires_grad]
    assert not asking, f"parameters ask for gradients: {', '.join(asking[:5])}"
    assert classifier.bytes > 0, "the weights take no memory"
    longer = classifier.model.bytes_per_token(40, gradients=True)
    shorter = classifier.model.bytes_per_token(10, gradients=False)
    assert longer >= shorter > 0, "a long text with gradients is told to need less memory than a short one without"
    assert torch.isfinite(classifier.embed(torch.tensor(classifier.filler_id("mask"), device=classifier.device))).all()


def encodings(classifier: Classifier) -> None:
    """Check that offsets cover the text; only tokens added around it are special; a short text is not cut."""
    for text, pair in ((LONG, None), (SHORT, None if classifier.prompt else "the plot")):
        encoding = classifier.encode(text, pair)
        lengths = {len(array) for array in (encoding.ids, encoding.special, encoding.offsets, encoding.pieces)}
        assert len(lengths) == 1, f"ids, special, offsets and pieces have different lengths: {sorted(lengths)}"
        assert encoding.content.any(), "all tokens are special"
        for part in range(1 if pair is None else 2):
            whole = encoding.part_text(part)
            spans = encoding.offsets[encoding.content & (encoding.parts == part)]
            covered = {i for start, end in spans for i in range(start, end)}
            missed = {i for i, character in enumerate(whole) if not character.isspace()} - covered
            assert not missed, f"no token stands for the characters {sorted(missed)} of {whole!r}"
    assert not classifier.encode(SHORT).cut, "a short text is cut"


def predictions(classifier: Classifier) -> None:
    """Check that probabilities add up to 1, and the predicted class has the highest."""
    prediction = classifier.predict(classifier.encode(SHORT))
    assert tuple(prediction.probabilities) == classifier.labels, "the probabilities are not those of the labels"
    assert abs(sum(prediction.probabilities.values()) - 1) < 1e-12, "the probabilities do not add up to 1"
    assert prediction.label == classifier.labels[prediction.index]
    assert prediction.probabilities[prediction.label] == max(prediction.probabilities.values())


def batches(classifier: Classifier) -> None:
    """Check that a text has the same logits alone, padded and in a batch."""
    with exact(classifier) as twin:
        short, long = twin.encode(SHORT), twin.encode(LONG)
        alone = np.concatenate([_logits(twin, short), _logits(twin, long)])
        _closely(twin, _logits(twin, short, long), alone, "the logits of texts in a batch")
        padded = short.padded(len(short) + 3, twin.pad_id)
        _closely(twin, _logits(twin, padded), alone[:1], "the logits of a padded text")
        assert np.abs(alone[0] - alone[1]).max() > 0, "two texts have the same logits"


def embeddings(classifier: Classifier) -> None:
    """Check that a text's word embeddings give the logits of the text, and that other embeddings change them."""
    with exact(classifier) as twin:
        short, long = twin.encode(SHORT), twin.encode(LONG)
        inputs = twin.inputs([short, long])
        own = twin.embed(inputs.ids)
        _closely(
            twin, _logits(twin, short, long, embeddings=own), _logits(twin, short, long), "the logits from embeddings"
        )
        ids = torch.where(torch.as_tensor(short.special, device=twin.device), inputs.ids[0, : len(short)], twin.pad_id)
        changed = _logits(twin, short, embeddings=twin.embed(ids)[None])
        assert np.abs(changed - _logits(twin, short)).max() > 1e-6, "other embeddings give the same logits"


def gradients(classifier: Classifier) -> None:
    """Check that gradients flow to the embeddings, agree with finite differences, and are zero on padding."""
    if classifier.architecture.capabilities["gradients"]:
        return
    with exact(classifier) as twin:
        short = twin.encode(SHORT)
        inputs = twin.inputs([short.padded(len(short) + 2, twin.pad_id)])
        point = twin.embed(inputs.ids).requires_grad_()
        (gradient,) = torch.autograd.grad(twin.logits(inputs, point)[0, 0], point)
        assert torch.isfinite(gradient).all(), "a gradient is not finite"
        assert gradient[0, len(short) :].abs().max() == 0, "padding has a gradient"
        direction = gradient / gradient.norm()
        ends = [twin.logits(inputs, point.detach() + step * direction)[0, 0] for step in (-1e-5, 1e-5)]
        slope, expected = float(ends[1] - ends[0]) / 2e-5, float(gradient.norm())
        assert expected > 0, "the gradient is zero"
        assert abs(slope - expected) < 1e-3 * expected, f"along its gradient the logit rises by {slope}, not {expected}"


def attention(classifier: Classifier) -> None:
    """Check that every row of attention is a distribution over the real tokens, and the head's weights sum to 1."""
    encoding = classifier.encode(SHORT)
    padded = encoding.padded(len(encoding) + 2, classifier.pad_id)
    weights = classifier.head_rows(padded)
    assert abs(weights.sum() - 1) < 1e-12, "the weights of the rows that reach the head do not add up to 1"
    assert not weights[len(encoding) :].any(), "padding reaches the head"
    if classifier.architecture.capabilities["attention"]:
        _refused(lambda: classifier.attention_maps(classifier.inputs([padded])), "has attention maps")
        return
    with exact(classifier) as twin:
        maps, logits = twin.attention_maps(twin.inputs([padded]))
        _closely(
            twin, logits.detach().cpu().numpy(), _logits(twin, padded), "the logits of the pass that reads attention"
        )
        assert maps, "there is no layer of attention"
        for number, layer in enumerate(maps, start=1):
            real = layer[0, :, : len(encoding)]
            sums = real.sum(dim=-1).detach().cpu().numpy()
            assert_equal(sums, np.ones_like(sums), f"the sums of the rows of layer {number}", terms=1e3)
            assert real[..., len(encoding) :].abs().max() == 0, f"layer {number} attends to padding"


def replacing(classifier: Classifier) -> None:
    """Check that replacing attention by itself changes nothing; other probabilities change the logits."""

    def same(_: int, __: nn.Module, probabilities: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        return probabilities, values

    def uniform(_: int, __: nn.Module, probabilities: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        return torch.full_like(probabilities, 1 / probabilities.shape[-1]), values

    if classifier.architecture.capabilities["replaceable attention"]:
        return
    with exact(classifier) as twin:
        short, long = twin.encode(SHORT), twin.encode(LONG)
        plain = _logits(twin, short, long)
        with twin.model.tapped(same):
            _closely(twin, _logits(twin, short, long), plain, "the logits with attention that is put back")
        with twin.model.tapped(uniform):
            assert np.abs(_logits(twin, short, long) - plain).max() > 1e-6, "replaced attention changes nothing"


def positions(classifier: Classifier) -> None:
    """Check that a causal decoder predicts at every position from the text up to there; other models refuse."""
    if classifier.architecture.capabilities["causal decoder"]:
        inputs = classifier.inputs([classifier.encode(SHORT)])
        _refused(lambda: classifier.position_logits(inputs), "makes intermediate predictions")
        _refused(lambda: classifier.prefix(inputs.ids[0]), "reads a prefix apart")
        return
    with exact(classifier) as twin, torch.no_grad():
        short, long = twin.encode(SHORT), twin.encode(LONG)
        logits = twin.position_logits(twin.inputs([short, long])).cpu().numpy()
        last = np.array([logits[row, len(encoding) - 1] for row, encoding in enumerate((short, long))])
        _closely(twin, last, _logits(twin, short, long), "the logits at the last position")
        inputs = twin.inputs([long])
        prefix = twin.prefix(inputs.ids[0, : len(short) // 2])
        after = twin.logits(inputs, None, prefix).cpu().numpy()
        _closely(twin, after, _logits(twin, long), "the logits behind a prefix that was read before")


def repeatable(classifier: Classifier) -> None:
    """Check that two passes of the same batch give the same logits, bit by bit."""
    texts = classifier.encode(SHORT), classifier.encode(LONG)
    assert np.array_equal(_logits(classifier, *texts), _logits(classifier, *texts)), "a second pass gives other logits"
    assert traces(classifier)["grad mode"] == torch.is_grad_enabled()


Check = Callable[[Classifier], None]
CHECKS: tuple[Check, ...] = (
    facts,
    encodings,
    predictions,
    repeatable,
    batches,
    embeddings,
    gradients,
    attention,
    replacing,
    positions,
)
