"""max_entropy: the right text, fitted into the text explained, chosen once, counted, told, and never stale."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from explainlab import Attribution, explain, load_model, methods
from explainlab.analyses.registry import request_key
from explainlab.attribution.baselines import choose, data_digest, data_source, entropies, max_entropy
from explainlab.attribution.registry import complete, get_method
from explainlab.attribution.subject import Subject
from explainlab.data import Dataset, Row, read_dataset
from explainlab.errors import Cancelled, DataError, ModelError, RequestError, ResourceError
from explainlab.limits import Limits
from explainlab.models.batching import HALVED, Batcher
from explainlab.models.classifier import Classifier
from explainlab.models.context import RunContext
from explainlab.reader import ANYBODY
from explainlab.request import Request
from explainlab.testing import exact, traces
from explainlab.testing.observation import Recorder
from tests.conftest import ON_ENCODERS, Zoo
from tests.failures import check_each
from tests.toys import Linear, toy
from tests.zoo import CORPUS

TEXT = "a good film, a great story"
CHEAP = {"samples": 6, "steps": 4, "max_steps": 9, "neighbours": 20}
OFFERED = [
    method.id
    for method in methods().values()
    for spec in method.parameter_specs()
    if method.id in ON_ENCODERS and spec.name == "baseline" and "max_entropy" in spec.choices
]
MakeFile = Callable[..., str]


def dataset(*texts: str, name: str = "texts") -> Dataset:
    return Dataset(name, tuple(Row(number, text) for number, text in enumerate(texts, start=1)))


def entropy_of(classifier: Classifier, text: str, pair: str | None = None) -> float:
    """H(p) by its definition, of a text all alone."""
    probabilities = classifier.predict(classifier.encode(text, pair)).probabilities.values()
    return -sum(p * math.log(p) for p in probabilities if p)


@pytest.fixture
def data(tmp_path: Path) -> MakeFile:
    """Writes a data file of texts and returns its path."""

    def make(texts: Iterable[str] = CORPUS, name: str = "texts.csv") -> str:
        with (tmp_path / name).open("w", newline="") as file:
            csv.writer(file).writerows([["text"], *([text] for text in texts)])
        return str(tmp_path / name)

    return make


@contextmanager
def room_for(classifier: Classifier, rows: int) -> Iterator[list[int]]:
    """More than ``rows`` texts at once do not fit into the memory; gives the sizes of the batches that do."""
    sizes: list[int] = []

    def before(_: nn.Module, args: tuple, kwargs: dict[str, Any]) -> None:
        count = len(args[0] if args else kwargs["input_ids"])
        if count > rows:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 1 GiB.")
        sizes.append(count)

    hook = classifier.model.network.base_model.register_forward_pre_hook(before, with_kwargs=True)
    try:
        yield sizes
    finally:
        hook.remove()


# Which text ----------------------------------------------------------------------------------------------------------


class Margin(nn.Module):
    """Binary logistic: the log odds are the sum of the first number of every embedding."""

    def forward(self, x: Tensor) -> Tensor:
        margin = x[..., 0].sum(dim=1)
        return torch.stack([margin, torch.zeros_like(margin)], dim=-1)


def test_a_text_on_the_boundary_has_the_entropy_log_2_and_gives_one_half(zoo: Zoo) -> None:
    classifier = toy(Margin(), zoo("gpt2").tokenizer)
    weight = classifier.model.network.embeddings.weight.data
    weight[:, 0] = 1
    weight[classifier.pad_id, 0] = 0
    even = classifier.encode(CORPUS[2]).ids
    weight[even, 0] = 0
    others = [text for i, text in enumerate(CORPUS) if i != 2]
    assert all(abs(classifier.logits(classifier.inputs([classifier.encode(text)]))[0, 0]) > 0.5 for text in others)

    found = max_entropy(Batcher(classifier, RunContext()), dataset(*others[:3], CORPUS[2], *others[3:]))
    assert (found.row, found.text, found.ids) == (4, CORPUS[2], tuple(even))
    assert found.entropy == pytest.approx(math.log(2), abs=1e-7)
    short = classifier.encode(others[0][: len(others[0]) // 2])
    assert len(short) <= len(even)
    embeddings = classifier.embed(torch.as_tensor(found.fitted(len(short), 1)))
    assert Subject(classifier, short, target="first").values(embeddings[None])[0] == pytest.approx(0.5, abs=1e-12)


def test_it_is_the_argmax_of_the_entropy(classifier: Classifier) -> None:
    texts = [row.text for row in read_dataset("embedded:sentiment", limit=25).rows]
    expected = np.array([entropy_of(classifier, text) for text in texts])
    encodings = [classifier.encode(text) for text in texts]
    found = entropies(Batcher(classifier, RunContext()), encodings, 0, len(texts))
    np.testing.assert_allclose(found, expected, atol=2e-6)
    chosen = max_entropy(Batcher(classifier, RunContext()), dataset(*texts))
    assert chosen.entropy == pytest.approx(expected.max(), abs=2e-6)
    assert expected[chosen.row - 1] == pytest.approx(expected.max(), abs=2e-6)
    assert chosen.passes == len(texts)


def test_of_equal_texts_the_first_is_taken(encoder: Classifier) -> None:
    chosen = max_entropy(Batcher(encoder, RunContext()), dataset(*CORPUS))
    again = dataset(*CORPUS, *CORPUS[::-1], *CORPUS)
    for tokens in (0, 20, 70):
        classifier = replace(encoder, limits=Limits(batch_tokens=tokens))
        assert max_entropy(Batcher(classifier, RunContext()), again).row == chosen.row


def test_many_rows_are_read_window_by_window(encoder: Classifier, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder()
    with exact(encoder) as twin:
        whole = max_entropy(Batcher(twin, RunContext()), dataset(*CORPUS))
        monkeypatch.setattr("explainlab.attribution.baselines._WINDOW", 4)
        assert max_entropy(Batcher(twin, recorder.context), dataset(*CORPUS)) == whole
    assert [(done, total) for done, total, _ in recorder.seen] == [(4, 6), (6, 6)]
    assert {phase for _, _, phase in recorder.seen} == {"choosing the baseline"}


def test_a_pair_is_chosen_as_a_pair(encoder: Classifier) -> None:
    rows = Dataset("pairs", tuple(Row(n, text, "the plot") for n, text in enumerate(CORPUS, start=1)))
    found = max_entropy(Batcher(encoder, RunContext()), rows)
    encoding = encoder.encode(found.text, "the plot")
    assert found.text_pair == "the plot"
    assert found.ids == tuple(encoding.ids[encoding.content])
    assert found.entropy == pytest.approx(entropy_of(encoder, found.text, "the plot"), abs=1e-6)
    assert "| the plot" in found.note("pairs", 3)


def test_texts_that_cannot_be_read_are_left_out(encoder: Classifier, data: MakeFile) -> None:
    plain = max_entropy(Batcher(encoder, RunContext()), dataset(*CORPUS))
    recorder = Recorder()
    found = max_entropy(Batcher(encoder, recorder.context), dataset(" ", "[SEP] [MASK]", *CORPUS, ""))
    assert (found.text, found.row, found.passes) == (plain.text, plain.row + 2, plain.passes)
    assert recorder.seen[-1][:2] == (9, 9)
    assert choose(Batcher(encoder, RunContext()), data(["", *CORPUS])).text == plain.text


@pytest.mark.parametrize(("texts", "error"), [(["[SEP]", "[MASK] [SEP]"], "read no text"), (["", " "], "No row of")])
def test_without_a_readable_text_it_says_so(encoder: Classifier, data: MakeFile, texts: list[str], error: str) -> None:
    with pytest.raises(DataError, match=error):
        explain(encoder, TEXT, baseline="max_entropy", baseline_data=data(texts))


def test_more_rows_than_evaluations_allowed_are_refused(encoder: Classifier) -> None:
    classifier = replace(encoder, limits=Limits(max_evaluations=5))
    with pytest.raises(RequestError, match=r"6 rows.*5 at most.*max_evaluations"):
        max_entropy(Batcher(classifier, RunContext()), dataset(*CORPUS))


# In place of the text ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "t5"])
@pytest.mark.parametrize(
    ("text", "pair"), [("a film", None), ("film " * 40, None), ("a good film", "the plot is thin")]
)
def test_it_is_cut_or_padded_to_the_content_of_the_text(
    zoo: Zoo, data: MakeFile, name: str, text: str, pair: str | None
) -> None:
    classifier, source = zoo(name), data()
    encoding = classifier.encode(text, pair).padded(60, classifier.pad_id)
    subject = Subject(classifier, encoding, baseline_data=source)
    found = choose(Batcher(classifier, RunContext()), source)
    count = int(encoding.content.sum())
    ids = [*found.ids, *[classifier.filler_id("mask")] * count][:count]
    expected = encoding.ids.copy()
    expected[encoding.content] = ids
    assert torch.equal(subject.baseline("max_entropy"), classifier.embed(torch.as_tensor(expected)))
    assert pair or (len(found.ids) > count) == (text == "a film"), "both cut and padded"


def test_the_chosen_text_explained_is_its_own_baseline(encoder: Classifier, data: MakeFile) -> None:
    source = data()
    text = choose(Batcher(encoder, RunContext()), source).text
    result = explain(encoder, text, baseline="max_entropy", baseline_data=source, steps=4)
    assert not result.scores.any()


# Every method that offers it -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sentiment() -> Classifier:
    return load_model("embedded:bert-mini-sst2", device="cpu")


def run(classifier: Classifier, method: str, **options: Any) -> Attribution:
    fields = get_method(method).Parameters.model_fields
    cheap = {name: value for name, value in CHEAP.items() if name in fields}
    return explain(classifier, TEXT, method, **{"baseline": "max_entropy", **cheap, **options})


def test_all_who_start_from_a_baseline_offer_it() -> None:
    named = {method for method in ON_ENCODERS if "baseline_data" in get_method(method).Parameters.model_fields}
    assert named <= set(OFFERED)
    assert named >= {"integrated_gradients", "gradient_shap", "deep_lift", "lime", "kernel_shap", "occlusion"}


def test_every_method_starts_from_it(sentiment: Classifier, data: MakeFile) -> None:
    """Its passes count when it is chosen, not when it is remembered."""
    source = data()

    def check(method: str) -> None:
        before, context = traces(sentiment), RunContext()
        first = run(sentiment, method, baseline_data=source, context=context)
        assert np.isfinite(first.scores).all()
        assert np.abs(first.scores).max() > 0
        chosen = choose(Batcher(sentiment, context), source)
        (note,) = first.notes
        assert f"row {chosen.row} of {source}, entropy {chosen.entropy:.3f} " in note
        again = run(sentiment, method, baseline_data=source, context=context)
        assert np.array_equal(again.scores, first.scores)
        assert again.notes == first.notes
        assert first.cost.forward - again.cost.forward == len(CORPUS)
        assert traces(sentiment) == before

    check_each(check, OFFERED)


def test_without_data_it_is_one_of_the_examples_of_the_models_classes(sentiment: Classifier) -> None:
    context, examples = RunContext(), read_dataset("embedded:sentiment").rows
    (note,) = run(sentiment, "gradient_shap", context=context).notes
    chosen = choose(Batcher(sentiment, context), "embedded:sentiment")
    assert note == (
        f"Baseline: row {chosen.row} of embedded:sentiment, entropy {chosen.entropy:.3f} of at most 0.693: "
        f"{examples[chosen.row - 1].text!r}"
    )


def test_the_sum_of_the_scores_starts_from_it(sentiment: Classifier, data: MakeFile) -> None:
    source = data()
    result = run(sentiment, "integrated_gradients", steps=50, baseline_data=source)
    subject = Subject(sentiment, sentiment.encode(TEXT), baseline_data=source)
    start = subject.values(subject.baseline("max_entropy")[None])[0]
    assert result.completeness.expected == pytest.approx(subject.scalar(subject.original) - start, abs=1e-6)
    assert Attribution.from_json(result.to_json()).notes == result.notes


def test_other_baselines_have_no_note_and_read_no_data(encoder: Classifier) -> None:
    assert explain(encoder, TEXT, steps=2, baseline_data="no/such.csv").notes == ()


def test_a_long_text_is_told_in_part(encoder: Classifier, data: MakeFile) -> None:
    (note,) = run(encoder, "occlusion", baseline_data=data(["film " * 60])).notes
    assert note.endswith("film film f…'") or note.endswith("…'")
    assert len(note.split(": ", 2)[2]) == 82


# What cannot be ------------------------------------------------------------------------------------------------------


def test_without_examples_of_its_classes_a_file_is_asked_for(encoder: Classifier) -> None:
    with pytest.raises(RequestError, match="baseline_data"):
        explain(encoder, TEXT, baseline="max_entropy")
    assert data_source("my.csv", encoder) == "my.csv"


def test_a_file_that_is_not_there_is_told(encoder: Classifier) -> None:
    with pytest.raises(DataError, match="no data file"):
        explain(encoder, TEXT, baseline="max_entropy", baseline_data="no/such.csv")


def test_scores_that_are_no_numbers_are_refused(zoo: Zoo) -> None:
    classifier = toy(Linear(), zoo("gpt2").tokenizer)
    classifier.model.network.head.bias.data[0] = torch.nan
    with pytest.raises(ModelError, match="not finite numbers"):
        max_entropy(Batcher(classifier, RunContext()), dataset(*CORPUS))


def test_it_can_be_cancelled(encoder: Classifier, data: MakeFile) -> None:
    classifier = replace(encoder, limits=Limits(batch_tokens=20))
    recorder = Recorder(last=3)
    with room_for(classifier, 99) as sizes, pytest.raises(Cancelled):
        explain(classifier, TEXT, baseline="max_entropy", baseline_data=data(), context=recorder.context)
    assert len(sizes) == len(recorder.seen) == 2
    done = [done for done, _, _ in recorder.seen]
    assert done == sorted(set(done))


def test_memory_running_out_halves_the_batches(encoder: Classifier) -> None:
    expected = max_entropy(Batcher(encoder, RunContext()), dataset(*CORPUS))
    with room_for(encoder, 2) as sizes:
        found = max_entropy(Batcher(encoder, RunContext()), dataset(*CORPUS))
    assert (found.row, found.passes, sum(sizes)) == (expected.row, expected.passes, len(CORPUS))
    with room_for(encoder, 0), pytest.raises(ResourceError, match=r"One text of \d+ tokens does not fit"):
        max_entropy(Batcher(encoder, RunContext()), dataset(*CORPUS))


def test_a_halved_batch_stays_halved_and_is_told(
    encoder: Classifier, data: MakeFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explainlab.attribution.baselines._WINDOW", 3)
    batcher = Batcher(encoder, RunContext())
    with room_for(encoder, 2):
        max_entropy(batcher, dataset(*CORPUS))
        assert batcher.halvings == 1, "once, not once a window"
        warnings = explain(encoder, TEXT, "gradient_shap", baseline="max_entropy", baseline_data=data()).warnings
    assert HALVED in warnings


# Memory --------------------------------------------------------------------------------------------------------------


def test_a_context_remembers_until_model_precision_or_data_change(
    encoder: Classifier, zoo: Zoo, zoo_path: Callable[[str], Path], data: MakeFile
) -> None:
    context, source = RunContext(), data()
    first = choose(Batcher(encoder, context), source)
    assert first.passes == len(CORPUS)
    again = choose(Batcher(encoder, context), source)
    assert (again, again.passes) == (first, 0)
    assert choose(Batcher(encoder, context), data(name="copy.csv")).passes == 0, "the same content under another name"
    assert choose(Batcher(encoder, RunContext()), source).passes == len(CORPUS)
    assert choose(Batcher(zoo("distilbert"), context), source).passes == len(CORPUS)
    assert choose(Batcher(load_model(str(zoo_path("bert")), "cpu", "bfloat16"), context), source).passes == len(CORPUS)
    _later(data(["another film"]))
    assert choose(Batcher(encoder, context), source).text == "another film"


def test_the_key_of_a_result_knows_the_data(data: MakeFile) -> None:
    def key(**parameters: Any) -> str:
        request = Request(model="m", text="t", question="occlusion", parameters=parameters)
        return request_key(complete(request), "d" * 64)

    source = data()
    asked = {"baseline": "max_entropy", "baseline_data": source}
    first, plain = key(**asked), key(baseline="mask", baseline_data=source)
    assert len({first, plain, key(baseline="max_entropy"), key()}) == 4
    _later(data([*CORPUS, "one more"]))
    assert key(**asked) != first
    assert key(baseline="mask", baseline_data=source) == plain, "not read, so not asked"
    _later(data(), by=2)
    assert key(**asked) == first
    assert data_digest({"baseline": "max_entropy", "baseline_data": "no/such.csv"}, ANYBODY) == ""


def _later(path: str, by: int = 1) -> None:
    """A clock too coarse to tell two writes apart does not hide the second."""
    seconds = os.stat(path).st_mtime + 60 * by
    os.utime(path, (seconds, seconds))
