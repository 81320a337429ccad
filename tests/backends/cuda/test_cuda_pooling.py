"""Pooling and its gradients on the emulated GPU: the numbers of the NumPy meaning, and no array of all windows."""

import numpy as np
import pytest
from backends.cuda.cudacases import no_emulation
from helpers import wide_of_half

import termgraph as tg
import termgraph.tensor as T
from emucuda.driver import emulation
from termgraph.backends.cuda.generate import generate
from termgraph.backends.cuda.placement import why_not
from termgraph.backends.cuda.run.executor import Executable
from termgraph.backends.cuda.text.pooling import _multiplier
from termgraph.terms.dtypes import numpy_dtype
from termgraph.terms.evaluate import evaluate
from termgraph.terms.ops.pooling import places, pool, pool_max_grad, pool_sum_grad
from termgraph.terms.term import Arg, Const, mk
from termgraph.terms.types import TensorType

LINKER = "auto"
emulated = pytest.mark.skipif(bool(no_emulation), reason=no_emulation or "g++")


def windows_at_random(rng):
    """Windows along one to three dimensions, and a shape that some of them fit into."""
    n = int(rng.integers(1, 4))
    each = lambda low, high: tuple(int(k) for k in rng.integers(low, high + 1, n))  # noqa: E731
    size, whole = each(1, 4), bool(rng.integers(2))
    pad = tuple(int(rng.integers(0, k)) for k in size) if whole else (0,) * n
    spatial = tuple(max(k - 2 * p, 1) + int(rng.integers(0, 5)) for k, p in zip(size, pad))
    batch = ((), (3,), (2, 3), (2, 1, 3), (0, 2))[int(rng.integers(5))]
    stride = size if rng.integers(2) else each(1, 4)
    return (*batch, *spatial), {"size": size, "stride": stride, "pad": pad, "ignore_border": whole, "short": False}


def some(rng, shape, dtype):
    """Small whole numbers: many are equal, and their sums are exact in every dtype."""
    return rng.integers(0, 4, shape).astype(numpy_dtype(dtype))


def terms_of(rng, dtype, first):
    """A pooling of each kind and both gradients of arguments from the given number on, with values."""
    shape, how = windows_at_random(rng)
    counts = (*shape[: len(shape) - len(how["size"])], *places("pool", shape[-len(how["size"]) :], how))
    x, y, g = [Arg(k, TensorType(dtype, s)) for k, s in enumerate((shape, counts, counts), first)]
    lengths = [Const(np.int64(m)) for m in shape[-len(how["size"]) :]]
    largest = mk(pool.bind(kind="max", **how), (x,))
    given = some(rng, shape, dtype)
    values = [given, *evaluate([largest], {x: given}), some(rng, counts, dtype)]
    total = mk(pool.bind(kind="sum", **how), (x,))
    gradients = [mk(pool_max_grad.bind(**how), (x, y, g)), mk(pool_sum_grad.bind(**how), (g, *lengths))]
    return [x, y, g], [largest, total, *gradients], values


@emulated
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int8", "int64", "uint64", "bool"])
def test_any_windows(dtype, rng):
    """Twelve, other ones for each dtype, in one program: it is compiled once."""
    rng = np.random.default_rng([*map(ord, dtype), int(rng.integers(1 << 30))])
    args, terms, values = map(sum, zip(*[terms_of(rng, dtype, first) for first in range(0, 36, 3)]), ([], [], []))
    assert all(why_not(t) is None for t in terms)
    with emulation() as device:
        got = Executable(generate(args, terms), device)(*values)
    for t, a, b in zip(terms, got, evaluate(terms, dict(zip(args, values))), strict=True):
        assert np.asarray(a).dtype == b.dtype
        np.testing.assert_array_equal(wide_of_half(np.asarray(a)), wide_of_half(b), err_msg=repr(t))


@emulated
@pytest.mark.parametrize(
    "size, stride, pad", [((9, 8), (2, 1), (4, 3)), ((3, 3), (2, 2), (1, 1)), ((2, 5), (3, 4), (1, 2))]
)
def test_windows_written_out_or_not(size, stride, pad, rng):
    """All taps of small windows are under way at once; large ones are loops."""
    how = {"size": size, "stride": stride, "pad": pad, "ignore_border": True, "short": False}
    shape, counts = (2, 3, 13, 14), (2, 3, *places("pool", (13, 14), how))
    args = [Arg(k, TensorType("float64", s)) for k, s in enumerate((shape, counts, counts))]
    largest, given = mk(pool.bind(kind="max", **how), tuple(args[:1])), some(rng, shape, "float64")
    lengths = tuple(Const(np.int64(m)) for m in shape[2:])
    terms = [largest, mk(pool.bind(kind="sum", **how), tuple(args[:1])), mk(pool_max_grad.bind(**how), tuple(args))]
    terms.append(mk(pool_sum_grad.bind(**how), (args[2], *lengths)))
    values = [given, *evaluate([largest], {args[0]: given}), some(rng, counts, "float64")]
    with emulation() as device:
        code = generate(args, terms)
        assert code.source.count("[w0][w1][w2] = inside ?") == (0 if size == (9, 8) else 5)
        for a, b in zip(Executable(code, device)(*values), evaluate(terms, dict(zip(args, values)))):
            np.testing.assert_array_equal(np.asarray(a), b)


