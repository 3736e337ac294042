"""Drivers of mistakes: every count, mean and interval against a slow loop over attributions made one by one."""

from __future__ import annotations

import json
from collections import defaultdict

import numpy as np
import pytest
import regex

from explainlab import explain, study
from explainlab.analyses.mistake_drivers.analysis import TESTED_PAIRS, TESTED_ROWS
from explainlab.attribution.subject import Subject
from explainlab.errors import Cancelled, RequestError
from explainlab.metrics.comparison import bootstrap
from explainlab.models.context import MemoryCache, Receivers, RunContext
from tests.analyses.mistake_drivers.conftest import ASKED, DATA


@pytest.fixture(scope="module")
def rows(bert):
    return study(bert, "predictions", data=DATA).body.rows


@pytest.fixture(scope="module")
def body(result):
    return result.body


@pytest.fixture(scope="module")
def compared(rows):
    """Return the correct rows that the seed draws."""
    right = [row for row in rows if row["label"] == row["predicted"]]
    return [right[i] for i in sorted(np.random.default_rng(3).permutation(len(right))[:12])]


def scored(bert, row, label) -> list[tuple[str, float]]:
    """Return the words of a row with their scores toward ``label``; punctuation and special tokens are empty."""
    found = explain(bert, row["text"], "input_x_gradient", target=label, output="logit", unit="word")
    letters = [regex.search(r"[^\p{P}\p{Z}\p{C}]", f.text) for f in found.features]
    return [
        (f.text.casefold() if keep and not f.special else "", score)
        for f, keep, score in zip(found.features, letters, found.scores.tolist(), strict=True)
    ]


def collected(bert, wanted) -> tuple[dict, dict]:
    """Collect scores by (words, class), with their rows' numbers, of words and of neighbours."""
    words, pairs = defaultdict(dict), defaultdict(dict)
    for row, label in wanted:
        found = scored(bert, row, label)
        for i, (word, score) in enumerate(found):
            if word:
                one = words[(word,), label]
                one[row["row"]] = one.get(row["row"], 0) + score
            if i and word and found[i - 1][0]:
                one = pairs[(found[i - 1][0], word), label]
                one[row["row"]] = one.get(row["row"], 0) + found[i - 1][1] + score
    return words, pairs


def test_words_and_pairs_are_what_a_loop_finds(bert, rows, compared, body) -> None:
    wrong = [row for row in rows if row["label"] != row["predicted"]]
    assert (body.n_wrong, body.n_right, body.n_compared) == (len(wrong), len(rows) - len(wrong), 12)
    labels = {row["predicted"] for row in wrong}
    in_wrong = collected(bert, [(row, row["predicted"]) for row in wrong])
    in_right = collected(bert, [(row, label) for row in compared for label in labels])
    for listed, among, beside in zip((body.words, body.pairs), in_wrong, in_right, strict=True):
        assert len(listed) == 100
        for driver in listed:
            key = tuple(driver.words), driver.predicted
            assert sorted(driver.row_numbers) == sorted(among[key])
            for prefix, scores in (("", among[key]), ("right_", beside.get(key, {}))):
                mean, low, high = bootstrap(list(scores.values()))
                assert getattr(driver, f"{prefix}rows") == len(scores)
                told = [getattr(driver, f"{prefix}{name}") for name in ("mean", "low", "high")]
                assert told == [
                    value if value is None else pytest.approx(value, rel=1e-6, abs=1e-6) for value in (mean, low, high)
                ]
    assert [driver.word for driver in body.words] == [driver.words[0] for driver in body.words]
    assert any(driver.right_rows > 1 for driver in body.words)


def test_the_ranking_is_honest(bert, body) -> None:
    everything = study(bert, "mistake_drivers", **ASKED, most=1000).body
    for listed, whole in ((body.words, everything.words), (body.pairs, everything.pairs)):
        assert all(driver.mean > 0 for driver in listed)
        clear = [driver.clear for driver in listed]
        tiers = [2 if driver.once else 1 - is_clear for driver, is_clear in zip(listed, clear, strict=True)]
        assert tiers == sorted(tiers)
        for tier in (0, 1, 2):
            push = [driver.mean * driver.rows for driver, of in zip(listed, tiers, strict=True) if of == tier]
            assert push == sorted(push, reverse=True)
        once = [driver for driver in listed if driver.once]
        assert all(driver.low is driver.high is None and driver.rows == 1 for driver in once)
        if once:
            several = [driver.words for driver in whole if not driver.once]
            assert sum(not driver.once for driver in listed) == len(several)


