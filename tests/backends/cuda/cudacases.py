"""Programs for the GPU that the tests of the CUDA backend share, with values for their inputs."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from emucuda.build import find_compiler
from emucuda.driver import REAL, emulation
from termgraph.backends.cuda.generate import generate
from termgraph.backends.cuda.run.executor import Executable
from termgraph.terms.dtypes import numpy_dtype

no_emulation = "the emulation needs g++" if find_compiler() is None else ""
inside = pytest.mark.skipif(REAL, reason="it looks into the emulated driver, or makes it fail")


def program(inputs, outputs):
    """The CUDA program of some variables, after the usual rewriting."""
    with tg.config.change_flags(linker="py"):
        work = tg.function(inputs, outputs).maker.work
    return generate(work.args, work.linked_roots)


def cases():
    """name -> (inputs, outputs, values)."""
    rng = np.random.default_rng(5)
    x, y, b = T.fmatrix("x"), T.fmatrix("y"), T.fvector("b")
    d, v, i = T.dmatrix("d"), T.dvector("v"), T.lvector("i")
    xs, ys = rng.standard_normal((2, 6, 12)).astype("float32")
    wide, long = rng.standard_normal((3, 700)).astype("float32"), rng.standard_normal((2, 1700)).astype("float32")
    huge = rng.standard_normal((2, 9000)).astype("float32")
    bs, ds, vs = rng.standard_normal(12).astype("float32"), rng.standard_normal((20, 70)), rng.standard_normal(70)
    where = np.array([0, 3, 3, -1])
    whole = np.round(huge)
    layers = [T.nnet.relu(T.dot(x.T, y) + b), T.nnet.gelu(T.dot(x, y.T), True)]
    rough = np.where(rng.random((3, 700)) < 0.1, np.nan, np.round(wide * 4)).astype("float32")  # equal ones, and NaN
    cube = rng.random((3, 4, 5)).astype("float32")
    x3 = T.tensor3("x3", dtype="float32")
    tall = rng.standard_normal((500, 35)).astype("float32")
    planes = rng.standard_normal((2, 300, 18)).astype("float32")
    h = T.matrix("h", dtype="float16")
    z = T.zmatrix("z")
    zs = rng.standard_normal((5, 40)) + 1j * rng.standard_normal((5, 40))
    hs = rng.standard_normal((5, 33)).astype("float16")
    flat = [T.exp(z) / (z + 1), T.sqrt(z) * 2j, abs(z), T.switch(T.real(z) > 0, z, T.conj(z)), T.log(z) - T.tanh(z)]
    turned = [T.arcsin(z), T.arccos(z) * T.arctan(z), T.arcsinh(z), T.arccosh(z), T.arctanh(z), T.tan(z), T.sign(z)]
    turned += [T.log1p(z), T.log10(z) + T.log2(z), T.expm1(z), z**3, z ** (z / 2), T.isnan(z), T.isfinite(z / 0)]
    sums = [x.sum(), x.sum(0), x.sum(1), x.max(), x.argmax(1), x.argmin(), x.mean(1), x.prod(0)]
    rows = [T.nnet.softmax(x), T.log(T.exp(x).sum(1)), (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)]
    return {
        "elementwise": ([x, y, b], [T.tanh(x + b) * y, T.switch(x > 0, x, b), T.cast(x * 10, "int8")], [xs, ys, bs]),
        "sums": ([x], sums, [xs]),
        "sums of wide rows": ([x], sums, [wide]),
        "rows": ([x], rows, [xs]),
        "wide rows": ([x], rows, [wide]),
        "rows for a block": ([x], rows, [long]),
        "rows that are read again": ([x], rows, [huge]),
        "products": ([x, d, v], [T.dot(x, x.T), T.dot(d.T, d), T.dot(d, v), T.dot(v, d.T)], [xs, ds, vs]),
        "indexing": ([x, i], [x[i], x[::-1, 1::2], T.set_subtensor(x[i], 0), T.inc_subtensor(x[i], 1)], [xs, where]),
        "products with epilogues": ([x, y, b], layers, [xs, ys, bs]),
        "running sums": ([x], [T.cumsum(x, 0), T.cumsum(x, 1), T.cumsum(x)], [xs]),
        "running sums over many blocks": ([x], [T.cumsum(x, 1), T.cumsum(x.T, 0) + x.sum(1), T.cumsum(x * 2)], [whole]),
        "running products": ([d], [T.cumprod(d, 0), T.cumprod(d, 1), T.cummax(d, 0), T.cummin(d, 1)], [ds]),
        "sorting": ([x, d], [T.sort(x, 1), T.argsort(x, 1), T.sort(d, 0), T.argsort(d, 0)[::-1]], [rough, ds]),
        "order statistics": ([x, d], [T.median(x, 1), T.quantile(d, [0.1, 0.6], 0), T.nanmedian(x, 0)], [rough, ds]),
        "searching": ([d, v], [T.searchsorted(T.sort(v), d), T.searchsorted(T.sort(v)[3:], v, "right")], [ds, vs]),
        "sorting other dtypes": ([h, i], [T.sort(h, 1), T.searchsorted(T.sort(h[0]), h), T.argsort(i)], [hs, where]),
        "sorting by tiles": ([x], [T.sort(x, 1), T.argsort(x, 1), T.argsort(x.T, 0)], [whole[:, :5000].copy()]),
        "sorting by digits": ([x], [T.sort(x, 1), T.argsort(x, 1), T.argsort(x.T, 0)], [whole]),
        "columns in parts": ([x, x3], [x.sum(0), x.var(0), x3.max(1)], [tall, planes]),
        "turned": ([x, x3], [x.T * 2, T.exp(x.T) + x[:, 0], x3.dimshuffle(2, 0, 1) + 1], [wide.repeat(7, 0), planes]),
        "shapes": ([x, y], [T.join(0, x, y), x.T.reshape((-1,)), T.stack([x, y])], [xs, ys]),
        "triangles": ([x], [T.nnet.pdist(x), tg.grad(T.nnet.pdist(x).sum(), x)], [tall[:40]]),
        "batches": ([x3], [T.batched_dot(x3, x3.dimshuffle(0, 2, 1)), x3.sum((0, 2))], [cube]),
        **brain_cases(rng),
        **window_cases(rng),
        "half": ([h], [h * 2 + 1, h.sum(1), T.exp(h)], [hs]),
        "half of double": ([d], [T.cast(d, "float16"), T.cast(T.complex(d, d), "float16")], [between_halves()]),
        "half products": ([h], [T.dot(h, h.T), T.dot(h, h[0]), T.dot(h * 2, h.T) + 1], [hs]),
        "complex": ([z], flat, [zs]),
        "complex inverses": ([z], turned, [zs]),
        "complex sums": ([z], [z.sum(), z.sum(0), z.sum(1), z.prod(1), T.dot(z, z.T), T.dot(z, z[0])], [zs]),
        "empty": ([x], [x.sum(0), x * 2, x.sum()], [xs[:0]]),
    }  # fmt: skip


def between_halves():
    """Numbers that rounding to float32 first would bring to the middle of two halves."""
    middle = (2 * np.arange(600) + 1).reshape(2, 300) * 2.0**-12 + 1
    small = middle * 2.0**-15 * (1 + 2.0**-30)
    return np.concatenate([middle * (1 + 2.0**-40), middle * (1 - 2.0**-40), -middle, small])


def brain_cases(rng):
    """What bfloat16 goes through: loops, rows, products, and kernels written by hand."""
    m, v, i = T.matrix("m", dtype="bfloat16"), T.vector("v", dtype="bfloat16"), T.lvector("i")
    brain = numpy_dtype("bfloat16")
    ms, vs = rng.standard_normal((5, 40)).astype(brain), rng.standard_normal(40).astype(brain)
    wide = (rng.standard_normal((3, 700)) / 8).astype(brain)
    where = np.array([0, 3, 3, -1])
    casts = [T.cast(m, d) for d in ("float32", "float64", "float16", "int8", "complex64")]
    odd = T.switch(m > 1, np.nan, T.switch(m < -1, np.inf, m))
    layers = [T.nnet.relu(T.dot(m, m.T) + v[:5]), T.nnet.gelu(T.dot(m.T, m), True)]
    return {
        "bfloat16": ([m, v], [m * 2 + v, T.exp(m) / 3, T.tanh(m) - m.mean(), T.maximum(m, 0.1)], [ms, vs]),
        "bfloat16 casts": ([m], [*casts, T.cast(T.cast(m, "float32") / 3, "bfloat16"), odd], [ms]),
        "bfloat16 sums": ([m], [m.sum(), m.sum(0), m.sum(1), m.max(), m.argmax(1), m.var(1), m[:, :4].prod(1)], [ms]),
        "bfloat16 rows": ([m], [T.nnet.softmax(m), T.nnet.log_softmax(m), T.logsumexp(m, axis=1)], [wide]),
        "bfloat16 products": ([m, v], [T.dot(m, m.T), T.dot(m, v), T.dot(v, v), T.dot(m * 2, m.T) + 1], [ms, vs]),
        "bfloat16 with epilogues": ([m, v], layers, [ms, vs]),
        "bfloat16 along axes": ([m], [T.cumsum(m, 1), T.cumsum(m, 0), T.sort(m, 1), T.argsort(m, 1)], [ms]),
        "bfloat16 indexing": ([m, i], [m[i], m[::-1, 1::2], T.set_subtensor(m[i], 0), T.inc_subtensor(m[i], 1)],
                              [ms, where]),
        "bfloat16 shapes": ([m, v], [T.join(0, m, m * 2), m.T.reshape((-1,)), T.stack([v, v]), m[0][:, None]],
                            [ms, vs]),
    }  # fmt: skip


def window_cases(rng):
    """Pooling, convolutions, batch norm, and their gradients."""
    x, h = T.ftensor4("x"), T.tensor3("h", dtype="float16")
    xs, hs = rng.standard_normal((2, 3, 9, 8)).astype("float32"), rng.standard_normal((2, 7, 6)).astype("float16")
    w, v = T.tensor("w", dtype="float32", shape=(20, 3, 3, 3)), T.tensor("v", dtype="float16", shape=(20, 7, 3))
    ws, vs = rng.standard_normal((20, 3, 3, 3)).astype("float32"), rng.standard_normal((20, 7, 3)).astype("float16")
    how = {"stride": (2, 1), "pad": (1, 1), "ignore_border": True}
    moved = T.nnet.conv2d(x, w, border_mode=(1, 2), subsample=(2, 1), algo="panels")
    z, s = T.tensor("z", dtype="float32", shape=(3, 4, 9, 8)), T.tensor("s", dtype="float32", shape=(1, 4, 1, 1))
    normal = T.nnet.batch_normalization_train(z, s, s, axes="spatial")[0]
    zs, ss = rng.standard_normal((3, 4, 9, 8)).astype("float32"), rng.random((1, 4, 1, 1)).astype("float32")
    ys = [T.signal.pool_2d(x, (3, 3), mode=mode, **how) for mode in ("max", "average_exc_pad")]
    return {
        "pooling": ([x], [*ys, *[tg.grad(T.sqr(y).sum(), x) for y in ys]], [xs]),
        "pooling of no rows": ([h], [T.signal.pool_2d(h, (2, 2), True, (1, 1), (1, 1))], [hs[:, :0]]),
        "convolutions": ([x, w], [moved, *tg.grad(T.sqr(moved).sum(), [x, w])], [np.round(xs * 2), np.round(ws * 2)]),
        "convolutions of half": ([h, v], [T.nnet.conv1d(h, v, border_mode="half", algo="panels")], [hs, vs]),
        "batch norm": ([z, s], [normal, *tg.grad(T.sqr(normal * z).sum(), [z, s])], [zs, ss]),
        "pooling of half": ([h], [T.signal.pool_2d(h, (2, 5), **how), T.signal.pool_2d(h, (3, 2), mode="sum")], [hs]),
    }  # fmt: skip


def launches_of(inputs, outputs, *values, rtol=1e-4, atol=1e-5):
    """(name, grid) of each launch of a program that is right: run, recorded and replayed."""
    want = tg.function(inputs, outputs)(*values)
    with emulation() as device:
        run = Executable(program(inputs, outputs), device)
        for _ in range(3):
            for got, expected in zip(run(*values), want, strict=True):
                assert got.dtype == expected.dtype and got.shape == expected.shape
                np.testing.assert_allclose(np.asarray(got), expected, rtol=rtol, atol=atol)
        plan = run.plan_for(tuple(np.shape(v) for v in values)).first
        return [(x.kernel, x.grid) for x in plan.launches if hasattr(x, "kernel")]


def ops_of(f):
    """The names of the operations that a compiled function runs, kernels by what they are."""
    return [i.op.name.split(":")[0] for i in f.vm.program.instructions]
