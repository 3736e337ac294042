"""The scheduler against a slow loop that looks at every waiting job each time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from explainlab.request import Request
from explainlab.service.jobs import Job
from explainlab.service.scheduler import FIRST_TURNS, Scheduler
from explainlab.service.users import User

USERS = [User(name, name) for name in "abc"]
ASKED = st.lists(st.tuples(st.sets(st.sampled_from(USERS), min_size=1, max_size=2), st.booleans()), max_size=12)


def waiting(asked: list[tuple[set[User], bool]]) -> list[Job]:
    request = Request(model="m", text="t", question="random")
    return [
        Job(str(number), request, sorted(users, key=lambda user: user.id), urgent)
        for number, (users, urgent) in enumerate(asked)
    ]


def slowly(jobs: list[Job]) -> list[Job]:
    """Return the order of jobs by a slow loop: urgent jobs first, then the user with the oldest turn.

    New users come first, in the order of their first job of that rank.
    """
    left, served, order = list(jobs), {}, []
    came = {(rank, user): i for i, job in reversed([*enumerate(jobs)]) for rank in [job.urgent] for user in job.users}
    while left:
        rank = any(job.urgent for job in left)
        candidates = [(user, job) for job in left if job.urgent == rank for user in job.users]
        user, job = min(candidates, key=lambda pair: (served.get((rank, pair[0]), -1), came[rank, pair[0]], pair[0].id))
        served[rank, user] = len(order)
        order.append(job)
        left.remove(job)
    return order


def to_their_ends(turns: Scheduler) -> list[Job]:
    """Return the jobs in the order of their ends, with one turn each."""
    order = []
    while (job := turns.turn()) is not None:
        turns.discard(job)
        order.append(job)
    return order


@given(ASKED)
def test_the_order_told_is_the_order_taken_is_the_slow_one(asked: list[tuple[set[User], bool]]) -> None:
    jobs, turns = waiting(asked), Scheduler()
    for job in jobs:
        turns.add(job)
    assert turns.order() == slowly(jobs)
    assert to_their_ends(turns) == slowly(jobs)
    assert turns.order() == turns.waiting() == []


def served(turns: Scheduler, count: int) -> list[str]:
    """The keys of the jobs that have the next ``count`` turns; none of them ends."""
    keys = []
    for _ in range(count):
        job = turns.turn()
        job.update(status="running")
        keys.append(job.key)
    return keys


def test_urgent_jobs_of_several_users_take_turns_and_those_of_one_wait_for_each_other() -> None:
    ann, bob, _ = USERS
    turns = Scheduler()
    for job in waiting([({ann}, True), ({ann}, True), ({bob}, True), ({bob}, False)]):
        turns.add(job)
    assert served(turns, 5) == ["0", "2", "0", "2", "0"]
    assert [job.key for job in turns.order()] == ["1", "3"]


def test_a_user_who_comes_has_a_few_turns_before_those_who_have_had_more() -> None:
    ann, bob, _ = USERS
    dear, text, next_text = waiting([({ann}, True), ({bob}, True), ({bob}, True)])
    turns = Scheduler()
    turns.add(dear)
    served(turns, 100)
    turns.add(text)
    assert served(turns, FIRST_TURNS + 4) == ["1"] * FIRST_TURNS + ["0", "1"] * 2
    turns.discard(text)
    turns.add(next_text)
    assert served(turns, FIRST_TURNS) == ["2"] * FIRST_TURNS, "he had nothing in between"


def test_a_job_that_proves_long_makes_way_for_the_urgent_ones_of_its_own_user_too() -> None:
    ann, bob, cy = USERS
    long, short, other, last = jobs = waiting([({ann}, True), ({ann}, True), ({bob}, False), ({cy}, True)])
    turns = Scheduler()
    for job in jobs:
        turns.add(job)
    turns.discard(last)
    assert served(turns, 1) == ["0"]
    long.long = True
    assert served(turns, 2) == ["1", "1"]
    turns.discard(short)
    assert served(turns, 4) == ["0", "2", "0", "2"]
    turns.add(last)
    assert served(turns, 2) == ["3", "3"]
    turns.discard(last)
    other.stop.set()
    assert served(turns, 2) == ["2", "2"], "what is being cancelled ends first"


def test_no_user_begins_ever_more_jobs_and_few_users_share_the_device() -> None:
    ann = USERS[0]
    turns = Scheduler()
    for job in waiting([({ann}, True)] * 6):
        turns.add(job)
    for key in "0123":
        assert served(turns, 1) == [key]
        turns.begun()[0].long = True
    assert served(turns, 2) == ["0", "0"], "four have begun, and one goes on after another"
    shared = Scheduler()
    for job in waiting([({User(name, name)}, False) for name in "abcdef"]):
        shared.add(job)
    assert served(shared, 8) == ["0", "1", "2", "3"] * 2
    shared.discard(shared.begun()[0])
    assert "4" in served(shared, 4)


@given(ASKED, st.integers(0, 11), st.sampled_from([-1, 1]))
def test_a_move_changes_places_with_the_nearest_job_of_its_users_and_nothing_else(
    asked: list[tuple[set[User], bool]], number: int, by: int
) -> None:
    jobs, turns = waiting(asked), Scheduler()
    for job in jobs:
        turns.add(job)
    if number >= len(jobs):
        return
    job = jobs[number]
    before, peers = list(turns.order()), turns.peers(job)
    place = peers.index(job) + by
    turns.move(job, by)
    after, moved = list(turns.order()), turns.peers(job)
    assert sorted(after, key=id) == sorted(before, key=id)
    assert [other for other in before if other not in peers] == [other for other in after if other not in peers]
    if 0 <= place < len(peers):
        peers[place - by], peers[place] = peers[place], peers[place - by]
    assert moved == peers
    turns.move(job, -by)
    if 0 <= place < len(peers):
        assert turns.order() == before
