"""Workers on Ray, on one machine or many: actors for control; the parts of a mean go from worker to worker.

Ray starts the actors, carries messages and says who has died. It repeats nothing by itself: who takes part, and what is
done again, is the driver's business, as on one machine. Ray itself is imported when it is used.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import queue
import secrets
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from termgraph.config import config
from termgraph.dist.crew import GONE, IDLE, ONE_THREAD, RUNNING, START_WITHIN, Crew, Hand, WorkersLost
from termgraph.dist.exchange import Closed, Exchange
from termgraph.dist.layout import Layout
from termgraph.dist.links import Door, Link, gather
from termgraph.dist.member import Job, Line, Member, failure, one_thread
from termgraph.dist.memory import Shared
from termgraph.dist.messages import Give, Given, Join, Ready, ToDriver, ToWorker
from termgraph.dist.ray_centre import ANSWER_WITHIN, Keeper, RayCentre
from termgraph.dist.ray_slices import Owners, Slices, calling, how_many
from termgraph.dist.tree import piece, tree_sum


def connect(address: str) -> Any:
    """Ray, connected with the cluster at this address; "local" is one of our own, which nobody else reaches by name."""
    try:
        import ray
    except ImportError:
        raise ImportError("train: address= needs Ray; install it with: pip install 'termgraph[dist]'") from None
    if not ray.is_initialized():
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        more: dict[str, Any] = (
            {"include_dashboard": False, "_node_ip_address": "127.0.0.2"} if address == "local" else {}
        )
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **more)
    return ray


# ---------------------------------------------------------------------- in the actor
class Shelf:
    """What one worker has to give to the others: its exchange of the present generation."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.exchange: RayExchange | None = None
        self.closed = -1  # the latest generation that is over

    def take(self, generation: int, what: str, step: int, rank: int) -> list[np.ndarray] | None:
        """The part for a member, as soon as it is there. None: not yet, or not any more."""
        with self.changed:
            self.changed.wait_for(lambda: self._there(generation, what, step), ANSWER_WITHIN)
            exchange = self.exchange if self._there(generation, what, step) else None
            return None if exchange is None else exchange.give(what, rank)

    def _there(self, generation: int, what: str, step: int) -> bool:
        own = self.exchange
        return own is not None and own.generation == generation and own.offered[what] > step

    def close(self, generation: int) -> None:
        """Close a generation, and all before it."""
        with self.changed:
            self.closed = max(self.closed, generation)
            if self.exchange is not None and self.exchange.generation <= self.closed:
                self.exchange.close()
            self.changed.notify_all()


def asking(keeper: Any, timeout: float, silent: type[Exception]) -> Callable[..., Any]:
    """A function that calls a method of the keeper and waits for its answer; `silent` is raised if none comes."""
    import ray

    def ask(method: str, *args: Any) -> Any:
        try:
            return ray.get(getattr(keeper, method).remote(*args), timeout=timeout + ANSWER_WITHIN)
        except ray.exceptions.GetTimeoutError:
            raise silent(f"the process that keeps the centre has not answered for {timeout:g} s") from None
        except ray.exceptions.RayActorError as err:
            raise WorkersLost(
                f"the process that keeps the centre is gone ({err}); train again from the checkpoint"
            ) from None

    return ask


