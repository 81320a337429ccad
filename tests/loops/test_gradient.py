"""Gradients of loops against the gradients of the same graph unrolled; what the backward loop keeps."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import termgraph as tg
import termgraph.tensor as T
from termgraph.terms.ops.loop import loop as loop_op
from termgraph.terms.traverse import subterms

x, h0, w = T.dvector("x"), T.dscalar("h0"), T.dscalar("w")


def loops_in(*variables):
    return [t for t in subterms([v.term for v in variables]) if t.op.family is loop_op]


def unrolled(step, n, taps, out_taps, start, stop=lambda h: False):
    """The outputs of a scan as a list of scalars, written out in Python."""
    before = max(0, -min(taps))
    hs = list(start)
    for t in range(n):
        hs.append(step(*[x[t + before + k] for k in taps], *[hs[len(hs) + k] for k in out_taps]))
    return hs[len(start) :]


def same(inputs, got, expected, *values, rtol=1e-9):
    for mode in ("None", "FAST_RUN"):
        a = tg.function(inputs, got, mode=mode, on_unused_input="ignore")(*values)
        b = tg.function(inputs, expected, mode="None", on_unused_input="ignore")(*values)
        for u, v in zip(a, b):
            np.testing.assert_allclose(u, v, rtol=rtol, atol=1e-12)


@settings(max_examples=12, deadline=None)
@given(
    taps=st.lists(st.integers(-1, 2), min_size=1, max_size=2, unique=True),
    out_taps=st.lists(st.integers(-3, -1), min_size=1, max_size=2, unique=True),
    n=st.integers(0, 3),
    unread=st.integers(0, 1),
)
def test_taps_and_lengths(taps, out_taps, n, unread):
    rows = n + unread + max(0, -min(taps)) + max(0, max(taps))
    values = np.linspace(0.2, 1.0, rows)
    oldest = -min(out_taps)
    s = T.dvector("s")

    def step(*args):
        total = w
        for i, a in enumerate(args):
            total = total * a + (i + 1) * a
        return T.tanh(total)

    initial = s[0] if out_taps == [-1] else s
    out, _ = tg.scan(step, sequences={"input": x, "taps": taps}, outputs_info={"initial": initial, "taps": out_taps},
                     n_steps=n)  # fmt: skip
    hs = unrolled(step, n, taps, out_taps, [s[k] for k in range(oldest)])
    cost = (out**2).sum() + (out[-1] if n else 0)
    expected = sum((h**2 for h in hs), 0 * w) + (hs[-1] if n else 0)
    wrt = [x, s, w]
    ref = tg.grad(expected, wrt, disconnected_inputs="ignore")
    same([x, s, w], tg.grad(cost, wrt), ref, values, np.linspace(0.3, 0.6, oldest), 0.7)


def elman(n):
    rng = np.random.default_rng(3)
    X, H, W, U = T.dtensor3("X"), T.dmatrix("H"), T.dmatrix("W"), T.dmatrix("U")

    def step(a, h, W, U):
        return T.tanh(T.dot(a, W) + T.dot(h, U))

    out, _ = tg.scan(step, sequences=X, outputs_info=H, non_sequences=[W, U])
    h, cost = H, 0
    for t in range(n):
        h = step(X[t], h, W, U)
        cost = cost + (h**2).sum()
    values = [rng.standard_normal(s) * 0.5 for s in ((n, 2, 3), (2, 4), (3, 4), (4, 4))]
    return [X, H, W, U], out, cost, values


def test_matrices():
    inputs, out, cost, values = elman(3)
    same(inputs, tg.grad((out**2).sum(), inputs), tg.grad(cost, inputs), *values)


def test_products_of_a_loop_are_not_computed_again():
    inputs, out, _, _ = elman(3)
    loops = loops_in(*tg.grad((out**2).sum(), inputs))
    (forward,) = [t for t in loops if len(t.op.params["takes"]) == 4 and t.op.n_xs == 1]
    assert forward.op.n_ys == 1  # the states are all that is kept: 1 - h**2 is computed again
    (backward,) = [t for t in loops if t is not forward]
    dots = [t for t in subterms(backward.op.params["body"]) if t.op.name == "dot"]
    assert len(dots) == 4  # dh, dW, dU, dX; no product of the forward pass


def test_until():
    def make(upto):
        out, _ = tg.scan(lambda a, h: (T.tanh(h * a + w), tg.until(h > upto)), sequences=x, outputs_info=h0)
        return (out**2).sum()

    def expected(steps):
        hs = unrolled(lambda a, h: T.tanh(h * a + w), steps, [0], [-1], [h0])
        return sum((h**2 for h in hs), 0 * w)

    values = (np.array([0.5, 0.6, 0.7, 0.8]), 0.1, 0.4)
    wrt = [x, h0, w]
    for upto, steps in ((0.3, 2), (9.0, 4), (0.0, 1)):
        same(wrt, tg.grad(make(upto), wrt), tg.grad(expected(steps), wrt), *values)


@pytest.mark.parametrize(
    "part",
    [
        lambda a, t: T.exp(a[a > 0.1]),
        lambda a, t: T.exp(a[:t]) * a[0],
        lambda a, t: T.exp(a.sum() * T.arange(t, dtype="float64")),
        lambda a, t: T.tanh(T.dot(a[T.nonzero(a < 0.5)[0]], T.ones((a[a < 0.5].shape[0], 3)))),
    ],
    ids=["mask", "slice", "range", "product"],
)
def test_values_whose_lengths_change_are_computed_again(part):
    m = T.dmatrix("m")
    out, _ = tg.scan(lambda row, t, h: T.tanh(h + part(row * h, t).sum()), [m, T.arange(m.shape[0])], h0)
    values = np.array([[0.5, -0.3, 0.2], [-0.4, -0.6, -0.2], [0.3, 0.2, 0.7]]), 0.6
    h, hs = h0, []
    for t in range(3):
        h = T.tanh(h + part(m[t] * h, T.constant(t)).sum())
        hs.append(h)
    same([m, h0], tg.grad((out**2).sum(), [m, h0]), tg.grad(sum(h**2 for h in hs), [m, h0]), *values)


def test_loops_inside_that_stop_early():
    def root(value):
        better = tg.scan(lambda r: ((r + value / r) / 2, tg.until(abs(r * r - value) < 1e-12)), None, value, n_steps=99)
        return better[0][-1], better[0].sum()

    (roots, sums), _ = tg.scan(root, x)
    values = np.array([2.0, 9.0, 0.25])
    one = [root(x[i]) for i in range(3)]
    same([x], [tg.grad(roots.sum() + sums.sum(), x)], [tg.grad(sum(r + s for r, s in one), x)], values)


def test_truncated():
    out, _ = tg.scan(lambda a, h: T.tanh(h * w + a), sequences=x, outputs_info=h0, truncate_gradient=2)
    gx, gh, gw = tg.grad(out[-1], [x, h0, w])
    hs = unrolled(lambda a, h: T.tanh(h * w + a), 4, [0], [-1], [h0])
    h = tg.disconnected_grad(hs[1])
    for t in (2, 3):
        h = T.tanh(h * w + x[t])
    ex, ew = tg.grad(h, [x, w])
    values = (np.array([0.1, 0.2, 0.3, 0.4]), 0.5, 0.9)
    same([x, h0, w], [gx, gh, gw], [ex, 0 * h0, ew], *values)
    same([x, h0, w], [gx, gh], tg.grad(unrolled(lambda a, h: T.tanh(h * w + a), 2, [0], [-1], [h0])[-1], [x, h0]),
         values[0][:2], 0.5, 0.9)  # fmt: skip


def test_nested_loops():
    m = T.dmatrix("m")

    def inner(row, h):
        return tg.scan(lambda a, h: T.tanh(a * w + h), sequences=row, outputs_info=h)[0][-1]

    out, _ = tg.scan(inner, sequences=m, outputs_info=h0)
    h, cost = h0, 0 * w
    for i in range(2):
        for j in range(3):
            h = T.tanh(m[i, j] * w + h)
        cost = cost + h**2
    wrt = [m, h0, w]
    values = (np.linspace(0.1, 0.6, 6).reshape(2, 3), 0.2, 0.8)
    same(wrt, tg.grad((out**2).sum(), wrt), tg.grad(cost, wrt), *values)


def test_gradient_of_the_gradient():
    out, _ = tg.scan(lambda a, h: T.tanh(a * w + h), sequences=x, outputs_info=h0)
    hs = unrolled(lambda a, h: T.tanh(a * w + h), 3, [0], [-1], [h0])
    wrt = [x, h0, w]
    got = tg.grad(tg.grad((out**2).sum(), w), wrt)
    expected = tg.grad(tg.grad(sum(h**2 for h in hs), w), wrt)
    same(wrt, got, expected, np.array([0.1, 0.5, -0.3]), 0.2, 0.8)


def test_forward_mode():
    out, _ = tg.scan(lambda a, h: T.tanh(a * w + h), sequences=x, outputs_info=h0)
    hs = T.stack(unrolled(lambda a, h: T.tanh(a * w + h), 3, [0], [-1], [h0]))
    points = [T.constant([1.0, -1.0, 2.0]), T.constant(0.5)]
    for wrt in ([x, w], [x, h0]):
        same([x, h0, w], [tg.Rop(out, wrt, points)], [tg.Rop(hs, wrt, points)], np.array([0.1, 0.5, -0.3]), 0.2, 0.8)


def test_through_ifelse_updates_and_integer_carries():
    s = tg.shared(0.5, name="s")

    def step(a, h, n):
        return (tg.ifelse(a > 0, h * a, h + a), n + 1), {s: s * a}

    (out, n), updates = tg.scan(step, sequences=x, outputs_info=[h0, 0])
    cost = out.sum() + updates[s] * T.cast(n[-1], "float64")
    got = tg.grad(cost, [x, h0])
    values = (np.array([2.0, -1.0, 3.0]), 0.5)
    # h: 2 h0, 2 h0 - 1, 3 (2 h0 - 1); s: 0.5 x0 x1 x2, times 3
    x0, x1, x2 = values[0]
    k = 1.5
    expected = [[0.5 * (1 + 1 + x2) + k * x1 * x2, 1 + x2 + k * x0 * x2, (x0 * 0.5 + x1) + k * x0 * x1], 2 + 2 + 6]
    for mode in ("None", "FAST_RUN"):
        gx, gh = tg.function([x, h0], got, mode=mode)(*values)
        np.testing.assert_allclose(gx, expected[0])
        np.testing.assert_allclose(gh, expected[1])


def test_missing_derivatives_are_told():
    out, _ = tg.scan(lambda a, h: h + T.sort(T.stack([a, a + w]))[0] * T.floor(a), sequences=x, outputs_info=h0)
    tg.grad(out.sum(), w)

    @tg.as_op(itypes=[T.dscalar], otypes=[T.dscalar])
    def opaque(a):
        return a * 2

    out, _ = tg.scan(lambda a: opaque(a), sequences=x)
    with pytest.raises(NotImplementedError):
        tg.grad(out.sum(), x)


@pytest.mark.parametrize("taps", [[-2], [-1, -2], [-3], [-1, -3], [-2, -3], [-4, -1]])
@pytest.mark.parametrize("kept", [1, 2, 3, 7])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_rows_of_the_start_that_the_last_steps_read_get_their_gradient(taps, kept, n):
    rng, start = np.random.default_rng(0), T.vector("start")
    reach, weights, seen = -min(taps), rng.normal(size=len(taps)), rng.normal(size=n)
    out, _ = tg.scan(
        lambda *h: T.tanh(sum(float(a) * b for a, b in zip(weights, h))),
        outputs_info={"initial": start, "taps": taps}, n_steps=n, truncate_gradient=kept,
    )  # fmt: skip
    values = list(rng.normal(size=reach))
    found = tg.function([start], tg.grad((out * seen).sum(), start))(np.array(values))
    for t in range(n):
        values.append(np.tanh(sum(a * values[reach + t + tap] for a, tap in zip(weights, taps))))
    back = np.concatenate([np.zeros(reach), seen])
    for t in range(n - 1, max(n - kept, 0) - 1, -1):  # the last steps alone
        for a, tap in zip(weights, taps):
            back[reach + t + tap] += a * back[reach + t] * (1 - values[reach + t] ** 2)
    np.testing.assert_allclose(found, back[:reach], atol=1e-14)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_values_that_stay_or_go_round_are_starts_however_many_steps_are_left_out(n):
    a, b, c = T.scalars("a", "b", "c")
    outs, _ = tg.scan(lambda a, b, c: (b, a, c), outputs_info=[a, b, c], n_steps=n, truncate_gradient=2)
    found = tg.function([a, b, c], tg.grad(outs[0][-1] + 3 * outs[1][-1] + 5 * outs[2][-1], [a, b, c]))(1.0, 2.0, 3.0)
    assert [float(g) for g in found] == ([1.0, 3.0, 5.0] if n % 2 == 0 else [3.0, 1.0, 5.0])


@pytest.mark.parametrize(
    "read",
    [
        lambda o: (o[-1] ** 2).sum(),
        lambda o: o[7, 1] * o[-1, 0] + (o[-1, 1:] ** 3).sum(),
        lambda o: (o[-1] * o.sum(axis=0)).sum() + (o[2] * o[-1]).sum(),
        lambda o: (o[-1][::2] * o.mean(axis=0)[::2]).sum(),
    ],
    ids=["alone", "elements", "with others", "parts"],
)
@pytest.mark.parametrize("truncate", [-1, 3])
@pytest.mark.parametrize("until", [False, True])
def test_what_the_last_step_alone_gets_is_no_row_of_each_step(read, truncate, until, rng):
    start, w = T.tensor("start", "float64", shape=(4,)), T.dscalar("w")

    def step(h):
        new = T.tanh(w * h + 0.1)
        return (new, tg.until(new[0] > 5)) if until else new

    out, _ = tg.scan(step, outputs_info=start, n_steps=8, truncate_gradient=truncate)
    gradients = tg.grad(read(out), [start, w])
    values = rng.normal(size=4), 0.7
    if truncate < 0:
        rows = [start]
        for _ in range(8):
            rows.append(T.tanh(w * rows[-1] + 0.1))
        same([start, w], gradients, tg.grad(read(T.stack(rows[1:])), [start, w]), *values)
    plain = tg.function([start, w], gradients, mode=tg.Mode(linker="py", optimizer=None))(*values)
    for found, wanted in zip(tg.function([start, w], gradients)(*values), plain):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)


def test_the_gradient_of_a_last_value_reads_only_what_the_loop_kept():
    start = T.dvector("start")
    out, _ = tg.scan(lambda h: T.tanh(h) * 2, outputs_info=start, n_steps=100)
    loops = loops_in(tg.grad((out[-1] ** 2).sum(), start))
    assert max(t.op.n_xs for t in loops) == 1  # what the step's derivative needs, not a row of zeros for each step


@pytest.mark.parametrize("rows", [8, None])
@pytest.mark.parametrize("until", [False, True])
def test_steps_are_read_by_every_form_of_index(until, rows):
    """`ys[...]` and `ys[None]`, which write all rows, stopped the gradient."""
    xs, start = T.tensor("xs", "float64", shape=(rows, 3)), T.tensor("start", "float64", shape=(3,))

    def step(x, h):
        new = T.tanh(h * 0.5 + x)
        return (new, tg.until(new[0] > 5)) if until else new

    def written_out():
        hs = [start]
        for k in range(8):
            hs.append(T.tanh(hs[-1] * 0.5 + xs[k]))
        return T.stack(hs[1:])

    ys, _ = tg.scan(step, sequences=xs, outputs_info=start)
    mask = np.arange(8) % 3 == 0
    some = [
        ...,
        None,
        (..., None),
        (None, -1),
        (..., -1),
        slice(None),
        (slice(None, None, -2), 1),
        [7, 0, 7],
        (-1, ...),
    ]
    some += [(-1, None, slice(1, None)), (slice(-2, None), [2, 0]), T.constant(mask), -1, (7, 2), (slice(7, None), 2)]

    def cost(ys):
        return sum(T.sin(ys[index] * (k + 1)).sum() for k, index in enumerate(some))

    values = np.linspace(-1, 1, 24).reshape(8, 3), np.array([0.3, -0.2, 0.9])
    same([xs, start], tg.grad(cost(ys), [xs, start]), tg.grad(cost(written_out()), [xs, start]), *values)
    for index in some:
        same([xs, start], *[tg.grad(T.sin(v[index]).sum(), [xs, start]) for v in (ys, written_out())], *values)
