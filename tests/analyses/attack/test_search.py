"""The search: its gradients against differences and closed forms, its rules, and batches against texts alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from explainlab.analyses.attack.maps import Maps, Method
from explainlab.analyses.attack.search import Attacked, Goal, Run, Search, Settings, normalised, top
from explainlab.attribution.batch import Batch, stream
from explainlab.attribution.passes import read_originals
from explainlab.attribution.subject import Subject
from explainlab.models.batching import Batcher
from explainlab.models.classifier import Classifier
from explainlab.models.context import RunContext
from explainlab.request import Output, Unit
from explainlab.testing.exact import exact
from explainlab.testing.observation import watched
from tests.attribution.conftest import Toys
from tests.conftest import Zoo
from tests.toys import WIDTH, Linear
from tests.zoo import MAX_TOKENS

TEXT, OTHER = "A funny film. It isn't good!", "the plot is thin and the acting is worse than the plot"
GOALS = [Goal("unconstrained", "0.1", 0.1), Goal("constrained", "0.1", 0.1), Goal("constrained", "0.5", 0.5)]
SETTINGS = Settings(steps=4, learning_rate=0.1, beta=1.0, tolerance=0.01, surrogate=0.0, positions="content")


class Quadratic(nn.Module):
    """A model that returns x'Hx/2 of all numbers of a text, and its negative."""

    def __init__(self) -> None:
        super().__init__()
        h = torch.randn(MAX_TOKENS * WIDTH, MAX_TOKENS * WIDTH)
        self.h = nn.Parameter((h + h.T) / 2)

    def forward(self, x: Tensor) -> Tensor:
        flat = x.flatten(1)
        n = flat.shape[1]
        value = torch.einsum("bi,ij,bj->b", flat, self.h[:n, :n], flat) / 2
        return torch.stack([value, -value], dim=-1)


def subjects_of(
    classifier: Classifier, texts: Sequence[str], output: Output = "probability", unit: Unit = "token"
) -> list[Subject]:
    batcher = Batcher(classifier, RunContext())
    subjects = [Subject(classifier, classifier.encode(t), output=output, unit=unit, batcher=batcher) for t in texts]
    read_originals(subjects)
    return subjects


def prepared(
    subjects: Sequence[Subject],
    method: Method,
    settings: Settings = SETTINGS,
    goals: Sequence[Goal] = tuple(GOALS),
    k: int = 2,
) -> tuple[Search, list[Attacked]]:
    search = Search(subjects, Maps(method, 3), settings)
    texts = [
        Attacked(subject, point, top(normalised(point.scores, content), content, k), goals, content)
        for subject, point in zip(subjects, search.originals(subjects), strict=True)
        for content in [subject.units.content]
    ]
    return search, texts


def runs(
    classifier: Classifier, texts: Sequence[str], method: Method = "gradient", settings: Settings = SETTINGS
) -> list[list[Run]]:
    search, attacked = prepared(subjects_of(classifier, texts), method, settings)
    search.attack(attacked)
    return [text.runs for text in attacked]


def batches(subject: Subject) -> Iterator[Batch]:
    """Yield the text as a batch of one."""
    yield from stream([subject], [1], lambda batch: batch, gradients=True, phase="test")


# Gradients -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "method", "unit"),
    [
        ("bert", "gradient", "token"),
        ("bert", "input_x_gradient", "word"),
        ("gpt2", "integrated_gradients", "token"),
        ("t5", "gradient", "token"),
        ("deberta", "gradient", "token"),
        ("modernbert", "gradient", "token"),
        ("llama", "gradient", "token"),
    ],
)
def test_the_gradient_is_that_of_central_differences(zoo: Zoo, model: str, method: Method, unit: Unit) -> None:
    """The differences are of the whole loss: the share of the normalised map, and the penalty."""
    with exact(zoo(model)) as classifier:
        (subject,) = subjects_of(classifier, [TEXT], unit=unit)
        search, (text,) = prepared([subject], method, goals=GOALS[1:2])
        owners = [(text, [0])]
        draw = torch.Generator().manual_seed(1)
        moved_by = 0.01 * torch.randn(1, *subject.embeddings.shape, generator=draw, dtype=torch.float64)
        direction = torch.randn(moved_by.shape, generator=draw, dtype=torch.float64)
        (batch,) = batches(subject)
        _, _, gradient = search.evaluate(batch, owners, moved_by.clone(), last=False)
        step = 1e-5
        ends = [search.evaluate(batch, owners, moved_by + sign * step * direction, last=True)[1] for sign in (1, -1)]
        difference = float((ends[0] - ends[1]).detach().sum() / (2 * step))
    assert gradient is not None
    assert abs(difference) > 1e-4
    assert float((gradient * direction).sum()) == pytest.approx(difference, rel=1e-5)


def test_the_gradient_of_a_quadratic_is_made_of_the_rows_of_its_hessian(toys: Toys) -> None:
    """The unnormalised map ‖(Hx)ᵢ‖ has the derivative Hᵢᵀ(Hx)ᵢ / ‖(Hx)ᵢ‖: rows of H, weighted by a unit vector."""
    with exact(toys(Quadratic)) as classifier:
        (subject,) = subjects_of(classifier, [TEXT], output="logit")
        listed, still = [1, 4], torch.zeros(1, *subject.embeddings.shape, dtype=torch.float64)
        (batch,) = batches(subject)
        scores = Maps("gradient", 0).read(batch, still.requires_grad_(), second=True).scores
        (found,) = torch.autograd.grad(scores[0, listed].sum(), still)
        x = subject.embeddings.flatten()
        h = classifier.model.network.head.h.detach()[: len(x), : len(x)]
        rows = h.unflatten(0, (-1, WIDTH))[listed]  # [k, d, N d]
        pulls = rows @ x
        expected = sum(rows[i].T @ (pulls[i] / pulls[i].norm()) for i in range(len(listed)))
    torch.testing.assert_close(found.flatten(), expected, rtol=1e-9, atol=1e-9)