class RayExchange(Exchange):
    """An Exchange whose memory is this worker's own; what others have put or added comes from them."""

    def __init__(self, shelf: Shelf, links: dict[int, Link], generation: int, layout: Layout, *args: Any) -> None:
        shards, members = args[0], args[1]
        super().__init__(Shared(Exchange.size(layout, shards, members)), layout, *args)
        self.shelf, self.links, self.generation = shelf, links, generation
        self.offered = {"slots": 0, "sum": 0, "digest": 0}
        self._digest = 0
        with shelf.changed:
            shelf.exchange = self
            if generation <= shelf.closed:  # over before this worker has heard of it
                self.close()
            shelf.changed.notify_all()

    def release(self) -> None:
        """Give memory and connections back."""
        super().release()
        for link in self.links.values():
            link.close()

    def give(self, what: str, rank: int) -> list[np.ndarray]:
        """What a member needs: its piece of my slots, my piece of the sum, or my digest."""
        if what == "digest":
            return [np.array([self._digest], np.int64)]
        return [a.copy() for a in self._pieces(what, self.rank, rank)]

    def _pieces(self, what: str, giver: int, taker: int) -> list[np.ndarray]:
        """The parts of this memory that go from one member to another."""
        if what == "slots":
            own = [j for j in range(self.shards) if self.owner[j] == giver]
            return [a[piece(a.size, taker, self.members)] for j in own for a in self._flat[j]]
        if what == "sum":
            return [a[piece(a.size, giver, self.members)] for a in self._sum_flat]
        return [self._digests[giver : giver + 1]]

    def total(self, step: int) -> list[np.ndarray]:
        """The means of a step: my piece of everybody's slots is added, then the other pieces come."""
        self._offer("slots", step)
        self._gather("slots", step)
        for k, out in enumerate(self._sum_flat):
            own = piece(out.size, self.rank, self.members)
            tree_sum([flat[k][own] for flat in self._flat], out[own])
        self._offer("sum", step)
        self._gather("sum", step)
        self._added[:] = step + 1
        return self._sum

    def check(self, step: int, digest: int) -> None:
        """Leave a digest of this copy, for the others."""
        self._digest = self._digests[self.rank] = digest
        self._offer("digest", step)

    def compare(self, step: int) -> None:
        """Compare the digests of all members."""
        self._gather("digest", step)
        self._checked[:] = step + 1
        super().compare(step)

    def _offer(self, what: str, step: int) -> None:
        with self.shelf.changed:
            self.offered[what] = step + 1
            self.shelf.changed.notify_all()

    def _gather(self, what: str, step: int) -> None:
        """Take what the others give. Asks again while they have nothing yet, or are gone, until this is closed."""
        begun = time.monotonic()

        def pause(missing: list[int]) -> None:
            nonlocal begun
            if self.closed:
                raise Closed
            if time.monotonic() - begun > self.timeout:
                self.late(missing)
                begun = time.monotonic()

        places = {rank: self._pieces(what, rank, self.rank) for rank in self.links}
        shapes = {rank: [(a.dtype, a.size) for a in arrays] for rank, arrays in places.items()}
        for rank, arrays in gather(self.links, (self.generation, what, step, self.rank), shapes, pause).items():
            for place, array in zip(places[rank], arrays):
                place[...] = array


class RayLine(Line):
    """The worker's end of the connection: messages wait until the driver asks for them."""

    def __init__(self, shelf: Shelf, host: str, secret: bytes) -> None:
        self.shelf, self._secret = shelf, secret
        self._door = Door(host, secret, shelf.take)
        self.out: queue.Queue[tuple[ToDriver, bytes]] = queue.Queue()
        self.orders: queue.Queue[tuple[ToWorker, bytes, list[Any]]] = queue.Queue()
        self._given = Shared()

    def send(self, message: ToDriver | ToWorker, *fds: int) -> None:
        """Put a message where the driver finds it; a state that was given goes with it, and where peers can ask."""
        content = b""
        if isinstance(message, Given):
            content = os.pread(self._given.fd, os.fstat(self._given.fd).st_size, 0)
        if isinstance(message, Ready):
            content = json.dumps(self._door.address).encode()
        self.out.put((message, content))  # type: ignore[arg-type]

    def receive(self) -> ToDriver | ToWorker:
        """Wait for the next order."""
        message, content, self._peers = self.orders.get()
        self._state = content
        return message

    def receive_fd(self) -> int:
        """A file for the state: empty for giving it, full for taking it."""
        self._given.close()
        self._given = Shared()
        if self._state:
            with open(self._given.fd, "wb", closefd=False) as file:
                file.write(self._state)
        return os.dup(self._given.fd)

    def exchange(self, join: Join, layout: Layout, *args: Any) -> Exchange:
        """The exchange of a generation."""
        links = {r: Link(address, self._secret) for r, address in enumerate(self._peers) if r != join.rank}
        return RayExchange(self.shelf, links, join.generation, layout, *args)

    def centre(self, join: Join, layout: Layout, timeout: float, late: Callable[[int], None]) -> RayCentre:
        """The centre of an asynchronous training, by its keeper."""
        keeper, owners = self._peers
        calls = {serial: calling(handle) for serial, handle in owners.items()}
        slices = Slices(calls, layout.nbytes, timeout) if calls else None
        ask = asking(keeper, timeout, Closed)
        return RayCentre(ask, layout, len(join.numbers), join.life, timeout, late, slices)


