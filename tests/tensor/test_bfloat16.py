"""The dtype bfloat16: every op that knows float16 computes it in float32 and rounds once, on the VM and compiled."""

import itertools
import pickle
import warnings

import numpy as np
import pytest
from helpers import wide_of_half as wide

import termgraph as tg
import termgraph.tensor as T
from gpucheck.checks import lstm, mlp
from termgraph.terms.dtypes import finfo, kind_of, numpy_dtype
from termgraph.terms.op import OPS
from termgraph.terms.ops.elementwise import loop_dtypes
from termgraph.terms.plain import from_plain, to_plain

ml_dtypes = pytest.importorskip("ml_dtypes")
BRAIN = np.dtype(ml_dtypes.bfloat16)
HALF = np.dtype("float16")
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -3.25, np.inf, -np.inf, np.nan, 3e38, 1e-39, 7.0, -100.0]
LINKERS = ["py", "auto"]


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(BRAIN)


def close(got, expected, steps=1):
    """The same up to some steps of bfloat16, which has 8 binary digits."""
    assert got.dtype == expected.dtype and got.shape == expected.shape
    np.testing.assert_allclose(wide(got), wide(expected), rtol=steps * 2**-7, atol=steps * 2**-9)


def loops(op, dtype):
    """The dtypes of the op's loop for operands of this dtype, or None if there is none."""
    try:
        return [d.name for d in loop_dtypes(op, (dtype,) * (op.arity or 2))]
    except TypeError:
        return None


ELEMENTWISE = [op for op in OPS.values() if op.kind == "elementwise" and not op.params and loops(op, HALF)]


@pytest.mark.parametrize("op", ELEMENTWISE, ids=lambda op: op.name)
def test_the_loop_of_bfloat16_is_that_of_float16(op):
    replaced = [d.replace("float16", "bfloat16") for d in loops(op, HALF)]
    assert loops(op, BRAIN) == replaced


@pytest.mark.parametrize("op", ELEMENTWISE, ids=lambda op: op.name)
def test_elementwise_ops_compute_in_float32_and_round_once(op):
    values = np.array(SPECIAL, "float32").astype(BRAIN)
    operands = [v.ravel() for v in np.meshgrid(*[values] * (op.arity or 2))]
    if op.name == "nextafter":  # which is about the numbers of the dtype
        assert float(op.meaning(np.asarray(1, BRAIN), np.asarray(2))) == 1 + 2**-7
        return
    with np.errstate(all="ignore"):
        wanted = np.asarray(op.meaning(*[v.astype("float32") for v in operands]))
        wanted = wanted.astype(BRAIN) if wanted.dtype == np.float32 else wanted
    got = np.asarray(op.meaning(*operands))
    assert got.dtype == wanted.dtype
    # The sign of a NaN is not said by anybody: with NumPy it depends on where an array lies in memory.
    if kind_of(got.dtype) == "f":
        got, wanted = (np.where(v != v, np.asarray(np.nan, v.dtype), v) for v in (got, wanted))
    np.testing.assert_array_equal(got.view("uint8"), wanted.view("uint8"))


DTYPES = ("bool", "int8", "uint8", "int32", "uint64", "int64", "float16", "float32", "float64", "complex64", "bfloat16")


@pytest.mark.parametrize("op", [OPS[n] for n in ("add", "mul", "maximum", "clip")], ids=lambda op: op.name)
def test_three_operands_of_any_dtypes_give_what_the_type_promises(op):
    for dtypes in itertools.product(map(numpy_dtype, DTYPES), repeat=3):
        if BRAIN in dtypes or op.name == "clip":
            try:
                promised = loop_dtypes(op, dtypes)[-1]
            except TypeError:
                continue
            assert op.meaning(*[np.ones(2).astype(d) for d in dtypes]).dtype == promised, dtypes


def test_types():
    x, i, h = T.matrix(dtype="bfloat16"), T.lvector(), T.vector(dtype="float16")
    assert {v.dtype for v in (x + 1, x * 2.5, x + i, x / i, T.exp(x), x.sum(), x.mean(), T.dot(x, x))} == {"bfloat16"}
    assert ((x + h).dtype, (x + T.fvector()).dtype, (x * 1j).dtype) == ("float32", "float32", "complex64")
    assert (
        T.tensor("y", dtype="bfloat16", shape=(2,)).dtype == x.astype("float32").astype("bfloat16").dtype == "bfloat16"
    )
    assert T.constant(numbers(3)).dtype == tg.shared(numbers(3)).dtype == "bfloat16"
    assert tg.grad(x.sum(), x).dtype == "bfloat16"


