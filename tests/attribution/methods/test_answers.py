"""Thirty answers, written as language models write them, and what is read in each."""

from __future__ import annotations

from explainlab.attribution.decoding import SHOWN, Ranking, ranking
from tests.failures import check_each

TEXT = ["The", "film", "is", "funny", ",", "the", "plot", "is", "good", "!"]

ANSWERS: list[tuple[str, list[int], list[str], list[str]]] = [
    # one a line
    ("funny\ngood\nfilm", [3, 8, 1], [], []),
    ("1. funny\n2. good\n3. plot", [3, 8, 6], [], []),
    ("1) funny\n2) good", [3, 8], [], []),
    ("- funny\n- good", [3, 8], [], []),
    ("* funny\n* good", [3, 8], [], []),
    ("1.funny\n2.good", [3, 8], [], []),
    ('"funny"\n"good"', [3, 8], [], []),
    ("“funny”\n‘good’", [3, 8], [], []),
    ("`funny`\n`good`", [3, 8], [], []),
    ("funny (0.9)\ngood [0.5]", [3, 8], [], []),
    ("1. “funny” (90%)\n2. good (-0.5)", [3, 8], [], []),
    ("Funny\nGOOD", [3, 8], [], []),
    ("\n\n funny \n\tgood\n", [3, 8], [], []),
    ("funny!\n...good.", [3, 8], [], []),
    ("ｆｕｎｎｙ\ngood", [3, 8], [], []),
    # a JSON array
    ('["funny", "good"]', [3, 8], [], []),
    ('[\n  "good",\n  "The"\n]', [8, 0], [], []),
    ("[]", [], [], []),
    ('["funny", 3]', [3], [], ["3]"]),
    ('{"funny": 1}', [], [], ['{"funny": 1}']),
    # commas in a single line
    ("funny, good, film", [3, 8, 1], [], []),
    ("funny, awful\n", [3], [], ["awful"]),
    # the same word twice
    ("the\nthe\nthe", [0, 5], ["the"], []),
    ("is\nfunny\nIs\nIS", [2, 3, 7], ["IS"], []),
    ("funny\nfunny", [3], ["funny"], []),
    # words that are not in the text
    ("amusing\ngood", [8], [], ["amusing"]),
    ("funny: it makes one laugh\ngood", [8], [], ["funny: it makes one laugh"]),
    ("Sure! Here are the words:\n1. funny", [3], [], ["Sure! Here are the words:"]),
    # punctuation is itself
    ("!\n,\n?", [9, 4], [], ["?"]),
    ("", [], [], []),
    ("   \n ", [], [], []),
    ("-\n1.\nfunny", [3], [], ["-", "1."]),
]


def test_an_answer_is_read_strictly() -> None:
    def check(case: tuple[str, list[int], list[str], list[str]]) -> None:
        answer, named, repeated, hallucinated = case
        assert ranking(answer, TEXT) == Ranking(tuple(named), tuple(repeated), tuple(hallucinated))

    check_each(check, ANSWERS)


def test_numbers_are_words_too() -> None:
    assert ranking("3.5\n10", ["10", "of", "3.5", "stars"]).named == (2, 0)
    assert ranking("10.", ["10", "of"]).named == (0,)


def test_the_notes_list_what_is_not_in_the_text() -> None:
    answer = "funny\nfunny\nawful\nmoving"
    assert ranking(answer, TEXT).notes(10, answer) == [
        "Named 1 of 10; not named 9.",
        "Repeated 1: “funny”",
        "Hallucinated 2: “awful”, “moving”",
        f"Answer: {answer}",
    ]
    assert ranking("", TEXT).notes(10, "")[1:] == ["Repeated 0.", "Hallucinated 0.", "Answer: (nothing)"]


def test_a_long_answer_is_cut() -> None:
    long = "\n".join(f"word{i}" for i in range(1_000))
    hallucinated, answer = ranking(long, TEXT).notes(10, long)[2:]
    assert len(answer) == len("Answer: ") + SHOWN
    assert answer.endswith("…")
    assert hallucinated.startswith("Hallucinated 1000: “word0”, ")
