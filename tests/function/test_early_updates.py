"""New values of variables written as soon as nothing reads the old ones: less memory, the same bits, all or none."""

import signal
import time
from dataclasses import replace

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c import generate
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.lower.loops.tree import Quiet
from termgraph.lower.lowering import replaceable
from termgraph.lower.memory import limit as limits
from termgraph.lower.memory import set_aside
from termgraph.lower.memory.plan import loads, writes
from termgraph.lower.memory.updates import can_fail, early_updates

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
BATCH, WIDTH, LAYERS = 16, 24, 6


def weigh(rng, *shape):
    return tg.shared((rng.standard_normal(shape) / 6).astype("float32"))


def dense(h, rng):
    weights = [w for _ in range(LAYERS) for w in (weigh(rng, WIDTH, WIDTH), weigh(rng, WIDTH))]
    for w, b in zip(weights[::2], weights[1::2]):
        h = T.tanh(h @ w + b)
    return h, weights


def bounded(h, rng):
    weights = [weigh(rng, WIDTH, WIDTH) for _ in range(LAYERS)]
    for w in weights:
        h = h + T.maximum(h @ w, 0)
    return h, weights


def attended(h, rng):
    """Products over batches, some of which are made item by item in the loop that reads them."""
    h, weights = h.reshape((2, BATCH // 2, WIDTH)), [weigh(rng, WIDTH, WIDTH) for _ in range(4 * LAYERS)]
    for k in range(0, len(weights), 4):
        q, key, v = (h @ w for w in weights[k : k + 3])
        h = h + T.softmax(q @ key.transpose(0, 2, 1), axis=-1) @ v @ weights[k + 3]
    return h, weights


def twice(h, rng):
    """Weights that several layers read."""
    weights = [weigh(rng, WIDTH, WIDTH) for _ in range(2)]
    for k in range(LAYERS):
        h = T.tanh(h @ weights[k % 2] @ weights[(k + 1) % 2].T)
    return h, weights


def looked_up(h, rng):
    """An index that is checked in the middle of the way."""
    weights = [weigh(rng, WIDTH, WIDTH) for _ in range(LAYERS)]
    for w in weights:
        h = T.tanh(h @ w) + h[T.cast(T.floor(abs(h[:, 0])), "int64")]
    return h, weights


def normalized(h, rng):
    """Convolutions and batch norms: routines need room, loops that make new values make other values, too."""
    h, weights = T.repeat(T.repeat(h.reshape((2, 4, 4, 12)), 2, axis=2), 2, axis=3), []
    h = T.concatenate([h, T.tanh(h)], axis=1)
    for _ in range(LAYERS):
        w, scale, shift = weigh(rng, 8, 8, 5, 5), weigh(rng, 8), weigh(rng, 8)
        made = T.nnet.conv2d(h, w, border_mode=(2, 2), filter_flip=False)
        made = made - made.mean(axis=(0, 2, 3), keepdims=True)
        made = made / T.sqrt((made * made).mean(axis=(0, 2, 3), keepdims=True) + 1e-5)
        h = h + T.maximum(made * scale.reshape((8, 1, 1)) + shift.reshape((8, 1, 1)), 0)
        weights += [w, scale, shift]
    return h, weights


def scaled(h, rng):
    """Factors whose new values are made in the loops that go on with the gradient."""
    weights = [w for _ in range(LAYERS) for w in (weigh(rng, BATCH, WIDTH), weigh(rng, WIDTH, WIDTH))]
    for factors, w in zip(weights[::2], weights[1::2]):
        h = T.tanh((h * factors) @ w)
    return h, weights


BUILDS = [dense, bounded, attended, twice, looked_up, normalized, scaled]


def plain(w, g):
    return [(w, w - np.float32(1e-3) * g)]


def momentum(w, g):
    v = tg.shared(np.zeros_like(w.get_value()))
    return [(v, np.float32(0.9) * v + g), (w, w - np.float32(1e-3) * v)]


EARLY = [dense, bounded, attended, looked_up, normalized, scaled]


def step(build, rule, early, monkeypatch, limit=None):
    for name in ("TARGET", "QUICK_TARGET"):
        monkeypatch.setattr(generate, name, replace(getattr(generate, name), early_updates=early))
    monkeypatch.setattr(set_aside, "LOWER", 64)
    monkeypatch.setattr(set_aside, "SHARE", 0)  # the copies of small nets are much of their work
    rng, x = np.random.default_rng(3), T.tensor("x", dtype="float32", shape=(BATCH, WIDTH))
    h, weights = build(x, rng)
    loss = (h * h).mean()
    changes = [c for w, g in zip(weights, tg.grad(loss, weights)) for c in rule(w, g)]
    with tg.config.change_flags({"cache.programs": False}):
        f = tg.function([x], loss, updates=changes, mode=tg.Mode(linker="c"), memory_limit=limit)
    f.is_early, f.peak = order_is_right(f), f.memory().peak  # asked later, the stages would run for another target
    return f, rng.standard_normal((BATCH, WIDTH)).astype("float32"), [w for w, _ in changes]


def order_is_right(f):
    """Nothing reads an old value after the new one is there, and nothing can fail then. Whether updates are early."""
    planned = f.stage("memory")
    nodes, modes = planned.scheduled.nodes, planned.scheduled.modes
    over = {new: old for _, (old, new) in replaceable(planned.lowered) if new in modes}
    quiet = next((k for k, n in enumerate(nodes) if isinstance(n, Quiet)), None)
    first = min([k for k, n in enumerate(nodes) if over.keys() & set(writes(n))], default=len(nodes))
    for k, n in enumerate(nodes):
        for old in [over[b] for b in writes(n) if b in over]:
            assert not any(b is old for m in nodes[k + 1 :] for b, _ in loads(m))
    if quiet is not None:
        assert quiet < first and not any(can_fail(n) for n in nodes[quiet:])
    return quiet is not None


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("rule", [plain, momentum])
def test_early_updates_are_the_same_bits_in_less_memory(build, rule, monkeypatch):
    late, x, kept = step(build, rule, False, monkeypatch)
    f, _, weights = step(build, rule, True, monkeypatch)
    assert not late.is_early and f.peak <= late.peak
    assert f.is_early == (build in EARLY) or rule is momentum
    for _ in range(3):
        assert f(x) == late(x)
        for a, b in zip(weights, kept, strict=True):
            assert np.array_equal(a.get_value(), b.get_value())


def test_a_plain_step_holds_no_gradient(monkeypatch):
    f, *_ = step(dense, plain, True, monkeypatch)
    assert f.is_early and set(f.stage("memory").scheduled.modes.values()) <= {"accumulate", "overwrite"}
    activations = (LAYERS + 3) * BATCH * WIDTH * 4
    assert f.peak < activations + 4 * LAYERS * WIDTH * 4 + 256


def test_values_set_aside_have_no_memory_of_their_own(monkeypatch):
    late, *_ = step(scaled, plain, False, monkeypatch)
    f, _, weights = step(scaled, plain, True, monkeypatch)
    assert f.memory().results == 4 and len(f.stage("memory").scheduled.modes) == len(weights)
    assert f.peak < 0.95 * late.peak


@pytest.mark.parametrize("seed", range(6))
def test_any_values_set_aside_are_the_same_bits(seed, monkeypatch):
    build = [dense, normalized, attended][seed % 3]
    late, x, kept = step(build, plain, False, monkeypatch)
    rng = np.random.default_rng(seed)

    def drawn(nodes, pairs):
        apart = set_aside.set_aside(nodes, pairs, {new for _, new in pairs if rng.random() < 0.5})
        yield early_updates(apart.nodes, pairs), apart.temps

    monkeypatch.setattr(set_aside, "early_orders", drawn)
    monkeypatch.setattr(set_aside, "LOWER", -1)  # taken although it needs no less
    f, _, weights = step(build, plain, True, monkeypatch)
    assert f.is_early and any(b.name.endswith("_new") for b in f.stage("memory").scheduled.temps)
    for _ in range(3):
        assert f(x) == late(x)
        assert all(np.array_equal(a.get_value(), b.get_value()) for a, b in zip(weights, kept, strict=True))


@pytest.mark.parametrize("build", [dense, bounded, attended, normalized])
def test_a_limit_with_early_updates(build, monkeypatch):
    f, x, weights = step(build, plain, True, monkeypatch)
    small, _, others = step(build, plain, True, monkeypatch, limit=0.8)
    assert small.is_early and small.peak <= 0.8 * f.peak
    for _ in range(3):
        assert f(x) == small(x)
        assert all(np.array_equal(a.get_value(), b.get_value()) for a, b in zip(weights, others, strict=True))


@pytest.mark.parametrize("seed", range(6))
def test_what_runs_again_does_so_before_its_weights_change(seed, monkeypatch):
    """Repetitions drawn at random, at the latest places where they may be."""
    rng, build = np.random.default_rng(seed), [dense, bounded, attended][seed % 3]
    whole, x, weights = step(build, plain, True, monkeypatch)

    def drawn(st, bytes_):
        order = list(st.all)
        for _ in range(30):
            lives, k = st.lives(order), int(rng.integers(2, len(order)))
            b = sorted(st.temps & set(lives), key=lambda b: b.name)[int(rng.integers(len(st.temps & set(lives))))]
            found = limits._in_time(st, lives, b, k, 0, {s: k for k, s in enumerate(order)})
            if found is not None and lives[b][0].last < found[2]:
                order[found[2] : found[2]] = found[0]
        assert len(order) > len(st.all)
        made = limits.fitted(st, order)
        return limits.Fitted(made.order, made.rooms, 0)

    monkeypatch.setattr(limits, "within", drawn)
    limited, _, others = step(build, plain, True, monkeypatch, limit=0.5)
    assert limited.is_early
    for _ in range(3):
        assert whole(x) == limited(x)
        assert all(np.array_equal(a.get_value(), b.get_value()) for a, b in zip(weights, others, strict=True))


def test_a_value_that_somebody_holds_stays(monkeypatch):
    f, x, weights = step(dense, plain, True, monkeypatch)
    g, _, others = step(dense, plain, True, monkeypatch)
    held = [w.get_value(borrow=True) for w in weights]
    before = [v.copy() for v in held]
    assert f(x) == g(x)
    assert all(np.array_equal(a, b) for a, b in zip(held, before))
    assert all(np.array_equal(a.get_value(), b.get_value()) for a, b in zip(weights, others, strict=True))


class Alarm(Exception):
    pass


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="signals as on POSIX")
def test_an_interruption_changes_all_or_nothing(monkeypatch):
    monkeypatch.setitem(globals(), "WIDTH", 1024)
    monkeypatch.setitem(globals(), "BATCH", 256)  # long enough for somebody to look for signals
    f, x, weights = step(dense, plain, True, monkeypatch)
    g, _, others = step(dense, plain, True, monkeypatch)
    assert f.is_early
    f(x), g(x), f(x)
    start = time.perf_counter()
    g(x)
    long = time.perf_counter() - start

    def ring(*_):
        raise Alarm

    def interrupted_call():
        try:
            signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-5, 0.7 * long))
            f(x)
            while True:  # it has not rung yet
                pass
        except Alarm:
            pass

    former = signal.signal(signal.SIGALRM, ring)
    rng, states = np.random.default_rng(0), [[w.get_value() for w in others]]
    try:
        for tries in range(30):
            if tries - len(states) > 1 and len(states) > 2:
                break
            interrupted_call()
            now = [w.get_value() for w in weights]
            if not np.array_equal(now[0], states[-1][0]):
                g(x)
                states.append([w.get_value() for w in others])
            assert all(np.array_equal(a, b) for a, b in zip(now, states[-1], strict=True))
    finally:
        signal.signal(signal.SIGALRM, former)
    assert len(states) > 1  # how many were interrupted depends on the machine


