"""Steps that worker processes build in the tests of termgraph.dist, and faults. Children import this by name."""

import ctypes
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np

import termgraph as tg
import termgraph.tensor as T
from termgraph import dist
from termgraph.dist import centre, exchange, member, nccl, ray_crew, ray_slices, replica

if "pytest" not in sys.modules:  # in children, which read no conftest; tests are given theirs one by one
    tg.config.linker = "py"
F = np.float32


def sgd(grads, params):
    return [(p, p - F(0.05) * g) for p, g in zip(params, grads)]


def momentum(grads, params):
    speeds = [tg.shared(np.zeros_like(p.get_value()), name=f"speed_{p.name}") for p in params]
    news = [F(0.9) * v - F(0.02) * g for v, g in zip(speeds, grads)]
    return [*zip(speeds, news), *((p, p + v) for p, v in zip(params, news))]


RULES = {"sgd": sgd, "momentum": momentum, "adam": tg.optim.adam(0.01)}


def net(worker, update="momentum", dropout="example"):
    """One hidden layer with dropout."""
    rng = np.random.default_rng(3)
    w = tg.shared(rng.normal(size=(5, 8)).astype("float32"), name="w")
    out = tg.shared(rng.normal(size=(8,)).astype("float32"), name="out")
    x, y = T.fmatrix("x"), T.fvector("y")
    hidden = T.tanh(x @ w)
    if dropout:
        stream = worker.stream(4) if dropout == "example" else T.random.RandomStream(4)
        hidden = hidden * stream.bernoulli(0.5, size=hidden.shape).astype("float32")
    error = hidden @ out - y
    return dist.Step([x, y], (error**2).mean(), [w, out], RULES[update], outputs={"bias": error.mean()})


def examples(count=43):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(count, 5)).astype("float32")
    return x, np.sin(x[:, 0])


def net_adam(worker):
    return net(worker, "adam")


