"""Messages between processes: whole, in order, and an end that is noticed."""

from __future__ import annotations

import os
import threading

import pytest

from explainlab import errors
from explainlab.errors import Cancelled, ExplainLabError
from explainlab.reader import Reader
from explainlab.workers.protocol import (
    Channel,
    ChannelClosed,
    Unexpected,
    error_of,
    error_record,
    reader_of,
    reader_record,
)


def joined() -> tuple[Channel, Channel]:
    """Return two ends that talk with each other."""
    (a, b), (c, d) = os.pipe(), os.pipe()
    return (
        Channel(os.fdopen(a, "rb"), os.fdopen(d, "wb")),
        Channel(os.fdopen(c, "rb"), os.fdopen(b, "wb")),
    )


def test_messages_arrive_whole_whatever_threads_send_them() -> None:
    ours, theirs = joined()
    texts = ["<script>", "é\u202e\ud800\n", "a" * 300_000, 0.1, float("inf"), None]
    threads = [threading.Thread(target=ours.send, args=({"text": text},)) for text in texts]
    for thread in threads:
        thread.start()
    arrived = [theirs.receive()["text"] for _ in texts]
    assert sorted(map(repr, arrived)) == sorted(map(repr, texts))


def test_an_end_is_told_on_both_sides() -> None:
    ours, theirs = joined()
    ours.send({"n": 1})
    ours._write.close()
    assert theirs.receive() == {"n": 1}
    with pytest.raises(ChannelClosed):
        theirs.receive()
    theirs._read.close()
    with pytest.raises(ChannelClosed):
        ours.send({"n": 2})


OURS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, ExplainLabError)]


@pytest.mark.parametrize("kind", OURS)
def test_our_errors_arrive_as_what_they_are(kind: type[ExplainLabError]) -> None:
    error = kind() if kind is Cancelled else kind("It is <b>bad</b>.", "Mend it.")
    arrived = error_of(error_record(error))
    assert type(arrived) is kind
    assert str(arrived) == str(error)


def test_the_words_of_other_errors_stay_where_they_are() -> None:
    record = error_record(KeyError("a secret text"))
    assert "secret" not in str(record)
    assert isinstance(error_of(record), Unexpected)
    assert str(error_of(record)) == "KeyError"


def test_a_reader_arrives_without_its_watch(tmp_path) -> None:
    reader = Reader(tmp_path, None, Reader().limits, watch=lambda _: None)
    assert reader_of(reader_record(reader)) == reader
