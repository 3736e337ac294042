"""Half precision against a slow loop by hand: exact where nothing is rounded, and the formats that cannot run."""

from __future__ import annotations

import csv
import gc
import json
import shutil
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import scipy.stats
import torch
import transformers

from explainlab import cli, study
from explainlab.analyses.attributions import text_seed
from explainlab.analyses.explain.analysis import Explain
from explainlab.analyses.precision import halves
from explainlab.analyses.precision.analysis import USUAL
from explainlab.analyses.precision.halves import read_in
from explainlab.analyses.precision.result import PrecisionData, PrecisionText
from explainlab.analyses.registry import analyses
from explainlab.analyses.summary import interval
from explainlab.attribution import registry
from explainlab.attribution.explain import explain
from explainlab.attribution.method import Method, Outcome
from explainlab.attribution.subject import Subject
from explainlab.declared import Parameters
from explainlab.errors import ModelError, RequestError, UnsupportedError
from explainlab.models.classifier import Classifier
from explainlab.models.loading import load_model
from explainlab.request import Request
from explainlab.service.resolved import resolve
from explainlab.service.service import Service
from explainlab.service.store.store import Store
from explainlab.testing.observation import unchanged
from tests.conftest import Zoo
from tests.zoo import build

TEXTS = [
    "a stirring, funny film that never loses its way",
    "the plot is thin and the acting is worse than the plot",
    "a good film",
    "Markets fell sharply on Monday as oil prices rose.",
]
HALF = "bfloat16"
Change = Callable[[transformers.PreTrainedModel], None]
Made = Callable[[Change], Classifier]


class Zero(Method):
    """A method whose scores are all 0."""

    id: ClassVar = "zero"
    label: ClassVar = "Zero"
    family: ClassVar = "Others"
    source: ClassVar = "A test"
    definition: ClassVar = "0"

    def attribute(self, subject: Subject, parameters: Parameters) -> Outcome:
        return Outcome(np.zeros(len(subject.units.features)))


class Whole(Zero):
    """The place of a feature, but no map of long texts in half precision."""

    id: ClassVar = "whole"
    label: ClassVar = "Whole"

    def attribute(self, subject: Subject, parameters: Parameters) -> Outcome:
        n = len(subject.units.features)
        if subject.classifier.dtype != torch.float32 and n > 7:
            raise ModelError("It overflows.", "Use float32.")
        return Outcome(np.arange(1.0, 1 + n))


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    for method in (Zero(), Whole()):
        monkeypatch.setitem(registry.methods(), method.id, method)
        monkeypatch.setitem(analyses(), method.id, Explain(method))


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """Return a function that changes the files of a tiny model and loads it."""

    def make(change: Change, dtype: torch.dtype = torch.float32) -> Classifier:
        path = build("bert", tmp_path / "model")
        network = transformers.AutoModelForSequenceClassification.from_pretrained(path, dtype=dtype)
        with torch.no_grad():
            change(network)
        network.save_pretrained(path)
        return load_model(str(path), device="cpu")

    return make


def of_text(classifier: Classifier, text: str, **asked: Any) -> PrecisionText:
    with unchanged(classifier, "the comparison"):
        body = study(classifier, "precision", text, **asked).body
    assert isinstance(body, PrecisionText)
    return body


def of_data(classifier: Classifier, path: Path, texts: Sequence[str] = TEXTS, **asked: Any) -> PrecisionData:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *((text, 0) for text in texts)])
    body = study(classifier, "precision", data=str(path), sample="first", **asked).body
    assert isinstance(body, PrecisionData)
    return body


# Numbers -------------------------------------------------------------------------------------------------------------