class Host:
    """The actor: one worker in a thread, and others in which it answers the driver and its peers."""

    def __init__(self, job: Job, number: int, secret: bytes) -> None:
        import ray

        self.shelf = Shelf()
        self.line = RayLine(self.shelf, ray.util.get_node_ip_address(), secret)
        threading.Thread(target=self._run, args=(job, number), daemon=True).start()

    def _run(self, job: Job, number: int) -> None:
        member = Member(job, number, self.line)
        try:
            with config.change_flags(**one_thread()):
                member.prepare()
                member.follow()
        except Exception as err:
            self.line.send(failure(number, member, err))

    def hear(self) -> list[tuple[ToDriver, bytes]]:
        """What the worker has said meanwhile."""
        found = []
        with contextlib.suppress(queue.Empty):
            found.append(self.line.out.get(timeout=ANSWER_WITHIN))
            while True:
                found.append(self.line.out.get_nowait())
        return found

    def obey(self, message: ToWorker, state: bytes, peers: list[Any]) -> None:
        """Pass an order on to the worker."""
        self.line.orders.put((message, state, peers))

    def close(self, generation: int) -> None:
        """Close a generation."""
        self.shelf.close(generation)


# ---------------------------------------------------------------------- in the driver
class Actor:
    """An actor, in the place of a process."""

    exitcode = None

    def __init__(self, ray: Any, handle: Any) -> None:
        self.ray, self.handle, self.pid = ray, handle, 0
        self.alive = True

    def is_alive(self) -> bool:
        """Whether it was not ended yet, as far as is known."""
        return self.alive

    def kill(self) -> None:
        """End it. Where it cannot be reached, it finds its generation closed when it wakes."""
        self.alive = False
        self.ray.kill(self.handle, no_restart=True)

    def join(self, timeout: float | None = None) -> None:
        """Ray waits for it."""


