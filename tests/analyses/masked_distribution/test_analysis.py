"""Masked texts in distribution: models trained with masks and without, texts by hand, and refusals."""

from __future__ import annotations

import csv
import random
from pathlib import Path

import numpy as np
import pytest
import torch

from explainlab import load_model, study
from explainlab.analyses.masked_distribution.analysis import MaskedDistribution, check_of
from explainlab.analyses.masked_distribution.figures import told_apart
from explainlab.analyses.masked_distribution.result import Baseline, MaskedDistributionData, line, reach, short_answer
from explainlab.analyses.masked_distribution.versions import (
    HALF,
    WHOLE,
    as_in_training,
    features,
    masked_version,
    orders,
    shuffled_version,
    training_masks,
)
from explainlab.analyses.registry import get_study
from explainlab.errors import RequestError
from explainlab.models.batching import Batcher
from explainlab.models.classifier import Classifier
from explainlab.models.context import RunContext
from explainlab.request import Request
from explainlab.testing import check_analysis
from explainlab.training import Examples, settings_for, train
from tests.conftest import Zoo

SIZE = {"layers": 2, "width": 32, "heads": 2, "vocabulary": 200, "batch_size": 32, "max_tokens": 32}
NOUNS = ["film", "plot", "story", "actor", "scene", "music"]
WORDS = {"negative": ["dull", "awful", "boring"], "positive": ["bright", "lovely", "moving"]}


def sentences(n: int, seed: int) -> Examples:
    """Return sentences of one form, whose third word reveals the class."""
    drawn, texts, labels = random.Random(seed), [], []
    for i in range(n):
        label = ("negative", "positive")[i % 2]
        one, two = drawn.sample(NOUNS, 2)
        texts.append(f"the {one} {drawn.choice(WORDS[label])} and the {two} of it")
        labels.append(label)
    return Examples(texts, labels)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two models of the same texts, one trained on masks, and a file of other texts."""
    folder: Path = tmp_path_factory.mktemp("masked")
    for name, recipe in (("plain", "roar"), ("masked", "masked")):
        asked = settings_for("bert", **SIZE, recipe=recipe, epochs=6, learning_rate=3e-3, dropout=0.0)
        train(sentences(600, 1), "bert", folder / name, asked)
    own = sentences(400, 2)
    with (folder / "texts.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["text", "label"], *zip(own.texts, own.labels, strict=True)])
    return folder


def checked(folder: Path, model: str, **parameters: object) -> MaskedDistributionData:
    classifier = load_model(str(folder / model), device="cpu")
    asked = {"rows": 400, "sample": "all", "ratios": "20,60", "baselines": "mask", **parameters}
    body: MaskedDistributionData = study(
        classifier, "masked_distribution", data=str(folder / "texts.csv"), **asked
    ).body
    return body


def test_a_model_that_never_saw_masks_tells_masked_texts_apart(folder: Path) -> None:
    plain, masked = checked(folder, "plain"), checked(folder, "masked")
    assert (plain.told, masked.told) == (False, True)
    for body in (plain, masked):
        assert (body.n, body.reference, body.layers) == (200, 200, 2)
        assert body.alike.mean < 0.05 + 3 * (2 * 0.05 * 0.95 / 200) ** 0.5
        assert body.whole.mean < 0.05 + 3 * (2 * 0.05 * 0.95 / 200) ** 0.5, "whole texts are like the others"
    one, other = plain.baselines[0], masked.baselines[0]
    for without, with_masks in zip(one.ratios, other.ratios, strict=True):
        assert without.low > with_masks.high
    assert plain.shuffled.low > plain.whole.high, "a shuffled text is told apart more often"
    assert (reach(one), short_answer(one), short_answer(other)) == (None, "no", "yes")
    axes = told_apart(plain).figure.layout
    assert axes.xaxis.tickformat == axes.yaxis.tickformat == ".0%", "both axes are shares"
    assert line(plain).endswith(": no.")
    assert line(None).endswith("not checked.")


def test_the_reference_is_masked_as_one_says(folder: Path) -> None:
    """Compare with unmasked texts alone: then masked ones are unusual even to the model trained on masks."""
    classifier = load_model(str(folder / "masked"), device="cpu")
    texts = [classifier.encode(text) for text in sentences(200, 3).texts]
    mask = classifier.tokenizer.mask_token_id
    shares = [
        np.mean(own.ids[text.content] == mask)
        for own, text in zip(as_in_training(classifier, texts, HALF, 0), texts, strict=True)
    ]
    assert sum(share == 0 for share in shares) >= 100
    assert max(shares) > 0.8
    whole = as_in_training(classifier, texts, WHOLE, 0)
    assert all(np.array_equal(own.ids, text.ids) for own, text in zip(whole, texts, strict=True))
    found = training_masks(classifier)
    assert found is not None
    assert (found.masking, found.mask_share, found.heavy_mask) == (True, 0.0, 0.0)
    assert checked(folder, "masked", masks="none").baselines[0].ratios[1].mean > 0.5


def test_versions_are_those_made_by_hand(zoo: Zoo) -> None:
    classifier = zoo("bert")
    text = classifier.encode("a stirring, funny film that never loses its way")
    (order,) = orders([text], 5)
    assert sorted(order) == np.flatnonzero(text.content).tolist()
    hidden = order[: round(0.3 * len(order))]
    stays = ~np.isin(np.arange(len(text)), hidden)
    for baseline in ("mask", "unk"):
        version = masked_version(classifier, text, order, 30, baseline)
        assert set(version.ids[~stays]) == {classifier.filler_id(baseline)}
        assert np.array_equal(version.ids[stays], text.ids[stays])
    assert np.array_equal(masked_version(classifier, text, order, 30, "delete").ids, text.ids[stays])
    assert np.array_equal(masked_version(classifier, text, order, 0, "mask").ids, text.ids)
    assert set(hidden) <= set(order[: round(0.6 * len(order))]), "what is masked stays masked at higher ratios"
    assert sorted(shuffled_version(text, order).ids) == sorted(text.ids)
    decoder = zoo("gpt2")
    nothing = masked_version(decoder, decoder.encode("film"), *orders([decoder.encode("film")], 0), 100, "delete")
    assert nothing.ids.tolist() == [decoder.filler_id("mask")], "as metrics read a text of which nothing is left"


@pytest.mark.parametrize(
    "name", ["bert", "gpt2", "roberta", "t5", "t5-encoder", "albert", "deberta", "bilstm", "llama"]
)
def test_features_are_the_states_that_the_head_reads(zoo: Zoo, name: str) -> None:
    """Run texts alone and in a batch of other lengths and baselines; check ``pad`` by the network's embeddings."""
    classifier = zoo(name)
    texts = [classifier.encode(text) for text in ("a good film", "the plot is thin and the acting is worse than it")]
    drawn = orders(texts, 0)
    baselines: list[Baseline] = ["mask", "zero", "delete", *(["pad"] if classifier.tokenizer.pad_token else [])]
    pairs = [*zip(texts, drawn, strict=True)]
    versions = [masked_version(classifier, *own, 40, baseline) for baseline in baselines for own in pairs]
    together = features(Batcher(classifier, RunContext()), versions)
    alone = [features(Batcher(classifier, RunContext()), [version])[0] for version in versions]
    assert torch.allclose(together, torch.stack(alone), atol=1e-4)
    assert together.shape[:2] == (len(versions), together.shape[1])
    assert together.isfinite().all()