class Build:
    """`net`, with a fault in some worker at some step: once, if `once` names a file to be made then."""

    def __init__(self, fault, worker=1, step=5, once=None, pause=0.0):
        self.fault, self.worker, self.step, self.once, self.pause = fault, worker, step, once, pause

    def __call__(self, worker):
        made = net(worker)
        if self.pause:
            self.after(replica.Replica, "compute", lambda: time.sleep(self.pause))
        if worker.number == self.worker:
            getattr(self, self.fault)(worker)
        return made

    def now(self):
        """Whether this is the one time."""
        try:
            os.close(os.open(self.once, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True

    def after(self, owner, name, action):
        """Do something whenever a function was called."""
        function = getattr(owner, name)

        def called(*args, **kwargs):
            found = function(*args, **kwargs)
            action()
            return found

        setattr(owner, name, called)

    def count(self, owner, name, action):
        calls = [0]

        def counted():
            calls[0] += 1
            if calls[0] == self.step and self.now():
                action()

        self.after(owner, name, counted)

    def kill_in_gradient(self, worker):
        self.count(replica.Replica, "compute", kill)

    def kill_in_sum(self, worker):
        self.count(exchange, "tree_sum", kill)

    def kill_before_reduce(self, worker):
        """By NCCL: the others are in the sum already, or will be."""
        reduce, calls = nccl.Communicator.all_reduce, [0]

        def reduced(group, *args):
            calls[0] += 1
            if calls[0] == self.step and self.now():
                time.sleep(0.2)
                kill()
            reduce(group, *args)

        nccl.Communicator.all_reduce = reduced

    def kill_in_checkpoint(self, worker):
        self.count(member.store, "write_state", kill)

    def stop_in_gradient(self, worker):
        self.count(replica.Replica, "compute", lambda: os.kill(os.getpid(), signal.SIGSTOP))

    def error(self, worker):
        def fail():
            raise ArithmeticError("of the user")

        self.count(replica.Replica, "compute", fail)

    def drift(self, worker):
        self.count(replica.Replica, "apply", lambda: None)
        step, apply = self.step, replica.Replica.apply

        def applied(self, means, at):
            apply(self, means, at)
            if at == step:
                self.params()[0][0, 0] += 1

        replica.Replica.apply = applied

    def nothing(self, worker):
        """No fault."""


def kill():
    os.kill(os.getpid(), signal.SIGKILL)


class Chaos:
    """A build whose workers are killed again and again, up to a number of `kills`, each life at a place of its own.

    The places are calls in which a life ends before, in the middle, or after; or "anywhere", by a clock. A folder
    counts the kills of all lives.
    """

    PLACES = {
        "gradient": (replica.Replica, "compute"), "slots": (exchange.Exchange, "put"), "sum": (exchange, "tree_sum"),
        "update": (replica.Replica, "apply"), "checkpoint": (member.store, "write_state"), "rename": (os, "replace"),
        "sum on Ray": (ray_crew, "tree_sum"), "batch": (replica.Replica, "take_step"),
        "slice": (ray_slices.Slices, "_write"), "lock": (dist.ASGD, "exchange"), "book": (centre.Book, "take"),
    }  # fmt: skip

    def __init__(self, build, folder, kills, places, calls=30):
        self.build, self.folder, self.kills, self.places, self.calls = build, str(folder), kills, places, calls

    def __call__(self, worker):
        made = self.build(worker)
        rng = random.Random()  # from the system: no two lives are alike
        place = rng.choice(self.places)
        if place == "anywhere":
            threading.Timer(rng.uniform(0.05, 1.0), self.die, [place]).start()
            return made
        owner, name = self.PLACES[place]
        function, left = getattr(owner, name), [rng.randrange(2, 4 if owner in (os, member.store) else self.calls)]
        before = rng.random() < 0.5

        def called(*args, **kwargs):
            left[0] -= 1
            if not left[0] and before:
                self.die(place)
            found = function(*args, **kwargs)
            if not left[0] and not before:
                self.die(place)
            return found

        setattr(owner, name, called)
        return made

    def die(self, place):
        """Be killed, unless enough were."""
        for k in range(self.kills):
            try:
                found = os.open(f"{self.folder}/{k}", os.O_CREAT | os.O_EXCL | os.O_WRONLY)
            except FileExistsError:
                continue
            os.write(found, place.encode())
            kill()


def other_step(worker):
    """Not the same in all workers."""
    w = tg.shared(np.zeros(3 + worker.number), name="w")
    x = T.dvector("x")
    return dist.Step([x], ((w.sum() - x) ** 2).mean(), [w], sgd)


def says_gpu(worker):
    """The cost is the GPU that this worker sees; the step itself runs where there is none."""
    w, x = tg.shared(0.0, name="w"), T.dvector("x")
    seen = float(os.environ.get("CUDA_VISIBLE_DEVICES", "nan"))
    return dist.Step([x], (x * 0).mean() + seen, [w], [(w, w)])


class OnEmulatedGPU:
    """`net` on an emulated GPU, which each worker has for itself, with an emulated NCCL between them."""

    def __init__(self, library, then=None):
        self.library, self.then = library, then

    def __call__(self, worker):
        from emucuda.driver import EmulatedDriver, compile_emulated
        from termgraph.backends.cuda.run import device

        class InOrder(EmulatedDriver):
            """What others put into the stream comes after all that is in it."""

            @property
            def stream(self):
                self.synchronize()
                return 0

        ctypes.CDLL(self.library)
        device.use(device.Device(InOrder(), compile_emulated))
        tg.config.linker, tg.config.device = "auto", "cuda"
        if self.then is not None:
            self.then(worker)
        return net(worker, "sgd")


def broken(worker):
    raise LookupError(f"no model for worker {worker.number}")


# ---------------------------------------------------------------------- counting: each example adds one
def counter(worker, places=40):
    """The centre counts batches: every batch adds one to w, and its own place in `seen` too."""
    w, seen = tg.shared(0.0, name="w"), tg.shared(np.zeros(places), name="seen")
    k = T.lvector("k")
    updates = [(w, w + 1), (seen, seen + dist.mean(T.eq(T.arange(places), k[0]).astype("float64")))]
    return dist.Step([k], (w * 0).sum() + (k * 0.0).mean(), [w, seen], updates)


class FaultyASGD(dist.ASGD):
    """Dies in an exchange, while it holds the lock, half of the new centre written; once."""

    def __init__(self, tau, once, fault=signal.SIGKILL):
        super().__init__(tau)
        self.once, self.fault, self.calls = once, fault, 0

    def exchange(self, local, centre, new):
        self.calls += 1
        if self.calls == 3:
            try:
                os.close(os.open(self.once, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                pass
            else:
                new[0][...] = 1e9
                os.kill(os.getpid(), self.fault)
        super().exchange(local, centre, new)


def slow_counter(worker, places=40):
    made = counter(worker, places)
    take = replica.Replica.take_step

    def slowly(self, step, batch):
        time.sleep(0.01)
        return take(self, step, batch)

    replica.Replica.take_step = slowly
    return made


def below(pid):
    """The processes that a process has started, and those that these have."""
    try:
        own = [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []
    return own + [grandchild for child in own for grandchild in below(child)]


def running(pid):
    """Whether a process is there and does something."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def workers_of(pid):
    """Those of them that are workers and run."""
    lines = {p: Path(f"/proc/{p}/cmdline") for p in below(pid) if running(p)}
    return [p for p, line in lines.items() if line.exists() and b"spawn_main" in line.read_bytes()]


def wait_for(done, seconds):
    """Whether something is so within some seconds."""
    end = time.monotonic() + seconds
    while not done() and time.monotonic() < end:
        time.sleep(0.02)
    return done()
