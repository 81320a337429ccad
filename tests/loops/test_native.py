"""Loops compiled to C: the same results as on the virtual machine, in one program, with the same errors."""

import re
import signal

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.terms.dtypes import numpy_dtype
from termgraph.terms.errors import ShapeError

LINKER = "auto"
x, w, n = T.dvector("x"), T.dmatrix("w"), T.lscalar("n")
rng = np.random.default_rng(0)


def both(inputs, outputs, *values):
    """What compiled code gives, checked against the virtual machine; the function comes with it."""
    f = tg.function(inputs, outputs)
    got = f(*values)
    with tg.config.change_flags(linker="py"):
        want = tg.function(inputs, outputs)(*values)
    for a, b in zip(got, want):
        short = a.dtype.name in ("float32", "complex64")  # FAST_RUN's products and sums round once, NumPy's twice
        np.testing.assert_allclose(a, b, rtol=4e-6 if short else 1e-12, atol=1e-6 if short else 1e-13)
        assert a.dtype == b.dtype and a.shape == b.shape
    return f, got


def is_native(f):
    """Whether the whole function is one C program."""
    return f.maker.work.not_native is None and re.search(r"static int loop\d+\(", f.maker.work.c_source())


@pytest.mark.parametrize("steps", [0, 1, 2, 7])
def test_numbers_are_carried_in_registers(steps):
    last, (ys, before) = tg.loop(lambda h, u: (0.5 * h + u, (0.5 * h + u, h)), 1.0, x)
    f, _ = both([x], [last, ys, before], rng.normal(size=steps))
    assert is_native(f) and "goto" not in f.maker.work.c_source()


@pytest.mark.parametrize("steps", [0, 1, 2, 5])
def test_vectors_products_and_both_directions(steps):
    xs = T.dmatrix("xs")
    h, g = tg.scan(
        lambda u, h, g, w: [T.tanh(T.dot(h, w) + u), g * h.sum() + u],
        sequences=xs, outputs_info=[T.ones((3,)), T.zeros((3,))], non_sequences=w, go_backwards=True,
    )[0]  # fmt: skip
    cost = (h**2).sum() + g.sum()
    outputs = [h, g, h[-1:], *tg.grad(cost, [xs, w])]
    f, _ = both([xs, w], outputs, rng.normal(size=(steps, 3)), rng.normal(size=(3, 3)))
    assert is_native(f)


def test_taps_are_pointers_that_move():
    out = tg.scan(
        lambda u, a, b, c: a + 0.5 * b - 0.25 * c + u, sequences=x,
        outputs_info={"initial": T.constant(np.arange(3.0)), "taps": [-3, -2, -1]},
    )[0]  # fmt: skip
    f, _ = both([x], [out, out[-1]], rng.normal(size=6))
    assert is_native(f)
    swap = tg.loop(lambda c, u: ((c[1], c[0]), c[0] + u), (x[0], x[1]), x)
    both([x], [*swap[0], swap[1]], rng.normal(size=5))


@pytest.mark.parametrize("linker", ["auto", "c"])
def test_steps_that_values_decide(linker):
    with tg.config.change_flags(linker=linker):
        last, ys = tg.loop(lambda h, _: (h * 0.5 + 1, h), 1.0, length=n)
        f = tg.function([n], [last, ys])
        assert f(3)[0] == 1.875 and f(3)[1].tolist() == [1, 1.5, 1.75] and f(0)[1].shape == (0,)
        with pytest.raises(ValueError, match="must not be negative, got -1"):
            f(-1)


def test_more_steps_than_there_is_memory_for():
    last, _ = tg.loop(lambda h, _: (h * 2, None, tg.until(h > 100)), 1.0, length=n)
    f = tg.function([n], last)
    assert f(10**15) == 256 and f(3) == 8


@pytest.mark.parametrize("length", [1, 3, 63, 64, 65, 500])
@pytest.mark.parametrize("limit", [2.5, 64.0, 1000.0])
def test_until(length, limit):
    total = tg.scan(lambda u, h: (h + u, tg.until(h + u >= limit)), sequences=x, outputs_info=0.0)[0]
    f, _ = both([x], [total, total[-1]], np.ones(length))
    g, _ = both([x], [total[-1]], np.ones(length))
    assert is_native(g)


