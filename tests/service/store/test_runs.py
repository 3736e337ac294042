"""The table of runs on SQLite and PostgreSQL: stored runs come back; filters and pages agree with a slow loop."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from explainlab.service.store.runs import SUBJECT, Filters, Run, line
from explainlab.service.store.store import Store

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
AWKWARD = 'A "film" — <b>не</b>\u202e плохой\n\t🎬 &amp; \\ $x$ 100% _\x00\ud800'


def made(i: int, **fields) -> Run:
    """A run that differs from others by its number."""
    user, method = f"user {i % 3}", ("lime", "occlusion")[i % 2]
    run = Run(
        owner=user,
        owner_name=user.title(),
        kind=("attribution", "study")[i % 5 == 0],
        question=method,
        model=f"model {i % 4}",
        subject=f"text {i} of Straße {'needle' if i % 7 == 0 else 'hay'} 100%",
        seconds=0.1 * i,
        forward=i,
        backward=2**40 + i,
        key=f"{i:064}",
        request={"text": AWKWARD, "number": 0.1, "i": i},
        visibility=("private", "instance", "link")[i % 3 and i % 4 % 3],
        asked=NOON + timedelta(minutes=i),
    )
    return replace(run, **fields)


@pytest.fixture
def store(database_url: str) -> Store:
    return Store(database_url)


def kept(store: Store, count: int = 60) -> list[Run]:
    """Runs put into the store, newest first, as it gives them back."""
    ids = [store.runs.record(made(i), f"{i:064}") for i in range(count)]
    return [store.runs.get(run_id) for run_id in reversed(ids)]


def test_a_run_comes_back_whole(store: Store) -> None:
    run = made(3, subject=AWKWARD, title=AWKWARD, owner_name=AWKWARD, imported=True)
    assert store.runs.record(run, "1" * 64) == run.id
    found = store.runs.get(run.id)
    shown = 'A "film" — <b>не</b>\u202e плохой 🎬 &amp; \\ $x$ 100% _\ufffd\ufffd'
    expected = replace(run, subject=shown, title=shown, owner_name=shown, created=found.created)
    assert found == expected
    assert abs(found.created - datetime.now(UTC)) < timedelta(minutes=1)
    assert store.runs.get("0" * 32) is None


def test_a_long_text_is_shortened_to_a_line() -> None:
    assert line("a  b\n\tc") == "a b c"
    assert line("word " * 100) == ("word " * 100)[: SUBJECT - 1] + "…"
    assert len(line("é" * 10_000)) == SUBJECT
    assert line("a" * SUBJECT) == "a" * SUBJECT


def test_one_request_of_one_owner_is_one_run(store: Store) -> None:
    first = made(0, title="kept", visibility="instance")
    assert store.runs.record(first, "1" * 64) == first.id
    later = replace(made(0), asked=NOON + timedelta(days=1), seconds=9.0, key="f" * 64)
    assert store.runs.record(later, "1" * 64) == first.id
    found = store.runs.get(first.id)
    assert (found.asked, found.seconds, found.key) == (later.asked, 9.0, "f" * 64)
    assert (found.title, found.visibility) == ("kept", "instance")
    other = replace(made(0), owner="somebody else")
    assert store.runs.record(other, "1" * 64) == other.id


FILTERS = {
    "none": (Filters(), lambda run: True),
    "kind": (Filters(kind="study"), lambda run: run.kind == "study"),
    "question and model": (
        Filters(question="lime", model="model 2"),
        lambda run: (run.question, run.model) == ("lime", "model 2"),
    ),
    "owner": (Filters(owner="user 2"), lambda run: run.owner == "user 2"),
    "since": (Filters(since=NOON + timedelta(minutes=30)), lambda run: run.asked >= NOON + timedelta(minutes=30)),
    "since, elsewhere": (
        Filters(since=(NOON + timedelta(minutes=30)).astimezone(timezone(timedelta(hours=-9)))),
        lambda run: run.asked >= NOON + timedelta(minutes=30),
    ),
    "a word": (Filters(words="NEEDLE"), lambda run: "needle" in run.subject),
    "two words in any order": (
        Filters(words="needle lime"),
        lambda run: "needle" in run.subject and run.question == "lime",
    ),
    "words folded": (Filters(words="STRASSE"), lambda run: True),
    "a sign that stands for itself": (Filters(words="100%"), lambda run: True),
    "signs that stand for nothing": (Filters(words="t_xt"), lambda run: False),
    "a quote": (Filters(words="' OR 1=1 --"), lambda run: False),
}


def test_filters_find_the_same_runs_as_a_loop(store: Store) -> None:
    runs, differing = kept(store), []
    for case, (filters, passes) in FILTERS.items():
        expected = [run for run in runs if passes(run) and (run.owner == "user 1" or run.visibility == "instance")]
        found = store.runs.page("user 1", filters, 0, 100)
        if (found.runs, found.total) != (expected, len(expected)):
            differing.append(case)
    assert differing == []


def test_pages_follow_each_other(store: Store) -> None:
    expected = [run for run in kept(store) if run.owner == "user 1" or run.visibility == "instance"]
    pages = [store.runs.page("user 1", Filters(), start, 7) for start in range(0, len(expected), 7)]
    assert [run for page in pages for run in page.runs] == expected
    assert {page.total for page in pages} == {len(expected)}
    assert store.runs.page("user 1", Filters(), 1000, 7).runs == []


def test_choices_are_those_of_what_one_may_see(store: Store) -> None:
    seen = [run for run in kept(store) if run.owner == "user 1" or run.visibility == "instance"]
    found = store.runs.choices("user 1")
    assert found.questions == sorted({run.question for run in seen})
    assert found.models == sorted({run.model for run in seen})
    assert found.owners == {run.owner: run.owner_name for run in seen}


def test_a_title_is_found_and_a_deleted_run_is_not(store: Store) -> None:
    run = made(1)
    store.runs.record(run, "1" * 64)
    store.runs.entitle(run, "My  Favourite\nmap")
    assert store.runs.get(run.id).title == "My Favourite map"
    assert [one.id for one in store.runs.page(run.owner, Filters(words="favourite text")).runs] == [run.id]
    store.runs.share(run.id, "link")
    assert store.runs.get(run.id).visibility == "link"
    store.runs.delete(run.id)
    assert store.runs.get(run.id) is None
    assert store.runs.page(run.owner, Filters()).total == 0
