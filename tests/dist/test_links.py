"""Connections between workers: who may ask, what comes back, and what a peer that is gone or lies does to others."""

import contextlib
import socket
import threading
import time

import numpy as np
import pytest

from termgraph.dist.links import LENGTH, Door, Link, Lost, gather

HERE, SECRET = "127.0.0.1", b"s" * 32
WORDS = np.dtype("int64")


@pytest.fixture
def doors(request):
    """Makes doors, and closes them."""
    made = []

    def make(answer, secret=SECRET):
        made.append(Door(HERE, secret, answer))
        return made[-1]

    yield make
    for door in made:
        door.close()


def never(missing):
    raise AssertionError(missing)


def test_arrays_come_as_they_are(doors):
    parts = [np.arange(5), np.array([], "float32"), np.float32([[1, np.nan], [np.inf, -0.0]]).T]
    door = doors(lambda *question: parts if question == (3, "slots", 7, 1) else None)
    link = Link(door.address, SECRET)
    shapes = [(a.dtype, a.size) for a in parts]
    for _ in range(3):
        link.ask((3, "slots", 7, 1))
        found = link.answer(shapes)
        assert [f.tobytes() for f in found] == [np.ascontiguousarray(p).tobytes() for p in parts]
    link.ask((3, "slots", 8, 1))
    assert link.answer(shapes) is None
    link.close()


def test_many_megabytes(doors):
    big = np.arange(3_000_000)
    door = doors(lambda *question: [big])
    got = gather({1: Link(door.address, SECRET)}, (0, "sum", 0, 0), {1: [(WORDS, big.size)]}, never)
    assert (got[1][0] == big).all()


def test_who_does_not_know_the_secret_is_told_nothing(doors):
    asked = []
    door = doors(lambda *question: asked.append(question))
    with pytest.raises(Lost):
        Link(door.address, b"x" * 32).ask((0, "slots", 0, 0))
    with socket.create_connection(door.address) as plain:
        plain.sendall(b"GET / HTTP/1.1" + bytes(100))
        plain.settimeout(5)
        first = plain.recv(32)
        with contextlib.suppress(ConnectionResetError):
            while more := plain.recv(4096):  # the door is shut after its own greeting
                first += more
        assert len(first) <= 64 and not asked


def test_a_door_that_does_not_know_the_secret_is_not_believed(doors):
    door = doors(lambda *question: [np.zeros(1, int)], secret=b"x" * 32)
    with pytest.raises(Lost):
        Link(door.address, SECRET).ask((0, "slots", 0, 0))


def test_what_the_other_end_has_said_is_no_proof():
    """An end that only repeats what it hears does not get in, in neither direction."""
    echo = socket.create_server((HERE, 0))

    def repeat():
        peer, _ = echo.accept()
        with peer:
            while heard := peer.recv(4096):
                peer.sendall(heard)

    threading.Thread(target=repeat, daemon=True).start()
    with pytest.raises(Lost):
        Link(echo.getsockname()[:2], SECRET).ask((0, "slots", 0, 0))
    echo.close()


@pytest.mark.parametrize("wrong", [[(WORDS, 4)], [(WORDS, 2)], []])
def test_answers_of_another_size_are_refused(doors, wrong):
    link = Link(doors(lambda *question: [np.zeros(3, int)]).address, SECRET)
    link.ask((0, "slots", 0, 0))
    with pytest.raises(Lost):
        link.answer(wrong)


def test_questions_that_are_none_end_the_connection_only(doors):
    door = doors(lambda *question: [np.zeros(1, int)])
    for content in (b"[]", b"x", b"{}", b"[1,2]", b"\xff"):
        link = Link(door.address, SECRET)
        link.ask((0, "slots", 0, 0))
        assert link.answer([(WORDS, 1)])
        link._socket.sendall(LENGTH.pack(len(content)) + content)
        with pytest.raises(Lost):
            link.answer([(WORDS, 1)])
    link = Link(door.address, SECRET)
    link.ask((0, "slots", 0, 0))
    link.answer([(WORDS, 1)])
    link._socket.sendall(LENGTH.pack(1 << 60))
    with pytest.raises(Lost):
        link.answer([(WORDS, 1)])
    assert gather({5: Link(door.address, SECRET)}, (0, "slots", 0, 0), {5: [(WORDS, 1)]}, never)


def test_gathering_waits_for_who_is_late_and_says_for_whom(doors):
    there, missing = threading.Event(), []

    def answer(*question):
        return [np.ones(1, int)] if there.is_set() else None

    def pause(ranks):
        missing.append(ranks)
        there.set()

    def slow(*question):
        time.sleep(0.3)
        return answer(*question)

    links = {1: Link(doors(lambda *question: [np.zeros(1, int)]).address, SECRET), 2: Link(doors(slow).address, SECRET)}
    found = gather(links, (0, "sum", 0, 0), {1: [(WORDS, 1)], 2: [(WORDS, 1)]}, pause)
    assert missing[0] == [2] and {rank: int(a[0][0]) for rank, a in found.items()} == {1: 0, 2: 1}


def test_an_answer_that_comes_too_late_is_not_that_of_the_next_question(doors):
    def answer(generation, what, step, rank):
        time.sleep(0.4 if step == 0 else 0)
        return [np.array([step])]

    links = {1: Link(doors(answer).address, SECRET)}

    def stop(missing):
        raise InterruptedError

    with pytest.raises(InterruptedError):
        gather(links, (0, "sum", 0, 0), {1: [(WORDS, 1)]}, stop)
    time.sleep(0.4)
    assert int(gather(links, (0, "sum", 1, 0), {1: [(WORDS, 1)]}, lambda missing: None)[1][0][0]) == 1


def test_a_peer_that_is_gone_is_asked_again(doors):
    door = doors(lambda *question: [np.zeros(1, int)])
    link, tries = Link(("127.0.0.1", 1), SECRET), []

    def pause(missing):
        tries.append(missing)
        if len(tries) == 2:
            link.address = door.address  # as if it had come back

    assert gather({4: link}, (0, "sum", 0, 0), {4: [(WORDS, 1)]}, pause) and tries == [[4], [4]]