def test_until_with_rows_of_known_number():
    known = T.tensor("known", dtype="float64", shape=(200,))
    total = tg.scan(lambda u, v, h: (h + u * v, tg.until(h > 60)), sequences=[known, x], outputs_info=0.0)[0]
    for length in (3, 150):
        _, (got,) = both([known, x], [total], np.ones(200), np.ones(length))
        assert got.shape == (min(length, 62),)


def test_nested_loops_and_their_gradient():
    def inner(h, w):
        return tg.scan(lambda v, h: T.tanh(h + v), sequences=w, outputs_info=h)[0][-1]

    out = tg.scan(lambda u, h, w: inner(h * u, w), sequences=x, outputs_info=T.zeros((3,)), non_sequences=w)[0]
    values = rng.normal(size=4), rng.normal(size=(5, 3))
    f, _ = both([x, w], [out, *tg.grad(out[-1].sum(), [x, w])], *values)
    assert is_native(f)


def test_python_in_the_body_with_the_rest_compiled():
    @tg.as_op([T.dscalar], [T.dscalar])
    def halved(v):
        return v / 2

    out = tg.scan(lambda u, h: halved(T.tanh(h) + u), sequences=x, outputs_info=0.0)[0]
    f, _ = both([x], [out], rng.normal(size=4))
    with tg.config.change_flags(linker="c"), pytest.raises(NotImplementedError, match="has no C code"):
        tg.function([x], out)(np.ones(3))


def test_errors_name_the_line_and_the_step():
    table = T.constant([1.0, 2.0])

    def step(a, h):
        return h + table[T.cast(a, "int64")]

    out = tg.scan(step, sequences=x, outputs_info=0.0, name="lookup")[0]
    state = tg.shared(np.float64(1))
    f = tg.function([x], out, updates=[(state, state + 1)])
    with pytest.raises(IndexError) as info:
        f([0.0, 1.0, 5.0])
    text = str(info.value)
    assert "return h + table" in text and "in step 2 of loop 'lookup'" in text and "index 5" in text
    assert state.get_value() == 1


def test_only_the_chosen_side_is_computed():
    m, start = T.dmatrix("m"), T.dvector("start")

    def step(u, h, m):
        return tg.ifelse(u > 0, T.tanh(T.dot(m, h)) + u, tg.ifelse(h.sum() > 1, h * 0.5, h + m[0]))

    out = tg.scan(step, sequences=x, outputs_info=start, non_sequences=m)[0]
    values = np.array([1.0, -1, 2, -3, -1, -2, 0.5]), np.eye(3) * 0.3 + 0.1, np.ones(3)
    f, _ = both([x, m, start], [out, out[-1], *tg.grad(out.sum(), [x, m, start])], *values)
    assert is_native(f)
    pair = tg.scan(
        lambda u, h, g: tg.ifelse(u > 0, [h + u, g * 2], [h * g, T.dot(m, g)]),
        sequences=x, outputs_info=[start, start + 1],
    )[0]  # fmt: skip
    f, _ = both([x, m, start], [*pair, *tg.grad(pair[0].sum() + pair[1].sum(), [x, m, start])], *values)
    assert is_native(f)


def test_a_side_reads_one_of_several_results():
    def step(u, h):
        a, b = tg.scan(lambda r, s: [T.tanh(r + s), s * 2 + r], sequences=w * u, outputs_info=[h, None])[0]
        return tg.ifelse(u > 0, T.tanh(b[-1]).cumsum(), h - 1) + a[-1]

    out = tg.scan(step, x, T.zeros(3))[0]
    f, _ = both([w, x], [out], rng.normal(size=(2, 3)), np.array([1.0, -1.0, 0.5]))
    assert is_native(f)