def test_a_linear_model_cannot_be_attacked(toys: Toys) -> None:
    (subject,) = subjects_of(toys(Linear), [TEXT], output="logit")
    search, (text,) = prepared([subject], "gradient")
    search.attack([text])
    for run in text.runs:
        assert run.failed
        np.testing.assert_array_equal(run.best.scores, text.original.scores)


# Results -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["gradient", "integrated_gradients"])
def test_texts_in_a_batch_are_attacked_as_alone(zoo: Zoo, method: Method) -> None:
    with exact(zoo("bert")) as classifier:
        together = runs(classifier, [TEXT, OTHER], method)
        alone = [runs(classifier, [text], method)[0] for text in (TEXT, OTHER)]
    for own, other in zip(chain(*together), chain(*alone), strict=True):
        assert (own.goal, own.steps, own.ending, own.best.step) == (
            other.goal, other.steps, other.ending, other.best.step)  # fmt: skip
        np.testing.assert_allclose(own.best.scores, other.best.scores, rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(own.trajectory.loss, other.trajectory.loss, rtol=1e-7)


def test_the_best_feasible_iterate_within_the_radius_is_found(encoder: Classifier) -> None:
    settings = Settings(steps=25, learning_rate=0.5, beta=1.0, tolerance=0.05, surrogate=0.0, positions="content")
    subjects = subjects_of(encoder, [TEXT])
    search, (text,) = prepared(subjects, "gradient", settings)
    search.attack([text])
    special = torch.as_tensor(subjects[0].encoding.special)
    for place, run in enumerate(text.runs):
        moved = text.moved_by[place]
        assert float(moved.abs().max()) <= run.goal.radius * (1 + 1e-6)
        assert not moved[special].any()
        assert run.ending == "steps"
        assert run.trajectory.step == [0, 10, 20, 25]
        assert run.trajectory.share[0] == pytest.approx(text.original.share, rel=1e-4)
        feasible = [*run.trajectory.share] if run.goal.objective == "unconstrained" else []
        assert run.best.share <= min(feasible, default=1.0)
        if run.goal.objective == "constrained":
            assert abs(run.best.probability - text.original.probability) <= settings.tolerance
    free, bound, _ = text.runs
    assert not free.failed
    assert free.best.share <= bound.best.share < text.original.share


def test_special_tokens_move_where_all_positions_do(encoder: Classifier) -> None:
    subjects = subjects_of(encoder, [TEXT])
    search, (text,) = prepared(subjects, "gradient", Settings(1, 0.1, 1.0, 0.01, 0.0, "all"))
    search.attack([text])
    assert text.moved_by[0].abs().sum(dim=1).all()


def test_passes_are_counted(encoder: Classifier) -> None:
    (subject,) = subjects_of(encoder, [TEXT])
    before = subject.forward, subject.backward
    with watched(encoder) as passes:
        search, texts = prepared([subject], "integrated_gradients")
        search.attack(texts)
    assert (subject.forward - before[0], subject.backward - before[1]) == (passes.forward, passes.backward)
    assert passes.forward == 4 * (1 + len(GOALS) * (SETTINGS.steps + 1))


def test_numbers_that_are_not_finite_stop_their_run_alone(encoder: Classifier, monkeypatch: pytest.MonkeyPatch) -> None:
    read = Maps.read

    def broken(self: Maps, batch: Batch, moved_by: Tensor, **options: object) -> object:
        far = moved_by.detach().abs().amax(dim=(1, 2)) > 0.022
        return read(self, batch, moved_by + torch.where(far, torch.nan, 0.0)[:, None, None], **options)

    monkeypatch.setattr(Maps, "read", broken)
    small, _, large = runs(encoder, [TEXT], settings=Settings(6, 0.1, 1.0, 0.01, 0.0, "content"))[0]
    assert (large.ending, large.steps) == ("not_finite", 0)
    assert large.failed
    assert (small.ending, small.steps) == ("not_finite", 4)
    assert small.best.step <= 4
    assert np.isfinite(small.best.scores).all()


# ReLUs ---------------------------------------------------------------------------------------------------------------


def test_a_surrogate_gives_the_direction_and_the_model_the_measures(zoo: Zoo) -> None:
    """The model is T5, which has ReLUs."""
    with exact(zoo("t5")) as classifier:
        plain, smooth = (
            prepared(subjects_of(classifier, [TEXT]), "gradient", Settings(3, 0.1, 1.0, 0.01, beta, "content"))
            for beta in (0.0, 5.0)
        )
        assert plain[0].met_relu
        for search, texts in (plain, smooth):
            search.attack(texts)
        (first,), (second,) = plain[1], smooth[1]
        assert second.runs[0].trajectory.share[0] == pytest.approx(first.runs[0].trajectory.share[0], rel=1e-12)
        assert not torch.equal(first.moved_by, second.moved_by)