@pytest.mark.parametrize("mode", ["auto", "py"])
def test_a_loop_that_updates_one_variable_and_copies_another_stays_before_what_is_set_there(mode):
    """The copy of `b` is in the loop that adds 1 to `a`, which is written in place: late, but not later than `b[i]`."""
    a, b = tg.shared(np.zeros(3), name="a"), tg.shared(np.zeros(3), name="b")
    i = T.lscalar("i")
    updates = [(a, a + 1), (b, T.set_subtensor(b[i], 5.0))]
    f = tg.function([i], a[i], updates=updates, mode=tg.Mode(linker=mode))
    assert f(0) == 0.0
    with pytest.raises(IndexError):
        f(7)
    assert f(2) == 1.0
    assert [v.get_value().tolist() for v in (a, b)] == [[2.0] * 3, [5.0, 0.0, 5.0]]


@pytest.mark.parametrize("outputs", [0, 1, 2])
@pytest.mark.parametrize("written", ["element", "rows", "added"])
def test_updates_computed_together_of_which_one_is_written_to_again(outputs, written):
    """The statement that computes both may not wait until the end: an element of one is set after it."""
    n = 9
    x = T.tensor("x", dtype="float64", shape=(n,))
    turned, changed = tg.shared(np.zeros(n), name="turned"), tg.shared(np.zeros(n), name="changed")
    first = T.tanh(x[0])
    y = T.stack([first] + [T.tanh(first + x[i]) for i in range(1, n)])
    new = {
        "element": lambda: T.set_subtensor(y[4], y[0] * 2),
        "rows": lambda: T.set_subtensor(y[2:5], x[:3]),
        "added": lambda: T.inc_subtensor(y[4], y[0]),
    }[written]()
    updates = [(turned, x[::-1]), (changed, new)]
    values = np.linspace(-1, 2, n)
    want = tg.function([x], new, mode=tg.Mode(linker="py"))(values)
    f = tg.function([x], [T.zeros_like(turned), T.exp(x)][:outputs], updates=updates, mode=tg.Mode(linker="c"))
    for _ in range(2):
        f(values)
        np.testing.assert_allclose(changed.get_value(), want, rtol=1e-14)
        np.testing.assert_array_equal(turned.get_value(), values[::-1])


