"""The scheduler against a slow loop that looks at every waiting job each time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from explainlab.request import Request
from explainlab.service.jobs import Job
from explainlab.service.scheduler import Scheduler
from explainlab.service.users import User

USERS = [User(name, name) for name in "abc"]
ASKED = st.lists(st.tuples(st.sets(st.sampled_from(USERS), min_size=1, max_size=2), st.booleans()), max_size=12)


def waiting(asked: list[tuple[set[User], bool]]) -> list[Job]:
    request = Request(model="m", text="t", question="random")
    return [
        Job(str(number), request, {user.id: user for user in sorted(users, key=lambda user: user.id)}, urgent)
        for number, (users, urgent) in enumerate(asked)
    ]


def slowly(jobs: list[Job]) -> list[Job]:
    """The next one is the first job of the user served longest ago, among the urgent jobs while there are any.

    Users never served come first, in the order in which they first asked for anything of that rank.
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


@given(ASKED)
def test_the_order_told_is_the_order_taken_is_the_slow_one(asked: list[tuple[set[User], bool]]) -> None:
    jobs, turns = waiting(asked), Scheduler()
    for job in jobs:
        turns.add(job)
    expected = slowly(jobs)
    for start, job in enumerate(expected):
        assert turns.order() == expected[start:]
        assert turns.take() is job
    assert turns.take() is None
    assert len(turns) == 0


@given(ASKED)
def test_only_what_is_urgent_is_taken_between_two_batches(asked: list[tuple[set[User], bool]]) -> None:
    jobs, turns = waiting(asked), Scheduler()
    for job in jobs:
        turns.add(job)
    taken = list(iter(lambda: turns.take(urgent_only=True), None))
    assert taken == [job for job in slowly(jobs) if job.urgent]
    assert len(turns) == len(jobs) - len(taken)
    assert [turns.waiting_of(user) for user in USERS] == [
        sum(user in job.users for job in jobs if job not in taken) for user in USERS
    ]


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
    before, peers = turns.order(), turns.peers(job)
    place = peers.index(job) + by
    turns.move(job, by)
    after, moved = turns.order(), turns.peers(job)
    assert sorted(after, key=id) == sorted(before, key=id)
    assert [other for other in before if other not in peers] == [other for other in after if other not in peers]
    if 0 <= place < len(peers):
        peers[place - by], peers[place] = peers[place], peers[place - by]
    assert moved == peers
    turns.move(job, -by)
    if 0 <= place < len(peers):
        assert turns.order() == before