def test_a_side_is_one_of_several_results():
    def step(u, h):
        a, b = tg.scan(lambda r, s: [T.tanh(r + s), s * 2 + r], sequences=w * u, outputs_info=[h, None])[0]
        return tg.ifelse(u > 0, b, T.exp(a).cumsum(axis=0))[-1] + a[-1]

    out = tg.scan(step, x, T.zeros(3))[0]
    f, _ = both([w, x], [out], rng.normal(size=(2, 3)), np.array([1.0, -1.0, 0.5]))
    assert is_native(f)


def test_a_choice_that_c_cannot_express_leaves_the_loop_to_python():
    def step(u, h):
        a, b = tg.ifelse(u > 0, [T.tanh(h).cumsum(), h * 2], [h.cumsum(), h.cumsum()])
        return a + b + u

    f, _ = both([x], [tg.scan(step, x, T.ones(3))[0]], np.array([1.0, -1.0, 0.5]))
    assert "two of its values are the same" in f.maker.work.not_native


def test_choices_between_numbers_and_what_cannot_happen():
    table = T.dvector("table")

    def step(u, h, table):
        k = T.cast(u, "int64")
        return tg.ifelse(k < table.shape[0], h + table[k], h)  # beyond the end nothing is read

    out = tg.scan(step, sequences=x, outputs_info=0.0, non_sequences=table)[0]
    f, _ = both([x, table], [out], np.array([0.0, 5.0, 1.0]), np.array([1.0, 2.0]))
    assert is_native(f)


@pytest.mark.parametrize("read", [lambda ys: ys[-1], lambda ys: ys.sum()])
def test_a_loop_in_a_loop_that_stops_early(read):
    def inner(h):
        return read(tg.scan(lambda g: (g * 0.7, tg.until(g < 0.1)), outputs_info=h, n_steps=50)[0])

    out = tg.scan(lambda u, h: inner(h) + abs(u), sequences=x, outputs_info=1.0)[0]
    both([x], [out], rng.normal(size=6))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int8", "uint8", "bool", "complex128"])
def test_dtypes(dtype):
    rows, table = T.TensorType(dtype, (None,))("rows"), T.TensorType(dtype, (None, None))("table")
    values = (rng.normal(size=(5, 2)) * 2).astype(numpy_dtype(dtype))
    step = lambda u, h: T.cast(h + u * h, dtype)  # noqa: E731
    a = tg.scan(step, sequences=rows, outputs_info=T.constant(np.asarray(1, dtype)))[0]
    b = tg.scan(step, sequences=table, outputs_info=table[0])[0]
    both([rows, table], [a, b, b[-1]], values[:, 0], values)


def test_operands_in_any_layout():
    m, start = T.dmatrix("m"), T.dvector("start")
    out = tg.scan(lambda u, h, w: T.tanh(T.dot(u, w) + h), sequences=m, outputs_info=start, non_sequences=w)[0]
    outputs = [out, *tg.grad((out**2).sum(), [m, w])]
    a, b, h = rng.normal(size=(6, 3)), rng.normal(size=(3, 4)), np.zeros(4)
    f, _ = both([m, w, start], outputs, a, b, h)
    assert is_native(f)
    for p, q in (
        (np.asfortranarray(a), np.asfortranarray(b)),
        (a[::-2, ::-1], b[::-1]),
        (np.broadcast_to(a[:1], (6, 3)), b),
    ):
        both([m, w, start], outputs, p, q, h)


def test_a_carry_that_grows_from_step_to_step_is_left_to_python():
    start = T.dvector("start")
    grown = tg.loop(lambda h, _: (T.concatenate([h, h[-1:] + 1]), None), start, length=n)[0]
    f = tg.function([start, n], grown)
    assert f([1.0, 2.0], 3).tolist() == [1, 2, 3, 4, 5] and f([1.0], 0).tolist() == [1]
    with pytest.raises(NotImplementedError, match="loop has no C code: a carry changes its length"):
        tg.function([start, n], grown, mode=tg.Mode(linker="c"))
    window = tg.loop(lambda h, u: (T.concatenate([h[1:], T.shape_padleft(u)]), None), start, x)[0]
    g, _ = both([start, x], [window], [1.0, 2.0, 3.0], [4.0, 5.0])
    assert is_native(g)