def a_graph():
    x, v, i = T.matrix("x", dtype="bfloat16"), T.vector("v", dtype="bfloat16"), T.lvector("i")
    f = lambda t: T.cast(t, "float32")  # noqa: E731 - what the op computes in
    pairs = {
        "sum": (x.sum(axis=0), f(x).sum(axis=0)),
        "mean": (x.mean(), f(x).mean()),
        "var": (x.var(axis=1), f(x).var(axis=1)),
        "prod": (T.prod(x[:, :3], axis=1), T.prod(f(x)[:, :3], axis=1)),
        "max": (x.max(axis=1), f(x).max(axis=1)),
        "cumsum": (T.cumsum(v), T.cumsum(f(v))),
        "dot": (T.dot(x, x.T), T.dot(f(x), f(x).T)),
        "matrix times vector": (T.dot(x, v), T.dot(f(x), f(v))),
        "inner product": (T.dot(v, v), T.dot(f(v), f(v))),
        "matmul": (T.matmul(x, T.stack([x.T, x.T])), T.matmul(f(x), T.stack([f(x).T, f(x).T]))),
        "softmax": (T.nnet.softmax(x), T.nnet.softmax(f(x))),
        "log_softmax": (T.nnet.log_softmax(x), T.nnet.log_softmax(f(x))),
        "logsumexp": (T.logsumexp(x, axis=1), T.logsumexp(f(x), axis=1)),
        "norm": (T.linalg.norm(x, axis=1), T.linalg.norm(f(x), axis=1)),
        "cross-entropy": (T.nnet.categorical_crossentropy(T.nnet.softmax(x), i % 5),
                          T.nnet.categorical_crossentropy(T.nnet.softmax(f(x)), i % 5)),
        "indexing": (x[1:, ::-2], f(x)[1:, ::-2]),
        "gather": (x[i], f(x)[i]),
        "set": (T.set_subtensor(x[1], v), T.set_subtensor(f(x)[1], f(v))),
        "scatter": (T.inc_subtensor(x[i], v), T.inc_subtensor(f(x)[i], f(v))),
        "join": (T.join(0, x, x * 2), T.join(0, f(x), f(x) * 2)),
        "reshape": (T.reshape(x, (x.size,)), T.reshape(f(x), (x.size,))),
        "alloc": (T.alloc(v[0], 3, 4), T.alloc(f(v)[0], 3, 4)),
        "eye": (T.eye(3, dtype="bfloat16"), T.eye(3, dtype="float32")),
        "arange": (T.arange(0, 4, 0.5, dtype="bfloat16"), T.arange(0, 4, 0.5, dtype="float32")),
        "choice": (T.switch(x > 0, x, -1.5), T.switch(f(x) > 0, f(x), -1.5)),
        "sort": (T.sort(x, axis=1), T.sort(f(x), axis=1)),
        "unique": (T.unique(v), T.unique(f(v))),
        "with integers": (x * i[0] + 0.5, f(x) * T.cast(i[0], "float32") + 0.5),
        "gradient": (tg.grad(T.tanh(T.dot(x, v)).sum(), x), tg.grad(T.tanh(T.dot(f(x), f(v))).sum(), x)),
    }  # fmt: skip
    return [x, v, i], pairs


GIVEN = numbers(6, 7), numbers(7, seed=1), np.array([0, 3, 3, 5, 1, 2])


@pytest.mark.parametrize("linker", LINKERS)
def test_graphs_agree_with_float32_rounded_once(linker):
    inputs, pairs = a_graph()
    mode = tg.Mode(linker=linker)
    halves = tg.function(inputs, [a for a, _ in pairs.values()], mode=mode)(*GIVEN)
    exact = tg.function(inputs, [b for _, b in pairs.values()], mode=mode)(*GIVEN)
    for name, got, wanted in zip(pairs, halves, exact, strict=True):
        with np.errstate(all="ignore"):
            close(got, wanted.astype(BRAIN), 4 if name in ("gradient", "cross-entropy", "var", "with integers") else 1)