def test_interactions_are_four_masked_texts(bert, rows, body) -> None:
    texts = {row["row"]: row["text"] for row in rows}
    tested = body.pairs[:TESTED_PAIRS]
    assert all(driver.interaction is not None for driver in tested)
    assert not any(driver.interaction for driver in body.pairs[TESTED_PAIRS:])
    for driver in tested[:4]:
        values = []
        for number in driver.row_numbers[:TESTED_ROWS]:
            subject = Subject(bert, bert.encode(texts[number]), target=driver.predicted, output="logit", unit="word")
            names = [subject.units.features[i].text.casefold() for i in subject.units.content]
            places = [i for i in range(len(names) - 1) if names[i : i + 2] == driver.words]

            def without(*taken, subject=subject, names=names) -> float:
                keep = np.array([[i not in taken for i in range(len(names))]])
                return float(subject.masked(keep, "mask")[0])

            second = [i + 1 for i in places]
            values.append(without() - without(*places) - without(*second) + without(*places, *second))
        assert driver.interaction.rows == len(values)
        assert driver.interaction.mean == pytest.approx(np.mean(values), abs=1e-4)


class Stopped:
    """A run whose ``context`` cancels it once some maps are kept, and counts the work."""

    def __init__(self, goes_on: bool = False) -> None:
        self.goes_on, self.work, self._maps = goes_on, 0.0, MemoryCache()
        progress = Receivers(spend=self.spend)
        self.context = RunContext(progress=progress, check_cancelled=self.check_cancelled, results=self._maps)

    def check_cancelled(self) -> None:
        if not self.goes_on and any("features" in body for body in self._maps.bodies.values()):
            raise Cancelled

    def spend(self, work: float) -> None:
        self.work += work


def test_maps_made_before_a_cancel_are_not_made_again(bert, rows, body) -> None:
    stopped = Stopped()
    with pytest.raises(Cancelled):
        study(bert, "mistake_drivers", **ASKED, context=stopped.context)
    stopped.goes_on, before = True, stopped.work
    rest = study(bert, "mistake_drivers", **ASKED, context=stopped.context)
    undisturbed = Stopped(goes_on=True)
    whole = study(bert, "mistake_drivers", **ASKED, context=undisturbed.context)
    assert whole.cost.backward == body.n_wrong + 12 * len({driver.predicted for driver in body.words})
    assert rest.cost.backward == whole.cost.backward, "a cost is the same with and without memory"
    assert stopped.work - before < undisturbed.work
    assert stopped.work == pytest.approx(undisturbed.work, rel=0.01)
    assert whole.cost.forward - rest.cost.forward >= len(rows)
    assert rest.body == whole.body == body


def test_no_mistakes_and_no_correct_rows_are_told(bert, rows, tmp_path) -> None:
    for right in (True, False):
        kept = [row for row in rows if (row["label"] == row["predicted"]) == right][:5]
        path = tmp_path / f"{right}.jsonl"
        path.write_text("\n".join(json.dumps({"text": row["text"], "label": row["label"]}) for row in kept))
        found = study(bert, "mistake_drivers", data=str(path)).body
        assert (found.n_wrong, found.n_right) == ((0, 5) if right else (5, 0))
        assert bool(found.words) is not right
        assert all(driver.right_mean is None and driver.right_rows == 0 for driver in found.words)


@pytest.mark.parametrize("method", ["gradient", "input_x_gradient:reduction=l2", "random"])
def test_scores_without_a_sign_push_nowhere(bert, method) -> None:
    with pytest.raises(RequestError, match="have no sign"):
        study(bert, "mistake_drivers", data=DATA, method=method)


def test_another_method_and_a_pair_of_texts(zoo, tmp_path) -> None:
    classifier, records = zoo("bert"), []
    for text in ("a good film", "the plot is thin", "I did not like this film"):
        records += [{"text": text, "text_b": "a great story", "label": label} for label in range(3)]
    path = tmp_path / "pairs.jsonl"
    path.write_text("\n".join(map(json.dumps, records)))
    found = study(classifier, "mistake_drivers", data=str(path), method="occlusion:baseline=pad").body
    assert (found.n_wrong, found.method) == (6, "occlusion:baseline=pad")
    assert not [driver for driver in found.pairs if driver.words in (["film", "a"], ["thin", "a"])], "across the texts"


def test_what_warns_of_a_map_or_of_batches_warns_of_the_result(bert, tmp_path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text('text,label\n"A joy from the first scene to the last.",negative\n')
    asked = {"data": str(path), "method": "integrated_gradients:rule=right:steps=1"}
    context = RunContext()
    for _ in range(2):  # the second time the maps are remembered
        (warning,) = study(bert, "mistake_drivers", **asked, context=context).warnings
        assert warning.startswith("Maps with warnings of their own: 1 of 1; row 1: ")