def test_a_carry_whose_length_would_change():
    m, start = T.dmatrix("m"), T.dvector("start")
    out = tg.scan(lambda u, h, w: T.dot(u, w) * h.sum(), sequences=m, outputs_info=start, non_sequences=w)[0]
    f = tg.function([m, start, w], out)
    with pytest.raises(ValueError, match="begins with length 3 in dimension 0, its next value has 4"):
        f(np.ones((2, 3)), np.ones(3), np.ones((3, 4)))
    assert f(np.ones((2, 3)), np.ones(4), np.ones((3, 4))).tolist() == [[12] * 4, [144] * 4]


@pytest.mark.parametrize("start", [1.0, np.eye(3)])
def test_a_long_loop_can_be_stopped(start):
    class Enough(Exception):
        pass

    def stop(*_):
        raise Enough

    last, _ = tg.loop(lambda h, _: (T.tanh(h) * 0.5, None), T.constant(start), length=n)
    f = tg.function([n], last)
    old = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(Enough):
            f(10**15)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert np.shape(f(2)) == np.shape(start)


@pytest.mark.parametrize("steps", [0, 1, 4])
def test_gradients_of_loops_whose_steps_values_decide(steps):
    w = T.dscalar("w")
    out, _ = tg.scan(lambda u, h: T.tanh(w * h + u), sequences=x, outputs_info=w, n_steps=n)
    cost = T.sum(out**2)
    made = [tg.function([x, w, n], [cost, *tg.grad(cost, [x, w])], mode=tg.Mode(linker=k)) for k in ("c", "py")]
    values = rng.normal(size=6), 0.3, steps
    for got, want in zip(*[f(*values) for f in made]):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-15)
    with pytest.raises(ValueError, match="is to make 7 steps, but .* has only 6 rows"):
        made[0](values[0], 0.3, 7)


def test_gradients_of_loops_that_stop():
    out, _ = tg.scan(lambda u, h: (h * u + 1, tg.until(h > 3)), sequences=x, outputs_info=T.constant(0.5))
    cost = T.sum(out**2)
    made = [tg.function([x], [cost, tg.grad(cost, x)], mode=tg.Mode(linker=k)) for k in ("c", "py")]
    for got, want in zip(*[f(np.linspace(0.5, 3, 9)) for f in made]):
        np.testing.assert_allclose(got, want, rtol=1e-12)


@pytest.mark.parametrize("inside", [lambda p: p, T.tanh], ids=["plain", "tanh"])
@pytest.mark.parametrize(
    "view", [lambda w: w[::-1], lambda w: w[:, ::-1], lambda w: w[::-1].T], ids=["rows", "columns", "both"]
)
def test_products_with_constants_and_rows_that_blas_cannot_read(view, inside):
    xs, w = T.tensor("xs", dtype="float64", shape=(None, None, None)), T.dmatrix("w")
    outs = [
        tg.scan(lambda x, w: inside(T.dot(x, view(w))), xs, non_sequences=w)[0],
        tg.scan(lambda x, w: inside(T.dot(w, x)), xs[:, :, ::-1], non_sequences=w)[0],
        tg.scan(lambda x, w: inside(T.dot(view(w), x[::-1])), xs, non_sequences=w)[0],
    ]
    rng = np.random.default_rng(0)
    values = rng.normal(size=(4, 3, 3)), rng.normal(size=(3, 3))
    native, meaning = (tg.function([xs, w], outs, mode=tg.Mode(linker=k)) for k in ("c", "py"))
    for got, want in zip(native(*values), meaning(*values), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "rows", [lambda u: T.tile(u, (3, 1)), lambda u: T.tile(u, (1, 2))[:, :3]], ids=["down", "along"]
)
def test_rows_and_constants_that_repeat_lie_nowhere(rows):
    xs = T.dmatrix("xs")
    out = tg.scan(
        lambda row, h, every: h * 0.5 + row[::-1] + every[0], sequences=rows(xs), outputs_info=T.zeros((3,)),
        non_sequences=rows(xs),
    )[0]  # fmt: skip
    solved = T.linalg.solve(T.eye(6) * 2.0, T.tile(xs, (3, 1)))
    f, _ = both([xs], [out, solved], rng.normal(size=(2, 3)))
    assert is_native(f)