@pytest.mark.parametrize("linker", LINKERS)
def test_whole_numbers_come_of_bfloat16(linker):
    x = T.vector("x", dtype="bfloat16")
    v = np.array([1.5, np.nan, -2.0, np.inf], "float32").astype(BRAIN)
    outs = [
        T.argmax(x),
        T.argmin(x[2:]),
        x > 1,
        T.isnan(x),
        T.any(x),
        T.cast(x[::2], "int64"),
        T.argsort(x),
        T.eq(x, x),
    ]
    got = tg.function([x], outs, mode=tg.Mode(linker=linker))(v)
    f = v.astype("float32")
    wanted = [f.argmax(), f[2:].argmin(), f > 1, np.isnan(f), f.any(), f[::2].astype("int64"), f.argsort(), f == f]
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("linker", LINKERS)
def test_rounding_of_every_kind_of_number(linker):
    """To the nearest, ties to even; NaN stays NaN, also if its bits are all in the half that is cut off."""
    bits = np.concatenate([
        np.random.default_rng(0).integers(0, 2**32, 4000, dtype="uint64").astype("uint32"),
        np.array([0x7F800000, 0xFF800000, 0x7F800001, 0xFF800001, 0x7FC00000, 0x7FFFFFFF, 0x7F7FFFFF, 0xFF7F8000]),
        np.array([0x00000001, 0x00007FFF, 0x00008000, 0x00008001, 0x00018000, 0x80008000, 0x3F808000, 0x3F818000]),
    ]).astype("uint32")  # fmt: skip
    x = T.fvector("x")
    f = tg.function(
        [x], [T.cast(x, "bfloat16"), T.cast(T.cast(x, "bfloat16") * 1, "float32")], mode=tg.Mode(linker=linker)
    )
    stored, back = f(bits.view("float32"))
    with np.errstate(all="ignore"):
        wanted = bits.view("float32").astype(BRAIN)
    number = ~np.isnan(bits.view("float32"))
    np.testing.assert_array_equal(stored.view("uint16")[number], wanted.view("uint16")[number])
    assert np.isnan(wide(stored)[~number]).all() and np.isnan(back[~number]).all()
    np.testing.assert_array_equal(back[number], wide(wanted)[number])


@pytest.mark.parametrize("linker", LINKERS)
def test_loops_carry_bfloat16(linker):
    x = T.vector("x", dtype="bfloat16")
    out, _ = tg.scan(lambda v, s: s * 0.5 + v, sequences=x, outputs_info=T.cast(0.0, "bfloat16"))
    assert out.dtype == "bfloat16"
    v, s, wanted = numbers(9), np.float32(0), []
    for part in wide(v):
        s = np.float32(wide(np.asarray(wide(np.asarray(s * 0.5, BRAIN)) + part, BRAIN)))
        wanted.append(s)
    got = tg.function([x], [out, tg.grad(out[-1], x)], mode=tg.Mode(linker=linker))(v)
    close(got[0], np.array(wanted, BRAIN))
    close(got[1], (0.5 ** np.arange(8, -1, -1)).astype(BRAIN))


@pytest.mark.parametrize("linker", LINKERS)
def test_updates_and_calls(linker):
    w = tg.shared(numbers(4), name="w")
    x = T.vector("x", dtype="bfloat16")
    step = tg.function([x], (w * x).sum(), updates={w: w - 0.25 * x}, mode=tg.Mode(linker=linker))
    before = wide(w.get_value())
    for _ in range(3):
        step(np.ones(4, BRAIN))
        before = wide((before - np.float32(0.25)).astype(BRAIN))
    close(w.get_value(), before.astype(BRAIN))
    assert step(np.ones(4, BRAIN)).dtype == BRAIN
    with pytest.raises(TypeError, match="bfloat16"):
        step(np.ones(4, "float32"))


def test_verify_grad():
    tg.verify_grad(lambda x, w: T.tanh(T.dot(x, w)), [numbers(3, 4), numbers(4, 2, seed=1)])
    tg.verify_grad(lambda x: T.nnet.softmax(x), [numbers(2, 3)])


def test_kept_and_printed():
    x = T.vector("x", dtype="bfloat16")
    c = T.constant(np.array([1.5, -2], BRAIN))
    y = T.exp(x) * c + T.constant(np.asarray(0.1, BRAIN))
    again = pickle.loads(pickle.dumps(y))
    assert again.type is y.type and "bfloat16" in repr(y.type)
    assert c.term is pickle.loads(pickle.dumps(c.term))
    (kept,) = from_plain(to_plain([T.cast(T.constant(np.zeros(2, BRAIN)), "bfloat16").term]))
    assert kept.type.dtype == "bfloat16"
    f = pickle.loads(pickle.dumps(tg.function([x], y)))
    close(f(np.zeros(2, BRAIN)), np.array([1.6, -1.9], BRAIN), 2)


def test_random_numbers():
    from termgraph.tensor.random import RandomStream

    r = RandomStream(3)
    u, n = tg.function([], [r.uniform(size=500, dtype="bfloat16"), r.normal(size=500, dtype="bfloat16")])()
    assert u.dtype == n.dtype == BRAIN
    assert wide(u).min() >= 0 and wide(u).max() < 1 and abs(wide(u).mean() - 0.5) < 0.1 and abs(wide(n).std() - 1) < 0.2