class RayCrew(Crew):
    """Workers that are actors of Ray."""

    def __init__(
        self, job: Job, hear: Callable[[Hand, ToDriver], None], lost: Callable[[Hand], None],
        note: Callable[..., None], address: str, owners: int | None = None,
    ) -> None:  # fmt: skip
        self.job, self.note, self._hear, self._lost = job, note, hear, lost
        self.ray = connect(address)
        self.hands, self.generation, self.progress, self._progress_at_loss, self._losses = {}, -1, -1, -1, 0
        self._heard: dict[int, Any] = {}
        self._giving: dict[int, int] = {}
        self._doors: dict[int, Any] = {}  # where each worker can be asked
        self._secret = secrets.token_bytes(32)
        self._packed_job = self.ray.put(job)
        environment = {"env_vars": dict(ONE_THREAD)}
        if address == "local":  # the same machine: modules are where they are here
            environment["env_vars"]["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
        gpus = int(str(config.device) == "cuda")  # Ray lets each actor see its own
        options = {
            "max_restarts": 0,
            "max_task_retries": 0,
            "num_cpus": 0 if address == "local" else 1,
            "num_gpus": gpus,
        }
        self._options = {"runtime_env": environment, "max_concurrency": 8 + job.workers} | options
        self._host = self.ray.remote(Host).options(**self._options)
        self._keeper: Any = None  # of the centre, if the training is asynchronous
        self._wanted_owners = owners
        self._owners: Owners | None = None  # of its slices, if it has several

    def start(self, number: int) -> None:
        """Start an actor."""
        actor = Actor(self.ray, self._host.remote(self._packed_job, number, self._secret))
        hand = self.hands[number] = Hand(number, actor, None, where="actor")  # type: ignore[arg-type]
        self._heard[number] = actor.handle.hear.remote()
        self.note("started", hand, "actor")

    def centre(self, layout: Layout, slots: int, late: Callable[[int], None]) -> RayCentre:
        """The centre of an asynchronous training. Its book is beside the driver: it is lost only if the driver is."""
        here = self.ray.get_runtime_context().get_node_id()
        beside = self.ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(here, soft=False)
        options = self._options | {"num_cpus": 0, "num_gpus": 0}
        count = how_many(self.ray, layout.nbytes, self._wanted_owners)
        keeper = self.ray.remote(Keeper).options(**options, scheduling_strategy=beside)
        self._keeper = keeper.remote(layout.specs, slots, whole=count == 1)
        if count > 1:
            self._owners = Owners(self.ray, count, layout.nbytes, self.job.timeout, options, self._until_started)
        self._until_started([self._keeper])
        ask = asking(self._keeper, self.job.timeout, WorkersLost)
        return RayCentre(ask, layout, slots, 0, self.job.timeout, late, self._owners, self._is_gone)

    def _until_started(self, handles: Sequence[Any]) -> None:
        """Wait for processes of the centre, which import all this first: that is no part of the time to answer in."""
        begun = [h.__ray_ready__.remote() for h in handles]
        _, late = self.ray.wait(begun, num_returns=len(begun), timeout=START_WITHIN)
        if late:
            raise WorkersLost(f"{len(late)} of {len(begun)} processes not ready after {START_WITHIN:.0f} s")

    def _is_gone(self, number: int) -> bool:
        """Whether a worker is dead, though nobody was told yet."""
        if number not in self.hands or self.hands[number].status == GONE:
            return False
        try:
            self.ray.get(self._heard[number], timeout=0)
        except self.ray.exceptions.GetTimeoutError:
            return False
        except self.ray.exceptions.RayError:
            return True
        return False

    def stop(self) -> None:
        """End all actors."""
        if self._keeper is not None:
            self.ray.kill(self._keeper, no_restart=True)
        if self._owners is not None:
            self._owners.stop()
        for hand in self.hands.values():
            if hand.status != GONE:
                hand.kill()

    def send(self, hand: Hand, message: ToWorker, *fds: int) -> None:
        """Give an order; a state goes along as bytes."""
        state, peers = b"", []  # type: tuple[bytes, list[Any]]
        if isinstance(message, Give):
            self._giving[hand.number] = fds[0]
        elif isinstance(message, Join):
            if message.state:
                state = os.pread(fds[-1], os.fstat(fds[-1]).st_size, 0)
            if self._keeper is not None:
                peers = [self._keeper, {} if self._owners is None else self._owners.handles]
            else:
                peers = [self._doors[number] for number in message.numbers]
            hand.status, hand.rank, hand.since, hand.finished = RUNNING, message.rank, time.monotonic(), False
        hand.process.handle.obey.remote(message, state, peers)  # type: ignore[attr-defined]

    def close(self, generation: int) -> None:
        """Tell all that a generation is over."""
        for hand in self.having(RUNNING, IDLE):
            hand.process.handle.close.remote(generation)  # type: ignore[attr-defined]

    def pump(self, pause: float) -> None:
        """Hear what the workers have to say, for some seconds at most."""
        waiting = {self._heard[h.number]: h for h in self.hands.values() if h.status != GONE}
        ready, _ = self.ray.wait(list(waiting), num_returns=1, timeout=pause)
        for ref in ready:
            hand = waiting[ref]
            try:
                messages = self.ray.get(ref)
            except self.ray.exceptions.RayError as err:
                self._bury_actor(hand, type(err).__name__)
                continue
            self._heard[hand.number] = hand.process.handle.hear.remote()  # type: ignore[attr-defined]
            for message, content in messages:
                if isinstance(message, Given):
                    os.pwrite(self._giving.pop(hand.number), content, 0)
                elif isinstance(message, Ready):
                    door = self._doors[hand.number] = tuple(json.loads(content))
                    hand.where = f"on {door[0]}"
                self._take(hand, message)
        self.end_slow_starts()

    def _bury_actor(self, hand: Hand, how: str) -> None:
        with contextlib.suppress(Exception):
            hand.kill()
        hand.status = GONE
        self.replace(hand, how)
