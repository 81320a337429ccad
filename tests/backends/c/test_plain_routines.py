"""Convolutions and pooling in plain loops, where new values are written and there is no memory: all or nothing."""

import ctypes
import re
from itertools import product

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.backends.c.text import plain_routines, routine_helpers, window_calls
from termgraph.lower.loops.tree import Quiet

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
C, PY = tg.Mode(linker="c"), tg.Mode(linker="py")


@pytest.fixture
def plain(monkeypatch):
    """Every routine is computed twice: as ever, with what follows on it, and then in plain loops."""
    text = plain_routines.SURELY
    assert "if ($CALLED($GIVEN))" in text
    monkeypatch.setattr(plain_routines, "SURELY", text.replace("($CALLED($GIVEN))", "(($CALLED($GIVEN), 1))"))
    monkeypatch.setattr(window_calls, "with_room", lambda x, call, _: x.p.add(f"{plain_routines.surely(call)};"))
    with tg.config.change_flags({"cache.programs": False}):
        yield


def whole(rng, dtype, *shape):
    """Whole numbers, whose sums are the same in any order."""
    return rng.integers(-4, 5, shape).astype(dtype)


def same(outputs, inputs, values, where="_surely_"):
    f, want = tg.function(inputs, outputs, mode=C), tg.function(inputs, outputs, mode=PY)
    assert where in f.source("c")
    for a, b in zip(f(*values), want(*values), strict=True):
        np.testing.assert_array_equal(a, b)


GEOMETRY = [
    {"border_mode": "half"},
    {"border_mode": "full", "subsample": (2, 1)},
    {"filter_dilation": (2, 2)},
    {"border_mode": (2, 0), "subsample": (3, 2), "filter_flip": False},
    {"border_mode": ((1, 0), (0, 2)), "num_groups": 2},
    {"subsample": (2, 2), "num_groups": 4},
]