def test_limits_and_refusals():
    x = T.vector("x", dtype="bfloat16")
    largest = tg.function([x], T.nan_to_num(x))(np.array([np.inf, np.nan, 1], BRAIN))
    assert wide(largest).tolist() == [float(finfo("bfloat16").max), 0.0, 1.0]
    with pytest.raises(TypeError, match="not defined for bfloat16; cast to float32 first"):
        T.linalg.inv(T.matrix(dtype="bfloat16"))
    with pytest.raises(TypeError, match="bitwise_and is not defined for"):
        x & x
    assert T.fft.rfft(x).dtype == "complex64" and numpy_dtype("bfloat16") == BRAIN


def test_floatx_may_be_bfloat16():
    with tg.config.change_flags(floatX="bfloat16"):
        x = T.vector("x")
        assert x.dtype == (x * 2.5).dtype == "bfloat16"
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert tg.function([x], x * 2.5)(np.ones(2, BRAIN)).tolist() == [2.5, 2.5]


@pytest.mark.parametrize("left", ["float32", "float16", "bfloat16", "int64"])
def test_batched_products_of_two_dtypes(left):
    a, b = T.matrix("a", dtype=left), T.tensor("b", dtype="float64", shape=(None,) * 3)
    values = (
        (np.arange(12).reshape(3, 4) - 5).astype(numpy_dtype(left)),
        np.random.default_rng(0).standard_normal((2, 4, 5)),
    )
    got = tg.function([a, b], T.matmul(a, b), mode=tg.Mode(linker="auto"))(*values)
    np.testing.assert_allclose(got, values[0].astype("float64") @ values[1], rtol=1e-12)


@pytest.mark.parametrize("model", [mlp, lstm], ids=lambda m: m.__name__)
def test_training_steps_stay_near_those_of_float32(model):
    """Parameters, states and costs after four steps, relative to the largest number of each."""
    wide_params, exact, _ = model("auto", "float32")
    params, step, values = model("auto", "bfloat16")
    for p, q in zip(wide_params, params, strict=True):
        p.set_value(wide(q.get_value()))
    for _ in range(4):
        pairs = list(zip(step(*values), exact(*[wide(v) for v in values]), strict=True))
    pairs += [(q.get_value(), p.get_value()) for p, q in zip(wide_params, params, strict=True)]
    for got, wanted in pairs:
        assert got.dtype == BRAIN and np.abs(wide(got) - wanted).max() < 2e-2 * np.abs(wanted).max()


def test_arithmetic_in_c_is_that_of_the_machine_bit_by_bit():
    bits = np.random.default_rng(1).integers(0, 2**16, (2, 5000)).astype("uint16")
    a, b = bits.view(BRAIN)
    x, y = T.vector("x", dtype="bfloat16"), T.vector("y", dtype="bfloat16")
    outs = [x + y, x * y - x, x / y, T.sqrt(abs(x)), T.maximum(x, y) - 1, T.switch(x > y, -x, y), T.floor(x), T.sign(x)]
    outs += [T.inc_subtensor(x[1:], y[:-1]), T.cast(T.cast(x, "float32") * 0.1, "bfloat16"), T.clip(x, -1, 1)]
    with np.errstate(all="ignore"):
        both = [tg.function([x, y], outs, mode=tg.Mode(linker=k))(a, b) for k in LINKERS]
    for got, wanted in zip(*both, strict=True):
        number = ~np.isnan(wide(wanted))
        np.testing.assert_array_equal(got.view("uint16")[number], wanted.view("uint16")[number])
        assert np.isnan(wide(got)[~number]).all()


@pytest.mark.parametrize("other", ["int64", "uint8", "bool", "float16", "float64", "complex128"])
@pytest.mark.parametrize("linker", LINKERS)
def test_beside_other_dtypes(linker, other):
    """Every op gives what its type says, and that is the common dtype."""
    x, y = T.vector("x", dtype="bfloat16"), T.vector("y", dtype=other)
    common = (x + y).dtype
    outs = [x + y, T.switch(x > 0, x, y), T.join(0, x, y), T.dot(x, y), T.switch(y, x, x * 2), T.stack([y, x])]
    if other != "complex128":
        outs += [T.maximum(y, x), T.clip(x, y, y + y), T.lt(x, y), x % y, x**y, T.inc_subtensor(x[:1], y[:1])]
    f = tg.function([x, y], outs, mode=tg.Mode(linker=linker))
    got = f(np.array([1, -2], BRAIN), np.array([3, 1]).astype(other))
    assert [v.dtype.name for v in got] == [v.dtype for v in outs]
    assert {v.dtype for v in (*outs[:4], *outs[5:8])} <= {common}
    np.testing.assert_array_equal(wide(got[0]), np.array([1, -2]) + np.array([3, 1]).astype(other))
    np.testing.assert_array_equal(wide(got[1]), [1, np.array(1).astype(other)])