def by_hand(path: str, text: str, dtype: torch.dtype, target: int | None) -> tuple[np.ndarray, int, np.ndarray]:
    """Return the logits, the class explained (None: the predicted one), and the gradient norms of its probability."""
    network = transformers.AutoModelForSequenceClassification.from_pretrained(path, dtype=dtype).eval()
    tokens = transformers.AutoTokenizer.from_pretrained(path)(text, return_tensors="pt")
    embeddings = network.get_input_embeddings()(tokens.pop("input_ids")).detach().requires_grad_()
    logits = network(inputs_embeds=embeddings, **tokens).logits.float()[0]
    target = int(logits.argmax()) if target is None else target
    (gradient,) = torch.autograd.grad(logits.softmax(-1)[target], embeddings)
    return logits.detach().numpy(), target, gradient[0].float().norm(dim=-1).numpy()[1:-1]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_the_numbers_are_those_of_a_slow_loop(zoo: Zoo, tmp_path: Path, dtype: str) -> None:
    classifier, expected = zoo("bert"), []
    for text in TEXTS:
        logits, target, scores = by_hand(classifier.id, text, torch.float32, None)
        half_logits, _, half = by_hand(classifier.id, text, getattr(torch, dtype), target)
        rho = scipy.stats.spearmanr(scores, half).statistic
        top, half_top = (set(np.argsort(-own, kind="stable")[:5].tolist()) for own in (scores, half))
        kept = len(top & half_top) / 5 if len(scores) > 5 else None
        changed = int(half_logits.argmax() != target)
        expected.append((float(np.abs(half_logits - logits).max()), changed, rho, kept))
        (row,) = of_text(classifier, text, methods="gradient", dtypes=dtype).rows
        assert row.logits.mean == pytest.approx(expected[-1][0], rel=1e-3)
        assert (row.dtype, row.method, row.predictions_changed, row.n) == (dtype, "gradient", changed, 1)
        assert row.rank_correlation.mean == pytest.approx(rho, abs=1e-9)
        assert row.top_5.mean == kept
        assert row.short == (kept is None)
    body = of_data(classifier, tmp_path / "rows.csv", methods="gradient", dtypes=dtype)
    (row,), n = body.rows, len(TEXTS)
    assert (body.n, row.n, row.short, row.undefined, row.broken) == (n, n, 1, 0, 0)
    singles = [of_text(classifier, text, methods="gradient", dtypes=dtype).texts[0] for text in TEXTS]
    rounding = torch.finfo(getattr(torch, dtype)).eps
    assert row.logits.mean == pytest.approx(np.mean([own[0] for own in expected]), abs=rounding), (
        "batches round otherwise"
    )
    assert row.rank_correlation == interval([text.maps[0].rank_correlation or 0.0 for text in body.texts])
    assert row.top_5 == interval([own for text in body.texts if (own := text.maps[0].top_5) is not None])
    assert [text.margin for text in body.texts] == pytest.approx([text.margin for text in singles], rel=1e-4)


def test_float32_against_float32_is_exactly_the_same(zoo: Zoo, tmp_path: Path) -> None:
    classifier = zoo("bert")
    body = of_data(classifier, tmp_path / "rows.csv", methods="gradient,occlusion,lime:samples=20", dtypes="float32")
    for row in body.rows:
        assert (row.logits.mean, row.predictions_changed, row.rank_correlation.mean, row.top_5.mean) == (0, 0, 1, 1)
    assert [own.rounded for own in body.formats] == [False]
    (drawn,) = [own for own in body.controls if own.against == "seed"]
    assert drawn.method == "lime:samples=20"
    assert 0 < (drawn.rank_correlation.mean or 0) < 1, "other draws give another map"
    random = [own for own in body.controls if own.against == "random"]
    assert [own.n for own in random] == [len(TEXTS)] * 3
    assert all(abs(own.rank_correlation.mean or 0) < 0.2 for own in random)
    assert all(0.2 < (own.top_5.mean or 0) < 0.8 for own in random)