@pytest.mark.parametrize("geometry, dtype", list(product(GEOMETRY, ["float32", "float64"])), ids=str)
def test_convolutions_and_their_gradients(geometry, dtype, plain, rng):
    groups = geometry.get("num_groups", 1)
    shapes = (2, 4, 9, 8), (8, 4 // groups, 3, 3)
    x, w = (T.tensor(n, dtype=dtype, shape=s) for n, s in zip("xw", shapes))
    y = T.nnet.conv2d(x, w, **geometry)
    g = T.tensor("g", dtype=dtype, ndim=4)
    values = [whole(rng, dtype, *s) for s in shapes]
    size = tg.function([x, w], y, mode=PY)(*values).shape
    same([y, *tg.grad((y * g).sum(), [x, w])], [x, w, g], [*values, whole(rng, dtype, *size)])


@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_other_dimensions(dtype, plain, rng):
    x, w = (T.tensor(n, dtype=dtype, shape=s) for n, s in (("x", (2, 3, 4, 5, 6)), ("w", (4, 3, 2, 3, 2))))
    same([T.nnet.conv3d(x, w)], [x, w], [whole(rng, dtype, *x.type.shape), whole(rng, dtype, *w.type.shape)])


def test_what_follows_a_convolution_is_made_again(plain, rng):
    shapes = (2, 16, 9, 9), (16, 16, 3, 3), (16,)
    x, w, b = (T.tensor(n, dtype="float32", shape=s) for n, s in zip("xwb", shapes))
    for border, stride in (("half", 1), ("valid", 2)):
        y = T.maximum(T.nnet.conv2d(x, w, border_mode=border, subsample=(stride, stride)) * 2 + b[:, None, None], 0)
        values = [whole(rng, "float32", *s) for s in shapes]
        same([y], [x, w, b], values, "(tg_conv_after){")
        same([tg.grad(y.sum(), x)], [x, w, b], values)


@pytest.mark.parametrize("kind, dtype", list(product(["max", "sum", "average_inc_pad"], ["float32", "float64"])))
def test_pooling_and_its_gradients(kind, dtype, plain, rng):
    windows = [((3, 3), (2, 2), (1, 1), True), ((5, 4), (2, 3), (0, 0), False)]
    for size, stride, pad, whole_ in windows:
        x = T.tensor("x", dtype=dtype, shape=(2, 3, 9, 8))
        y = T.signal.pool_2d(x, size, stride=stride, pad=pad, ignore_border=whole_, mode=kind)
        outputs = [y, tg.grad((y * T.cast(T.arange(y.shape[-1]) * 6, dtype)).sum(), x)]
        value = whole(rng, dtype, 2, 3, 9, 8) * 6
        same(outputs, [x], [value])
        if kind == "max":
            value[0, 1, 3, 4] = np.nan
            same(outputs, [x], [value])


def test_integers_are_pooled(plain, rng):
    for dtype in ("int32", "int64", "uint8"):
        x = T.tensor("x", dtype=dtype, shape=(3, 7, 7))
        values = whole(rng, dtype, 3, 7, 7)
        same([T.signal.pool_2d(x, (3, 3), stride=(2, 2), pad=(1, 1), ignore_border=True)], [x], [values])


def net(rng):
    """A step in which updates come early, with what may find no memory before and after the first of them."""
    x = T.tensor("x", dtype="float32", shape=(2, 8, 16, 16))
    h, weights = x, []
    for k in range(8):
        weights.append(tg.shared((rng.standard_normal((8, 8, 3, 3)) / 9).astype("float32")))
        h = T.tanh(T.nnet.conv2d(h, weights[-1], border_mode="half"))
        if k == 4:
            h = T.signal.pool_2d(h, (2, 2), ignore_border=True)
    loss = (h * h).sum()
    updates = [(w, w - np.float32(0.01) * g) for w, g in zip(weights, tg.grad(loss, weights))]
    with tg.config.change_flags({"cache.programs": False}):
        f = tg.function([x], loss, updates=updates, mode=C)
    assert any(isinstance(n, Quiet) for n in f.stage("memory").scheduled.nodes)
    return f, weights, rng.standard_normal((2, 8, 16, 16)).astype("float32")


# Whole where it stands: what programs share is compiled without what the program declares.
LACKS = """({ char *getenv(const char *); int atoi(const char *); static unsigned drawn = __LINE__ * 2654435761u;
((drawn = drawn * 1664525u + 1013904223u) >> 16) % 100 < (unsigned)atoi(getenv("TG_LACKS")); }) ? 0 : """.replace(
    "\n", " "
)


def test_without_memory_all_weights_change_or_none(monkeypatch):
    """Every fiftieth array or so is not to be had: a call fails and changes nothing, or it has the right values."""
    own = routine_helpers.helpers

    def scarce(source):
        return re.sub(r"(= | : )(?=malloc\()", rf"\1{LACKS}", own(source))

    like, others, x = net(np.random.default_rng(4))
    said = 'setenv("TG_PLAINLY", "1", 1);'
    text = plain_routines.SURELY.replace("$PLAIN($GIVEN);", f"{{ {said} $PLAIN($GIVEN); }}")
    monkeypatch.setattr(plain_routines, "SURELY", f"int setenv(const char *, const char *, int);{text}")
    monkeypatch.setattr(routine_helpers, "helpers", scarce)
    f, weights, _ = net(np.random.default_rng(4))
    assert "tg_conv_surely_taps_f32(" in f.source("c")
    outcomes = {"failed": 0, "usual": 0, "plain": 0}
    environment = ctypes.CDLL(None)
    monkeypatch.setenv("TG_LACKS", "2")
    for _ in range(40):
        before = [w.get_value() for w in weights]
        for w, v in zip(others, before):
            w.set_value(v)
        environment.unsetenv(b"TG_PLAINLY")
        try:
            loss = f(x)
        except MemoryError:
            outcomes["failed"] += 1
            assert all(np.array_equal(a, w.get_value()) for a, w in zip(before, weights))
            continue
        assert like(x) == loss
        for a, b in zip(weights, others):
            np.testing.assert_allclose(a.get_value(), b.get_value(), rtol=1e-4, atol=1e-5)
        outcomes["plain" if environment.getenv(b"TG_PLAINLY") else "usual"] += 1
    assert all(outcomes.values()), outcomes
