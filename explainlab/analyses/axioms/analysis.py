"""Tests of the axioms that methods promise, on the user's own model, where the right answer is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from explainlab import declared
from explainlab.analyses.axioms.checks import Question, check_all
from explainlab.analyses.axioms.result import Axiom, AxiomsData, AxiomsRow, AxiomsText, Checked, CheckedTexts
from explainlab.analyses.base import AnalysisResult, Report, Requirements, passes_of
from explainlab.analyses.parameters import MethodSpecs, Outputs, Rows, Sample, method_requests
from explainlab.analyses.records import text_fields
from explainlab.analyses.summary import Measure, Number, interval, table
from explainlab.analyses.text_analysis import TextAnalysis
from explainlab.analyses.wording import counted
from explainlab.attribution.registry import MethodSpec, get_method, label_of
from explainlab.attribution.subject import Subject
from explainlab.data import Row


class Axioms(TextAnalysis[AxiomsText, AxiomsData]):
    """Six axioms by every method: passed, failed or not promised, each with its number and its definition.

    The model is wrapped, or written in another way, so that the right map is known: a model that disregards a word, a
    model that treats two equal words alike, a sum of its logits, the same function by other weights. The model itself
    never changes. A method that looks inside a model cannot explain a function around it.
    """

    class Parameters(declared.Parameters):
        methods: MethodSpecs = Field(
            ["gradient", "input_x_gradient", "integrated_gradients"],
            description="Methods, with options after colons; random is always included.",
        )
        tolerance: float = Field(
            0.01, gt=0, le=1, description="Largest error of a score, as a share of the largest score, or of the sum."
        )
        positions: int = Field(5, ge=1, le=100, description="Random words that are tried in a text.")
        rows: Rows = 10
        sample: Sample = "first"
        outputs: Outputs = "own"

        @property
        def chosen(self) -> list[MethodSpec]:
            """The methods with all their parameters."""
            return method_requests(self.methods, {})

    id = "axioms"
    label = "Axioms"
    source = "Sundararajan et al. 2017 (completeness, sensitivity, implementation invariance, linearity); Shapley 1953"
    definition = "the largest deviation from what an axiom demands, as a share of the largest score"

    def requirements(self, parameters: Parameters) -> Requirements:
        maps = parameters.positions + 9  # a map for each function, and two passes for each that is symmetric
        return Requirements(
            methods=parameters.chosen,
            gradients=50 * parameters.positions,
            count_passes=lambda text, depth: passes_of(parameters.chosen, text, depth) * maps,
        )

    def of_texts(self, subjects: Sequence[Subject], parameters: Parameters) -> list[AxiomsText]:
        for method in parameters.chosen:
            get_method(method.method).require(subjects[0].classifier, method.parameters)
        batcher, bodies = subjects[0].batcher, []
        for i, subject in enumerate(subjects):
            with batcher.span(i, i + 1, len(subjects)):
                asked = Question(
                    subject, parameters.chosen, parameters.outputs, parameters.tolerance, parameters.positions
                )
                bodies.append(AxiomsText(**text_fields(subject), rows=check_all(asked)))
        batcher.finish("axioms")
        return bodies

    def of_rows(self, rows: Sequence[Row], bodies: Sequence[AxiomsText], parameters: Parameters) -> AxiomsData:
        texts = [
            AxiomsRow(row=row.number, text=row.text, text_pair=row.text_pair, label=row.label, rows=body.rows)
            for row, body in zip(rows, bodies, strict=True)
        ]
        return AxiomsData(
            n=len(bodies),
            rows=[_over_texts(cells) for cells in zip(*(body.rows for body in bodies), strict=True)],
            texts=texts,
        )

    def report(self, result: Any) -> Report:
        return Report(result, _headline(result), _lines, _numbers)


def _headline(result: AnalysisResult[AxiomsText] | AnalysisResult[AxiomsData]) -> str:
    """Count the axioms that each method passes, and name those that it fails."""
    body = result.body
    each = {name: [row for row in body.rows if row.method == name] for name in _names(body.rows)}
    told = "; ".join(f"{label_of(name)} {passes(rows)}" for name, rows in each.items())
    over = f"Over {counted(body.n, 'text')}: " if isinstance(body, AxiomsData) else ""
    return f"{over}{told}."


def _lines(result: AnalysisResult[AxiomsText] | AnalysisResult[AxiomsData]) -> list[str]:
    """Return a line a method and axiom: the answer, its number, and why."""
    return [table([_line(row) for row in result.body.rows])]


def _numbers(result: AnalysisResult[AxiomsData]) -> list[Number]:
    """Return by method the share of the decided axioms that hold for a text; then axiom by axiom."""
    body = result.body
    asked = [None, *dict.fromkeys(row.axiom for row in body.rows)]
    return [
        Number(_measure(axiom), interval(shares), len(shares), name, label_of(name))
        for axiom in asked
        for name in _names(body.rows)
        if (shares := _passed_shares(body, name, axiom))
    ]


def _names(rows: Sequence[Checked]) -> list[str]:
    return list(dict.fromkeys(row.method for row in rows))


def _measure(axiom: Axiom | None) -> Measure:
    if axiom is None:
        return Measure("passed", "Axioms passed", True, ".0%")
    return Measure(axiom, f"Texts that pass {axiom.replace('_', ' ')}", True, ".0%")


def _passed_shares(body: AxiomsData, method: str, axiom: Axiom | None) -> list[float]:
    """Return the share of the axioms (None: all) that the ``method`` passes, for every text with an answer."""
    each = [
        [row.passed for row in text.rows if row.method == method and axiom in (None, row.axiom)] for text in body.texts
    ]
    known = [[passed for passed in answers if passed is not None] for answers in each]
    return [sum(answers) / len(answers) for answers in known if answers]


def passes(rows: Sequence[Checked]) -> str:
    """Summarise the ``rows`` of a method: ``passes 2 of 3 axioms, not dummy``."""
    known = [row for row in rows if row.passed is not None]
    failed = [row.axiom.replace("_", " ") for row in known if not row.passed]
    told = f"passes {len(known) - len(failed)} of {counted(len(known), 'axiom')}"
    return f"{told}, not {', '.join(failed)}" if failed else told


def _line(row: Checked) -> dict[str, str]:
    return {
        "method": row.method,
        "axiom": row.axiom.replace("_", " "),
        "answer": answer_words(row),
        "value": "" if row.value is None else f"{row.value:.3g}",
        "why": row.why,
    }


def answer_words(row: Checked) -> str:
    """Return ``passed``, ``failed`` or ``no answer``; over texts, the number that fail."""
    if row.passed is None:
        return "no answer"
    if isinstance(row, CheckedTexts) and not row.passed:
        return f"failed in {row.failures:,} of {row.n:,}"
    return "passed" if row.passed else "failed"


def _over_texts(cells: Sequence[Checked]) -> CheckedTexts:
    """Return one method by one axiom, over the texts."""
    known = [cell for cell in cells if cell.passed is not None]
    worst = max(known, key=_badness) if known else cells[0]
    failures = sum(not cell.passed for cell in known)
    return CheckedTexts(
        **{**worst.model_dump(), "passed": failures == 0 if known else None}, n=len(known), failures=failures
    )


def _badness(cell: Checked) -> float:
    """Return the badness of an answer: its value, negative for sensitivity, where small values are bad."""
    value = cell.value or 0.0
    return -value if cell.axiom == "sensitivity" else value