@pytest.mark.parametrize(
    "before", [lambda w: T.dot(w, w[0]), lambda w: T.sort(w, axis=0), lambda w: T.searchsorted(w[0], w[1])]
)
def test_calls_before_a_loop_that_reads_them(before):
    out, _ = tg.scan(lambda row, h: T.tanh(h * 0.5 + row), before(w), T.zeros((3,)))
    both([w], [out], np.sort(rng.normal(size=(3, 3))))


@pytest.mark.parametrize("steps", [None, 3, 20])
@pytest.mark.parametrize("shape", [(3, 1), (1, 3), (3, 3), (3,), (1, 1), (3, 2)])
def test_products_with_constants_of_any_shape(shape, steps):
    """A constant that is a column was taken for a transposed matrix; the copy of it that was made read itself."""
    k = T.constant(rng.normal(size=shape[::-1])).T  # computed before the loop, and known when compiling
    ones = T.constant(np.ones((shape[-1], 3)))

    def step(h):
        right = T.tanh(h[:, : shape[0]] @ k)
        return h * 0.5 + (right[:, None] if right.ndim == 1 else right @ ones) * 0.1

    hs = tg.scan(step, outputs_info=w, n_steps=n if steps is None else steps)[0]
    results = [hs, tg.grad((hs[-1] ** 2).sum(), w)]
    inputs, values = ([w, n], [rng.normal(size=(3, 3)), 5]) if steps is None else ([w], [rng.normal(size=(3, 3))])
    assert both(inputs, results, *values)[0].maker.work.not_native is None


def test_a_carried_spectrum_of_known_length_is_one_program():
    """The signal's length, of which the spectrum has half, is that of the filter; it was taken for one that changes."""
    decay = T.constant(np.linspace(1.0, 0.5, 9))
    last = tg.loop(lambda v, _: (v * decay, None), T.fft.rfft(x), length=n)[0]
    f, _ = both([x, n], [T.fft.irfft(last, 16)], rng.normal(size=16), 3)
    assert is_native(f)
    with pytest.raises(ShapeError, match="9"):
        f(rng.normal(size=12), 3)


STEPS = {
    "switch": lambda c, r: T.switch(r > 0, T.tanh(c + r), c * 0.5),
    "ifelse": lambda c, r: tg.ifelse(r > 0, T.tanh(c + r), c * 0.5),
}


@pytest.mark.parametrize("choice", STEPS)
def test_without_fuse_steps_of_numbers_keep_what_they_store(choice):
    """A step's own results are stored one by one there; they were not, and read all the same."""
    x = T.tensor("x", dtype="float64", shape=(9,))
    last, seen = tg.loop(lambda c, r: (STEPS[choice](c, r), c * r), T.constant(0.3), x)
    outputs = [last, seen, tg.grad((seen * T.cos(seen)).sum(), x)]
    value = np.linspace(-1, 1, 9)[::-1].copy()
    for way in (outputs, outputs[:1], outputs[1:]):
        wanted = tg.function([x], way, mode="None")(value)
        for ours, plain in zip(tg.function([x], way, mode="+fast_run -fuse")(value), wanted, strict=True):
            np.testing.assert_allclose(ours, plain, rtol=1e-12)


@pytest.mark.parametrize("positive", [0, 1])
def test_without_fuse_a_choice_comes_after_what_its_sides_read(positive):
    x = T.dvector("x")
    first = tg.ifelse(x[0] > 0, T.tanh(x), x * 0.5)
    second = tg.ifelse(x[1] > 0, T.exp(first), first * 0.5)
    outputs = [tg.ifelse(x[2] > 0, T.sin(second), second * 2), first.sum(), second.sum()]
    value = np.full(5, 0.7 if positive else -0.7)
    wanted = tg.function([x], outputs, mode="None")(value)
    for ours, plain in zip(tg.function([x], outputs, mode="+fast_run -fuse")(value), wanted, strict=True):
        np.testing.assert_allclose(ours, plain, rtol=1e-12)