def test_the_model_is_loaded_anew_and_gives_the_same_map(zoo: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute equal maps twice, since nothing is remembered here; the copy is gone afterwards."""
    classifier, copies = zoo("bert"), []
    load = halves.in_dtype

    def watched(*asked: Any) -> Classifier:
        other = load(*asked)
        copies.append(weakref.ref(other.model.network))
        return other

    monkeypatch.setattr(halves, "in_dtype", watched)
    subject = Subject(classifier, classifier.encode(TEXTS[0]))
    subject.target  # noqa: B018
    found = read_in([subject], [("gradient", {})], "float32", "own")
    expected = explain(classifier, TEXTS[0], "gradient")
    (map_,) = found.maps[0]
    assert not isinstance(map_, str)
    np.testing.assert_array_equal(map_.scores, expected.scores)
    np.testing.assert_array_equal(found.logits[0], subject.original)
    assert subject.forward == 2 + expected.cost.forward, "the text is read once in each"
    gc.collect()
    assert [own() for own in copies] == [None]


def test_the_class_of_float32_is_explained_where_the_prediction_changes(made: Made) -> None:
    def tie(network: Any) -> None:
        """Set one class far from the others, and two to nearly equal logits: rounding turns them around."""
        head = network.classifier
        head.weight[1] = head.weight[0] * (1 + 2**-9)
        head.bias[:2] = torch.tensor([0.0, 0.0])
        head.bias[2] = -100.0

    classifier = made(tie)
    bodies = [of_text(classifier, text, methods="occlusion,input_x_gradient", dtypes=HALF) for text in TEXTS]
    changed = [body for body in bodies if body.rows[0].predictions_changed]
    assert changed, "no prediction changes"
    body = changed[0]
    text, (read,) = body.texts[0].text, body.texts[0].read
    assert read.predicted != body.prediction.label == body.target.label == body.texts[0].predicted
    half = load_model(classifier.id, "cpu", HALF)
    for name in ("occlusion", "input_x_gradient"):
        (scores,) = [own.scores for own in body.maps if (own.dtype, own.method) == (HALF, name)]
        np.testing.assert_array_equal(scores, explain(half, text, name, target=body.target.label).scores)
        assert scores != explain(half, text, name).scores.tolist()


def test_maps_are_stored_as_the_answers_that_explain_would_ask_for(
    zoo_path: Callable[[str], Path], tmp_path: Path
) -> None:
    service = Service(Store("sqlite://"), "cpu")
    path = tmp_path / "rows.csv"
    path.write_text("text,label\n" + "".join(f'"{text}",0\n' for text in TEXTS))
    parameters = {"methods": ["gradient"], "dtypes": [HALF]}
    job = service.submit(
        resolve(Request(question="precision", model=str(zoo_path("bert")), data=str(path), parameters=parameters))
    )
    assert service.engine.wait(job, 60)
    assert isinstance(job.result, object), job.progress.error
    whole = service.workers[0].pool.get(str(zoo_path("bert")), "float32")
    for text in TEXTS:
        seed = text_seed(Subject(whole, whole.encode(text)))
        asked = {"question": "gradient", "model": whole.id, "text": text, "seed": seed}
        found = service.find(resolve(Request(**asked, dtype=HALF)))
        assert found is not None
        assert any(HALF in note for note in found.notes)
        assert service.find(resolve(Request(**asked, dtype="float32"))) is not None
        assert service.find(resolve(Request(**asked, dtype="float16"))) is None
    assert [own.dtype for own in service.workers[0].pool.loaded] == ["float32"]


# Omissions -----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("toys")
def test_constant_and_missing_maps_are_counted_and_told(zoo: Zoo, tmp_path: Path) -> None:
    body = of_data(zoo("bert"), tmp_path / "rows.csv", methods="zero,whole", dtypes=HALF)
    zero, whole = body.rows
    assert (zero.n, zero.undefined, zero.short, zero.broken) == (4, 4, 0, 0)
    assert zero.rank_correlation.mean is zero.top_5.mean is None
    assert zero.logits.mean
    assert (whole.n, whole.undefined, whole.short, whole.broken) == (1, 0, 1, 3)
    assert (whole.rank_correlation.mean, whole.top_5.mean) == (1, None)
    result = study(zoo("bert"), "precision", TEXTS[0], methods=["whole"], dtypes=[HALF])
    assert f"Whole in {HALF}: It overflows." in result.warnings
    assert "all scores of a map are equal" in analyses()["precision"].report(result).headline


def test_logits_that_float16_cannot_hold_are_told(made: Made, tmp_path: Path) -> None:
    def overflow(network: Any) -> None:
        network.classifier.weight *= 1e6

    classifier = made(overflow)
    body = of_data(classifier, tmp_path / "rows.csv", methods="gradient", dtypes="float16,bfloat16")
    half, brain = body.rows
    assert (half.n, half.broken, half.logits.mean, half.predictions_changed) == (0, 4, None, 0)
    assert (brain.n, brain.broken) == (4, 0)
    found = study(classifier, "precision", data=str(tmp_path / "rows.csv"), methods=["gradient"])
    told = analyses()["precision"].report(found).headline
    assert "float16 cannot be used" in told
    found = study(classifier, "precision", data=str(tmp_path / "rows.csv"), methods=["gradient"], dtypes=["float16"])
    assert not analyses()["precision"].report(found).numbers


def test_files_that_are_in_half_precision_are_told(made: Made) -> None:
    classifier = made(lambda network: network.bfloat16())
    body = of_text(classifier, TEXTS[0], methods="gradient", dtypes="bfloat16,float16")
    assert [(own.dtype, own.rounded) for own in body.formats] == [("bfloat16", False), ("float16", True)]
    told = analyses()["precision"].report(study(classifier, "precision", TEXTS[0], methods=["gradient"])).headline
    assert "no more digits than bfloat16" in told
    assert "than float16" not in told


def test_of_the_usual_methods_those_are_asked_that_can_run(zoo: Zoo) -> None:
    body = of_text(zoo("bilstm"), TEXTS[0], dtypes=HALF)
    assert [own.method for own in body.methods] == [name for name in USUAL if "attention" not in name]
    assert body.left_out[0].startswith("Attention rollout cannot run")
    with pytest.raises(UnsupportedError, match="Attention rollout cannot run"):
        of_text(zoo("bilstm"), TEXTS[0], methods="attention_rollout")


def test_a_model_that_is_loaded_in_half_precision_is_refused(zoo_path: Callable[[str], Path]) -> None:
    half = load_model(str(zoo_path("bert")), "cpu", HALF)
    with pytest.raises(RequestError, match=r"bfloat16, .* float32"):
        study(half, "precision", TEXTS[0])


@pytest.mark.parametrize(
    ("dtypes", "told"),
    [
        ("", "one or more number formats"),
        ("float16,float16", "each once"),
        ("float8", "float32', 'bfloat16' or 'float16"),
        ("float64", "float32', 'bfloat16' or 'float16"),
    ],
)
def test_unknown_formats_are_refused(zoo: Zoo, dtypes: str, told: str) -> None:
    with pytest.raises(RequestError, match=told):
        study(zoo("bert"), "precision", TEXTS[0], dtypes=dtypes)


def test_files_that_are_gone_or_others_are_refused(zoo_path: Callable[[str], Path], tmp_path: Path) -> None:
    path = tmp_path / "model"
    shutil.copytree(zoo_path("bert"), path)
    classifier = load_model(str(path), "cpu")
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps({**config, "layer_norm_eps": 1e-3}))
    with pytest.raises(ModelError, match="are not those of the loaded model"):
        study(classifier, "precision", TEXTS[0])
    shutil.rmtree(path)
    with pytest.raises(ModelError):
        study(classifier, "precision", TEXTS[0])


def test_the_command_line_prints_the_contract(
    zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rows.csv"
    of_data(zoo("bert"), path, methods="gradient", dtypes=HALF)
    asked = ["explainlab", "study", "precision", "--model", zoo("bert").id, "--data", str(path)]
    settings = ["--set", "methods=gradient,occlusion", "--set", f"dtypes={HALF}", "--set", "sample=all"]

    def printed(*more: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", [*asked, *more])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        told = capsys.readouterr()
        return int(ended.value.code or 0), told.out, told.err

    code, out, _ = printed(*settings, "--json")
    found = json.loads(out)
    assert (code, found["n"]) == (0, 4)
    fields = ["dtype", "method", "logits", "predictions_changed", "rank_correlation", "top_5", "n"]
    assert [list(row)[: len(fields)] for row in found["rows"]] == [fields] * 2
    assert set(found["rows"][0]["logits"]) == {"mean", "low", "high"}
    code, out, _ = printed(*settings)
    assert (code, out.splitlines()[0].partition(" ")[0]) == (0, HALF)
    code, out, err = printed("--set", "dtypes=float8")
    assert (code, out, len(err.splitlines())) == (2, "", 1)


def test_its_numbers_stand_in_a_table_of_several_models(zoo: Zoo, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    of_data(zoo("bert"), path, methods="gradient", dtypes=HALF)
    result = study(zoo("bert"), "precision", data=str(path), sample="first", methods=["gradient"], dtypes=[HALF])
    (row,) = result.body.rows
    own = {(number.measure.key, number.of): number for number in analyses()["precision"].report(result).numbers}
    assert {key: (number.value.mean, number.n) for key, number in own.items()} == {
        (f"logits:{HALF}", ""): (row.logits.mean, 4),
        (f"changed:{HALF}", ""): (row.predictions_changed / 4, 4),
        (f"rank_correlation:{HALF}", "gradient"): (row.rank_correlation.mean, 4),
        (f"top_5:{HALF}", "gradient"): (row.top_5.mean, 3),
    }
    for key in (f"logits:{HALF}", f"changed:{HALF}"):  # one of each model, which the texts compare with others' models
        number = own[key, ""]
        assert (np.mean(number.values), number.rows) == (pytest.approx(number.value.mean), [1, 2, 3, 4])