def test_quotients_by_multiplying(rng):
    for d in (1, 2, 3, 7, 56, 2**16 + 1, 2**31 - 1, *(int(v) for v in rng.integers(1, 2**31, 200))):
        m, h = _multiplier(d)
        xs = [0, 1, d - 1, d, 2**31 - 1, (2**31 - 1) // d * d, *(int(v) for v in rng.integers(0, 2**31, 50))]
        assert m < 2**32 and all((m * x // 2**32 + x) >> h == x // d for x in xs if x < 2**31), d


@emulated
def test_numbers_that_are_none_and_infinite_ones(rng):
    """A window with a NaN has no largest element; one that lies outside has what every number is at least."""
    x = rng.normal(size=(2, 6, 7)).astype("float32")
    x[0, 2, 3], x[1, 0, :3], x[1, 3] = np.nan, np.inf, -np.inf
    v = T.tensor("v", dtype="float32", shape=x.shape)
    y = T.signal.pool_2d(v, (3, 3), stride=(2, 1), pad=(1, 2), ignore_border=True)
    outputs = [y, tg.grad((y * np.float32(1.5)).sum(), v)]
    expected = tg.function([v], outputs, mode=tg.Mode(linker="py", optimizer="None"))(x)
    with emulation(), tg.config.change_flags(device="cuda"):
        f = tg.function([v], outputs)
        assert f.on_cpu() == []
        for got, wanted in zip(f(x), expected):
            np.testing.assert_array_equal(np.asarray(got), wanted)


@emulated
def test_views_are_read_where_they_lie(rng):
    """A transposed image, one that is read backwards, and a cotangent that is one number for all."""
    x = T.ftensor4("x")
    y = T.signal.pool_2d(
        x.dimshuffle(1, 0, 3, 2)[:, :, ::-1, 1:], (3, 2), stride=(1, 2), ignore_border=True, pad=(1, 0)
    )
    outputs = [y, tg.grad(y.sum(), x)]
    value = rng.normal(size=(3, 2, 8, 6)).astype("float32")
    expected = tg.function([x], outputs, mode=tg.Mode(linker="py", optimizer="None"))(value)
    with emulation(), tg.config.change_flags(device="cuda"):
        for got, wanted in zip(tg.function([x], outputs)(value), expected):
            np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-6)


@emulated
@pytest.mark.parametrize("mode", ["max", "average_exc_pad"])
def test_no_array_of_all_windows(mode):
    """Beside results there is memory for the maxima, or the cotangent, of 16 x 16 windows at most."""
    shape = (2, 3, 33, 33)
    x = T.tensor("x", dtype="float32", shape=shape)
    y = T.signal.pool_2d(x, (5, 5), stride=(2, 2), pad=(1, 1), ignore_border=True, mode=mode)
    with emulation() as device, tg.config.change_flags(device="cuda"):
        f = tg.function([x], [y, tg.grad(T.sqr(y).sum(), x)])
        (code,) = [i.op.code for i in f.vm.program.instructions if i.op.kind == "kernel"]
        room = Executable(code, device).plan_for((shape,)).size
        assert room <= 3 * (2 * 3 * 16 * 16 * 4), room
        assert len(code.kernels) <= 3, code.source


@emulated
def test_gradients_by_differences(gpu, rng):
    value = rng.permutation(2 * 5 * 6).reshape(2, 5, 6) / 7.0
    for how in ({"mode": "max", "stride": (2, 1)}, {"mode": "average_inc_pad", "pad": (1, 1), "ignore_border": True}):
        tg.verify_grad(lambda x, how=how: T.signal.pool_2d(x, (3, 2), **how), [value], rng=rng)


@emulated
def test_inside_of_a_loop(gpu, rng):
    """The addresses of a step are those of its rows."""
    xs = T.ftensor3("xs")
    step = lambda x, s: (s + T.signal.pool_2d(x, (2, 3), stride=(1, 2), ignore_border=True, pad=(1, 1))).astype(s.dtype)  # noqa: E731
    out = tg.scan(step, sequences=[xs], outputs_info=[T.zeros((5, 4), dtype="float32")])[0]
    value = rng.normal(size=(3, 4, 7)).astype("float32")
    expected = tg.function([xs], out, mode=tg.Mode(linker="py"))(value)
    np.testing.assert_allclose(np.asarray(tg.function([xs], out)(value)), expected, rtol=1e-6)
