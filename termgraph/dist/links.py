"""Connections from worker to worker: who wants a peer's part of a mean asks for it, and gets it as plain bytes.

Both ends show that they know the secret of this training before anything else is said, and only numbers, names and raw
arrays go over a connection: nothing that comes from elsewhere is run.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from secrets import token_bytes

import numpy as np

Question = tuple[int, str, int, int]  # generation, what, step, rank of who asks
Answer = list[np.ndarray] | None  # None: not yet, or not any more

SECRET = NONCE = 32  # bytes
LENGTH = struct.Struct("<q")
MOST_ASKED = 1024  # bytes of a question
NOTHING = -1
AT_ONCE = 5.0  # seconds in which the other end of a connection must go on with what it has begun


class Lost(Exception):
    """The other end is gone, stopped, or does not belong here."""


def _receive(own: socket.socket, size: int) -> bytearray:
    """So many bytes."""
    found = bytearray(size)
    view = memoryview(found)
    while view:
        try:
            count = own.recv_into(view)
        except OSError as err:
            raise Lost from err
        if not count:
            raise Lost
        view = view[count:]
    return found


def _send(own: socket.socket, *parts: bytes | memoryview) -> None:
    try:
        for part in parts:
            own.sendall(part)
    except OSError as err:
        raise Lost from err


def _greet(own: socket.socket, secret: bytes, asks: bool) -> None:
    """Both ends prove that they know the secret, neither by saying it nor by repeating what the other has said."""
    own.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    own.settimeout(AT_ONCE)
    mine = token_bytes(NONCE)
    _send(own, mine)
    theirs = bytes(_receive(own, NONCE))
    both = mine + theirs if asks else theirs + mine
    proofs = [hmac.digest(secret, end + both, "sha256") for end in (b"asks", b"answers")]
    own_proof, other_proof = proofs if asks else proofs[::-1]
    _send(own, own_proof)
    if not hmac.compare_digest(bytes(_receive(own, SECRET)), other_proof):
        raise Lost


class Door:
    """Where the peers of a worker ask: a port of one address, and a thread for each that has come in."""

    def __init__(self, host: str, secret: bytes, answer: Callable[[int, str, int, int], Answer]) -> None:
        self._secret, self._answer = secret, answer
        self._socket = socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
        self.address: tuple[str, int] = self._socket.getsockname()[:2]
        threading.Thread(target=self._open, daemon=True).start()

    def close(self) -> None:
        """Let nobody in any more."""
        self._socket.close()

    def _open(self) -> None:
        while True:
            try:
                peer, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(peer,), daemon=True).start()

    def _serve(self, peer: socket.socket) -> None:
        with peer:
            try:
                _greet(peer, self._secret, asks=False)
                while True:
                    peer.settimeout(None)
                    (size,) = LENGTH.unpack(_receive(peer, LENGTH.size))
                    if not 0 <= size <= MOST_ASKED:
                        raise Lost
                    generation, what, step, rank = json.loads(_receive(peer, size))
                    arrays = self._answer(int(generation), str(what), int(step), int(rank))
                    peer.settimeout(AT_ONCE)
                    if arrays is None:
                        _send(peer, LENGTH.pack(NOTHING))
                    else:
                        plain = [np.ascontiguousarray(a).reshape(-1).view(np.uint8).data for a in arrays]
                        _send(peer, LENGTH.pack(sum(p.nbytes for p in plain)), *plain)
            except (Lost, ValueError, KeyError, TypeError):
                return


class Link:
    """The connection with one peer: a question, then its answer."""

    def __init__(self, address: tuple[str, int], secret: bytes) -> None:
        self.address, self._secret = address, secret
        self._socket: socket.socket | None = None

    def fileno(self) -> int:
        """For `poll`: readable when an answer comes."""
        assert self._socket is not None
        return self._socket.fileno()

    def ask(self, question: Question) -> None:
        """Send a question, over a new connection if there is none. Lost if that cannot be done."""
        if self._socket is None:
            try:
                self._socket = socket.create_connection(self.address, AT_ONCE)
            except OSError as err:
                raise Lost from err
            self._or_drop(lambda own: _greet(own, self._secret, asks=True))
        text = json.dumps(question).encode()
        self._or_drop(lambda own: _send(own, LENGTH.pack(len(text)), text))

    def answer(self, shapes: Sequence[tuple[np.dtype, int]]) -> Answer:
        """The arrays of the answer, of these dtypes and sizes."""
        found: list[Answer] = []

        def receive(own: socket.socket) -> None:
            (size,) = LENGTH.unpack(_receive(own, LENGTH.size))
            if size == NOTHING:
                found.append(None)
                return
            if size != sum(dtype.itemsize * count for dtype, count in shapes):
                raise Lost
            content, start, arrays = _receive(own, size), 0, []
            for dtype, count in shapes:
                arrays.append(np.frombuffer(content, dtype, count, start))
                start += dtype.itemsize * count
            found.append(arrays)

        self._or_drop(receive)
        return found[0]

    def close(self) -> None:
        """End the connection."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _or_drop(self, action: Callable[[socket.socket], None]) -> None:
        assert self._socket is not None
        try:
            action(self._socket)
        except Lost:
            self.close()
            raise


def gather(
    links: dict[int, Link], question: Question, shapes: Mapping[int, Sequence[tuple[np.dtype, int]]],
    pause: Callable[[list[int]], None],
) -> dict[int, list[np.ndarray]]:  # fmt: skip
    """The answers of all peers. Asks again who has nothing yet or is lost; `pause` is called with who is missing."""
    found: dict[int, list[np.ndarray]] = {}
    asked: dict[int, Link] = {}
    try:
        while len(found) < len(links):
            for rank in [r for r in links if r not in found and r not in asked]:
                with contextlib.suppress(Lost):
                    links[rank].ask(question)
                    asked[rank] = links[rank]
            answered = _answered(asked)
            for rank in answered:
                with contextlib.suppress(Lost):
                    answer = asked.pop(rank).answer(shapes[rank])
                    if answer is not None:
                        found[rank] = answer
            if not answered and len(found) < len(links):
                pause(sorted(set(links) - set(found)))
        return found
    finally:  # an answer that comes after this must not be taken for that of the next question
        for link in asked.values():
            link.close()


def _answered(asked: dict[int, Link]) -> list[int]:
    """Who of those who were asked has begun to answer (or is gone), after a moment at most."""
    if not asked:
        time.sleep(0.05)
        return []
    poll = select.poll()
    by_number = {link.fileno(): rank for rank, link in asked.items()}
    for number in by_number:
        poll.register(number, select.POLLIN)
    return [by_number[number] for number, _ in poll.poll(200)]