JOINED = {  # new values in parts, and whether these are written over the old ones
    "own rows": (lambda w, x: T.concatenate([w[:24] * 2 - x.sum(0), w[24:] + x.prod(0)]), True),
    "three": (lambda w, x: T.concatenate([w[:8] - x.sum(0), w[8:24] + x.prod(0), 3 * w[24:]]), True),
    "columns": (lambda w, x: T.concatenate([w[:, :8] - x.sum(0)[:8], w[:, 8:] + 1], axis=1), None),
    "other rows": (lambda w, x: T.concatenate([w[24:] * 2 - x.sum(0), w[:24] + x.prod(0)]), False),
    "turned": (lambda w, x: T.concatenate([w[23::-1] * 2 - x.sum(0), w[24:] + x.prod(0)]), False),
    "read by all": (lambda w, x: T.concatenate([w[:24] - w[60], w[24:] + x.prod(0)]), False),
    "equal parts": (lambda w, x: T.concatenate([w[:40] * 2 - x.sum(0), w[40:] + x.prod(0)]), None),
    "set": (lambda w, x: T.set_subtensor((w * 2)[24:], w[24:] + x.prod(0)), None),
}


@pytest.mark.parametrize("name", JOINED)
def test_parts_of_a_new_value_are_written_over_their_own_old_elements(name):
    build, in_place = JOINED[name]
    rng = np.random.default_rng(5)
    start, given = rng.standard_normal((80, 32)), rng.standard_normal((3, 32)) / 2
    x, ends = T.dmatrix("x"), []
    for linker in ("c", "py"):
        w = tg.shared(start.copy())
        f = tg.function([x], w.sum(), updates=[(w, build(w, x))], mode=tg.Mode(linker=linker))
        costs = [f(given) for _ in range(3)]
        ends.append((costs, w.get_value()))
        if linker == "c" and in_place is not None:
            assert ("results 8 bytes" in str(f.memory(given))) == in_place
    np.testing.assert_allclose(ends[0][0], ends[1][0], rtol=1e-12)
    np.testing.assert_allclose(ends[0][1], ends[1][1], rtol=1e-12)