def test_bert_features_are_its_first_hidden_states(zoo: Zoo) -> None:
    classifier = zoo("bert")
    text = classifier.encode("a good film")
    version = masked_version(classifier, text, *orders([text], 0), 50, "mask")
    network = classifier.model.network
    with torch.no_grad():
        states = network(input_ids=torch.tensor(version.ids)[None], output_hidden_states=True).hidden_states[1:]
    found = features(Batcher(classifier, RunContext()), [version])[0]
    assert torch.allclose(found, torch.stack([state[0, 0] for state in states]), atol=1e-5)


def test_baselines_that_a_model_lacks_are_left_out_and_told(zoo: Zoo) -> None:
    result = study(
        zoo("gpt2"), "masked_distribution", data="embedded:sentiment", rows=40, ratios=[50], baselines="mask,unk"
    )
    body = result.body
    lacks = zoo("gpt2").tokenizer.unk_token_id is None
    assert [own.baseline for own in body.baselines] == (["mask"] if lacks else ["mask", "unk"])
    assert bool(body.left_out) == lacks


def test_too_few_texts_and_single_texts_are_refused(zoo: Zoo) -> None:
    with pytest.raises(RequestError, match=r"30 rows .* too few"):
        study(zoo("bert"), "masked_distribution", data="embedded:sentiment", rows=30)
    with pytest.raises(RequestError, match="not for a single text"):
        study(zoo("bert"), "masked_distribution", text="a good film")
    for wrong in ({"ratios": "0,50"}, {"ratios": "50,20"}, {"baselines": "mask,mask"}, {"baselines": "blank"}):
        with pytest.raises(RequestError):
            study(zoo("bert"), "masked_distribution", data="embedded:sentiment", **wrong)


def test_the_check_of_a_page_is_the_same_whatever_else_is_asked() -> None:
    evaluation = Request(question="evaluation", model="embedded:bert-mini-sst2", data="embedded:sentiment", seed=7)
    text = Request(question="gradient", model="embedded:bert-mini-sst2", text="a good film", seed=3)
    assert check_of(evaluation, "embedded:sentiment") == check_of(text, "embedded:sentiment")


def test_numbers_stand_beside_those_of_other_models(folder: Path) -> None:
    classifier = load_model(str(folder / "plain"), device="cpu")
    result = study(
        classifier, "masked_distribution", data=str(folder / "texts.csv"), rows=80, ratios="50", baselines="mask,zero"
    )
    told = "\n".join(get_study("masked_distribution").report(result).lines)
    assert "shuffled" in told
    assert f"{result.body.baselines[1].ratios[0].mean:.3f}" in told
    numbers = get_study("masked_distribution").report(result).numbers
    assert [number.of for number in numbers] == ["mask", "zero"]
    assert numbers[0].value.mean == pytest.approx(result.body.baselines[0].ratios[0].mean)


def test_it_fulfils_the_contract(zoo: Zoo) -> None:
    model: Classifier = zoo("bert")
    check_analysis(
        MaskedDistribution(),
        model,
        text=None,
        data="embedded:sentiment",
        rows=40,
        ratios=[50],
        baselines=["mask", "pad"],
    )
