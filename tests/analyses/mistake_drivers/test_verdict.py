"""Drivers of mistakes, in words: every wording, forced by drivers that allow no other."""

from __future__ import annotations

from explainlab.analyses.mistake_drivers.result import (
    FUNCTION_WORDS,
    DrivingWord,
    MistakeDriversData,
    folded,
    is_function,
    verdict,
)


def word(text: str, rows: int = 9, clear: bool = True) -> DrivingWord:
    right = {"right_mean": None, "right_low": None, "right_high": None, "right_rows": 0}
    score = {"mean": 0.5, "low": 0.4 if clear else -0.1, "high": 0.6}
    return DrivingWord(
        word=text,
        words=[text],
        predicted="positive",
        rows=rows,
        once=False,
        clear=clear,
        row_numbers=list(range(rows)),
        **score,
        **right,
    )


def body(*words: DrivingWord, n_wrong: int = 40) -> MistakeDriversData:
    return MistakeDriversData(
        n_wrong=n_wrong, n_right=60, n_compared=60, words=list(words), pairs=[], method="occlusion"
    )


def test_only_clear_words_are_named_and_content_words_first() -> None:
    assert verdict(body(word("the"), word("but"), word("dull", clear=False)), 6) == (
        "In 40 misclassified rows these words push toward a wrong class: “but” toward “positive” (9 rows) and “the” "
        "toward “positive” (9 rows)."
    )
    many = verdict(body(*(word(name) for name in ("a", "but", "dull", "slow", "never"))), 6)
    assert many.endswith(
        ": “but” toward “positive” (9 rows), “dull” toward “positive” (9 rows), “slow” toward “positive” (9 rows) "
        "and 2 more."
    )


def test_a_single_clear_word_is_named_among_any_number_of_others() -> None:
    unclear = [word(f"w{i}", clear=False) for i in range(79)]
    for others in ([], unclear):
        assert verdict(body(word("but"), *others), 6) == (
            "In 40 misclassified rows this word pushes toward a wrong class: “but” toward “positive” (9 rows)."
        )


def test_no_clear_word_and_no_mistake_are_said() -> None:
    none = verdict(body(word("dull", clear=False)), 6)
    assert none.startswith("In 40 misclassified rows no word clearly pushes")
    assert "none occurs in at least 6 of them" in none
    assert "right about each of the 60 rows" in verdict(body(n_wrong=0), 6)


def test_function_words_are_grammar_and_no_negations() -> None:
    assert {"the", "of", "is"} <= FUNCTION_WORDS
    assert not {"not", "no", "but", "never", "good"} & FUNCTION_WORDS
    assert is_function(["of", "the"])
    assert not is_function(["of", "love"])
    assert (folded(word("the")), folded(word("the"), True), folded(word("dull", clear=False))) == (False, True, True)
