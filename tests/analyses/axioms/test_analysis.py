"""The axioms pass where they must and fail where they must, and leave the model as it is."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import torch

from explainlab import cli, study
from explainlab.analyses.axioms.result import AxiomsData, AxiomsText, Checked
from explainlab.analyses.explain.analysis import Explain
from explainlab.analyses.registry import analyses, get_study, read_result
from explainlab.attribution import registry
from explainlab.attribution.method import Method, Outcome
from explainlab.attribution.methods.paths import IntegratedGradients
from explainlab.attribution.passes import recordings
from explainlab.attribution.subject import Subject
from explainlab.declared import Parameters
from explainlab.errors import UnsupportedError
from explainlab.models.classifier import Classifier
from explainlab.models.networks.randomised import permuted
from explainlab.testing.observation import unchanged
from tests.attribution.conftest import Toys
from tests.conftest import Zoo
from tests.toys import Linear

TEXT = "A good film, a great story and wonderful acting"
ALL = ("completeness", "dummy", "symmetry", "linearity", "implementation_invariance", "sensitivity")
EXACT = "integrated_gradients:rule=gauss_legendre:steps=40"


class Shifted(IntegratedGradients):
    """Integrated gradients, with 0.1 more for one token."""

    id: ClassVar = "shifted"

    def attribute_many(self, subjects: Sequence[Subject], parameters: Parameters) -> list[Outcome]:
        outcomes = super().attribute_many(subjects, parameters)
        for subject, outcome in zip(subjects, outcomes, strict=True):
            outcome.scores[subject.units.content[1]] += 0.1
        return outcomes


class Positions(Method):
    """A method whose scores are the places of the tokens, whatever their words."""

    id: ClassVar = "positions"
    label: ClassVar = "Positions"
    family: ClassVar = "Others"
    source: ClassVar = "A test"
    definition: ClassVar = "i"

    def attribute(self, subject: Subject, parameters: Parameters) -> Outcome:
        return Outcome(np.arange(1.0, 1 + len(subject.units.features)))


class WrongHead(Method):
    """A method that reads the first head of the last layer at the first token, as if heads had an order."""

    id: ClassVar = "wrong_head"
    label: ClassVar = "First head"
    family: ClassVar = "Others"
    source: ClassVar = "A test"
    definition: ClassVar = "a"
    needs: ClassVar = ("attention",)

    def attribute(self, subject: Subject, parameters: Parameters) -> Outcome:
        (row,) = recordings([subject], lambda _, layers, at: layers[-1].probabilities[at, 0, 0].numpy())
        return Outcome(subject.units.sum_tokens(row.astype(np.float64)))


@pytest.fixture(autouse=True)
def _broken_methods(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for method in (Shifted(), Positions(), WrongHead()):
        monkeypatch.setitem(registry.methods(), method.id, method)
        monkeypatch.setitem(analyses(), method.id, Explain(method))
    return


def checked(classifier: Classifier, *methods: str, **asked) -> dict[tuple[str, str], Checked]:
    """Return the rows by axiom and method."""
    with unchanged(classifier, "the axioms"):
        body = study(classifier, "axioms", TEXT, methods=list(methods), **asked).body
    assert isinstance(body, AxiomsText)
    assert list(dict.fromkeys(row.axiom for row in body.rows)) == list(ALL)
    return {(row.axiom, row.method): row for row in body.rows}


def passed(rows: dict[tuple[str, str], Checked], method: str) -> list[bool | None]:
    return [rows[axiom, method].passed for axiom in ALL]


def test_every_promise_is_kept_by_methods_that_keep_it(zoo: Zoo) -> None:
    rows = checked(zoo("bert"), EXACT, "gradient", "input_x_gradient", "decompx")
    assert passed(rows, EXACT) == [True] * 6
    assert passed(rows, "gradient") == [None, True, True, None, True, True]
    assert passed(rows, "input_x_gradient") == [None, True, True, True, True, True]
    assert passed(rows, "decompx") == [True, None, None, None, True, True]
    assert rows["dummy", "decompx"].why.startswith("not promised")
    assert rows["linearity", "gradient"].why == "not promised: the scores have no sign"
    assert (rows["dummy", "random"].passed, rows["symmetry", "random"].passed) == (False, False)


def test_a_method_that_adds_to_one_score_fails(zoo: Zoo) -> None:
    settings = EXACT.partition(":")[2]
    rows = checked(zoo("bert"), f"shifted:{settings}", positions=20)
    found = {axiom: rows[axiom, f"shifted:{settings}"] for axiom in ALL}
    assert [found[axiom].passed for axiom in ("completeness", "dummy")] == [False, False]
    right = found["completeness"].why.rpartition(" ")[2]
    assert found["completeness"].value == pytest.approx(0.1 / abs(float(right)), rel=0.01)
    assert found["implementation_invariance"].passed


def test_a_method_that_reads_only_positions_fails(zoo: Zoo) -> None:
    rows = checked(zoo("bert"), "positions")
    assert passed(rows, "positions") == [None, False, False, True, True, True]


def test_a_method_that_takes_heads_in_their_order_fails(zoo: Zoo) -> None:
    rows = checked(zoo("bert"), "wrong_head", "attention_average")
    assert rows["implementation_invariance", "wrong_head"].passed is False
    assert rows["implementation_invariance", "attention_average"].passed is True


def test_a_score_of_0_for_the_only_word_that_matters_fails(toys: Toys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Positions, "attribute", lambda _, subject, __: Outcome(np.zeros(len(subject.units.features))))
    rows = checked(toys(Linear), "positions", "input_x_gradient", "occlusion")
    assert rows["sensitivity", "positions"].passed is False
    assert rows["sensitivity", "occlusion"].passed
    assert rows["implementation_invariance", "occlusion"].passed is None, "what the toy is made of is not known"


@pytest.mark.parametrize("name", ["bert", "roberta", "distilbert"])
def test_the_model_in_another_order_is_another_model_and_the_same_function(zoo: Zoo, name: str) -> None:
    classifier = zoo(name)
    inputs = classifier.inputs([classifier.encode(TEXT), classifier.encode("film")])
    with unchanged(classifier, "the copy"):
        other = permuted(classifier, inputs, 3)
    for own, changed in zip(classifier.model.blocks, other.blocks, strict=True):
        for part in ("query", "key", "value", "attention_output", "intermediate", "output"):
            before, after = getattr(own, part).weight, getattr(changed, part).weight
            assert not torch.equal(before, after)
            assert torch.equal(before.flatten().sort().values, after.flatten().sort().values)
    with torch.no_grad():
        torch.testing.assert_close(other.logits(inputs), classifier.model.logits(inputs), rtol=1e-5, atol=1e-5)


def test_a_method_that_the_model_does_not_support_is_refused(zoo: Zoo) -> None:
    with pytest.raises(UnsupportedError, match="DecompX cannot run"):
        study(zoo("gpt2"), "axioms", TEXT, methods=["decompx"])


def test_a_decoder_is_asked_too(zoo: Zoo) -> None:
    rows = checked(zoo("gpt2"), "input_x_gradient")
    assert passed(rows, "input_x_gradient")[1:4] == [True, True, True]
    assert "normalise before they add" in rows["implementation_invariance", "input_x_gradient"].why


def test_over_a_data_set_the_worst_text_counts(
    zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rows.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), (TEXT, "0"), ("film", "1")])
    arguments = ["--set", "methods=input_x_gradient,kernel_shap:samples=40", "--set", "positions=2", "--json"]
    asked = ["explainlab", "study", "axioms", "--model", zoo("bert").id, "--data", str(path), *arguments]
    monkeypatch.setattr("sys.argv", asked)
    with pytest.raises(SystemExit):
        cli.main()
    printed = json.loads(capsys.readouterr().out)
    assert printed["n"] == 2
    fields = ["axiom", "method", "passed", "value", "tolerance", "why", "n", "failures"]
    assert [list(row) for row in printed["rows"]] == [fields] * len(printed["rows"])
    body = AxiomsData.model_validate({name: printed[name] for name in AxiomsData.model_fields})
    symmetry = next(row for row in body.rows if row.axiom == "symmetry")
    assert (symmetry.n, symmetry.passed) == (1, True), "a single word is like no other"
    for row in body.rows:
        each = [own for text in body.texts for own in text.rows if (own.axiom, own.method) == (row.axiom, row.method)]
        known = [own for own in each if own.passed is not None]
        assert row.failures == sum(not own.passed for own in known)
        assert row.value in [own.value for own in known or each]
    numbers = get_study("axioms").report(read_result(printed)).numbers
    own = {(number.measure.key, number.of): number for number in numbers}
    symmetric = own["symmetry", "input_x_gradient"]
    assert (symmetric.value.mean, symmetric.n, symmetric.label) == (1, 1, "Input × gradient")
    first, second = (
        [row.passed for row in text.rows if row.method == "input_x_gradient" and row.passed is not None]
        for text in body.texts
    )
    share = (sum(first) / len(first) + sum(second) / len(second)) / 2
    assert own["passed", "input_x_gradient"].value.mean == pytest.approx(share)
    assert ("linearity", "random") not in own, "it promises nothing"


def test_passes_are_counted(zoo: Zoo) -> None:
    result = study(zoo("bert"), "axioms", TEXT, methods=["gradient"], positions=3)
    # a gradient for each of 3 dummies, symmetry, linearity (3), both models, completeness and sensitivity
    assert result.cost.backward == 3 + 1 + 3 + 2 + 1 + 1
