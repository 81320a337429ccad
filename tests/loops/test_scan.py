"""scan and loop: values against NumPy loops, over taps, lengths, directions, stopping, updates, nesting; and errors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import termgraph as tg
import termgraph.tensor as T
from termgraph.terms.ops.loop import loop as loop_op
from termgraph.terms.traverse import subterms

MODES = ["FAST_RUN", "None"]
x = T.dvector("x")


@pytest.mark.parametrize("mode", MODES)
def test_sum_of_a_sequence(mode):
    last, sums = tg.loop(lambda total, item: (total + item, total + item), 0.0, x)
    f = tg.function([x], [last, sums], mode=mode)
    last, sums = f([1.0, 2.0, 4.0])
    assert last == 7 and sums.tolist() == [1, 3, 7]
    last, sums = f([])
    assert last == 0 and sums.shape == (0,)


def test_nested_carry_and_consts():
    w = T.dscalar("w")

    def body(carry, row, w):
        h = carry["h"] * w + row["a"]
        return {"n": carry["n"] + 1, "h": h}, (h, [row["b"] + carry["pair"][0] if "pair" in carry else row["b"]])

    last, (hs, [bs]) = tg.loop(body, {"h": 0.0, "n": 0}, {"a": x, "b": x * 2}, consts=[w])
    assert list(last) == ["h", "n"]
    h, n, hs, bs = tg.function([x, w], [last["h"], last["n"], hs, bs])([1.0, 2.0], 10.0)
    assert (h, n) == (12, 2) and hs.tolist() == [1, 12] and bs.tolist() == [2, 4]


def test_growing_carry():
    last, _ = tg.loop(lambda c, _: (T.concatenate([c, c[-1:] * 2]), None), T.constant([1.0]), length=T.lscalar("k"))
    k = last.owner.inputs[0]
    assert tg.function([k], last)(4).tolist() == [1, 2, 4, 8, 16]


def test_equal_loops_are_one_term():
    def make():
        return tg.scan(lambda a, h: a + h, sequences=x, outputs_info=0.0)[0]

    assert make().term is make().term


def test_step_counts_and_closure_values_lie_outside():
    w = T.dvector("w")
    outer = T.exp(w)
    out, _ = tg.scan(lambda a: (a * outer).sum() + T.tanh(w).sum(), sequences=x)
    (term,) = [t for t in subterms([out.term]) if t.op.family is loop_op]
    names = {t.op.name for r in term.op.params["body"] for t in subterms([r]) if t.args}
    assert "exp" not in names and "tanh" not in names


# ---------------------------------------------------------------------- against NumPy
def reference(values, taps, start, out_taps, n, backwards, coef):
    """y[t] = sum of coef * tapped inputs + half of the tapped outputs."""
    before, after = max(0, -min(taps)), max(0, max(taps))
    count = max(len(values) - before - after, 0)
    windows = [[values[t + before + k] for k in taps] for t in range(count)]
    if backwards:
        windows.reverse()
    ys = list(start)
    for row in windows[: count if n is None else n]:
        ys.append(sum(c * v for c, v in zip(coef, row)) + sum(0.5 * ys[len(ys) + k] for k in out_taps))
    return np.array(ys[len(start) :])


taps_of_inputs = st.lists(st.integers(-2, 2), min_size=1, max_size=3, unique=True)
taps_of_outputs = st.lists(st.integers(-3, -1), min_size=1, max_size=2, unique=True)


@settings(max_examples=25, deadline=None)
@given(taps=taps_of_inputs, out_taps=taps_of_outputs, extra=st.integers(0, 4), backwards=st.booleans(), data=st.data())
def test_taps(taps, out_taps, extra, backwards, data):
    span = max(0, -min(taps)) + max(0, max(taps))
    n = data.draw(st.one_of(st.none(), st.integers(0, extra)))
    values = np.random.default_rng(len(taps)).standard_normal(span + extra)
    start = np.arange(1.0, 1 - min(out_taps))
    initial = 1.0 if out_taps == [-1] else T.constant(start)  # the value itself where one step back is all
    coef = np.arange(1.0, 1 + len(taps))

    def step(*args):
        inputs, outputs = args[: len(taps)], args[len(taps) :]
        return sum(c * v for c, v in zip(coef, inputs)) + sum(0.5 * y for y in outputs)

    out, updates = tg.scan(
        step, sequences={"input": x, "taps": taps}, outputs_info={"initial": initial, "taps": out_taps},
        n_steps=n, go_backwards=backwards,
    )  # fmt: skip
    assert not updates
    got = tg.function([x], out, mode="None")(values)
    np.testing.assert_allclose(got, reference(values, taps, start, out_taps, n, backwards, coef), rtol=1e-12)


def test_shortest_sequence_counts():
    y = T.dvector("y")
    out, _ = tg.scan(lambda a, b: a + b, sequences=[x, y])
    assert tg.function([x, y], out)([1.0, 2.0, 3.0], [10.0, 20.0]).tolist() == [11, 22]


def test_several_outputs_some_fed_back():
    k = T.lscalar("k")
    (a, b, c), _ = tg.scan(lambda a, c: (a + 1, a * 2, a + c), outputs_info=[0.0, None, 1.0], n_steps=k)
    a, b, c = tg.function([k], [a, b, c])(3)
    assert a.tolist() == [1, 2, 3] and b.tolist() == [0, 2, 4] and c.tolist() == [1, 2, 4]


def test_until():
    out, _ = tg.scan(lambda p: (p * 2, tg.until(p > 10)), outputs_info=1.0, n_steps=1000)
    assert tg.function([], out)().tolist() == [2, 4, 8, 16, 32]
    out, _ = tg.scan(lambda a: ([a], tg.scan_module.until(a < 0)), sequences=x)
    f = tg.function([x], out)
    assert f([1.0, -2.0, 3.0]).tolist() == [1, -2] and f([]).shape == (0,) and f([1.0, 2.0]).tolist() == [1, 2]
    assert len(tg.function([x], tg.scan(lambda a: (a, tg.until(a > 150)), sequences=x)[0])(np.arange(200.0))) == 152


def test_updates_of_shared_variables():
    w = tg.shared(1.0, name="w")
    out, updates = tg.scan(lambda a: (a * w, {w: w + a}), sequences=x)
    f = tg.function([x], out, updates=updates)
    assert f([1.0, 2.0, 3.0]).tolist() == [1, 4, 12] and w.get_value() == 7
    nothing, updates = tg.scan(lambda: {w: w * 2}, n_steps=3)
    assert nothing is None
    tg.function([], [], updates=updates)()
    assert w.get_value() == 56


def test_default_updates_inside():
    counter = tg.shared(0, name="counter")
    counter.default_update = counter + 1
    out, updates = tg.scan(lambda a: a + counter, sequences=x)
    f = tg.function([x], out, updates=updates)
    assert f([0.0, 0.0]).tolist() == [0, 1] and f([0.0]).tolist() == [2]


@pytest.mark.parametrize("mode", MODES)
def test_nested_with_ifelse(mode):
    m = T.dmatrix("m")
    first = T.constant([1.0])

    def inner(a, h):
        return tg.ifelse(a > 0, h + a, h + first[T.cast(a, "int64")])  # index 0 only exists for a = 0, -1

    rows, _ = tg.scan(lambda row: tg.scan(inner, sequences=row, outputs_info=0.0)[0][-1], sequences=m)
    f = tg.function([m], rows, mode=mode)
    assert f([[5.0, 7.0], [0.0, -1.0]]).tolist() == [12, 2]


def test_return_list_and_go_backwards_of_several():
    out, _ = tg.scan(lambda a, b: a - b, sequences=[x, x * 2], go_backwards=True, return_list=True)
    assert isinstance(out, list)
    assert tg.function([x], out)([1.0, 2.0])[0].tolist() == [-2, -1]


def test_start_takes_the_dtype_of_the_step():
    v = T.fvector("v")
    out, _ = tg.scan(lambda a, h: a + h, sequences=v, outputs_info=0.0)
    assert out.type.dtype == "float32"
    out, _ = tg.scan(lambda a, h: a + h, sequences=x, outputs_info=0)
    assert out.type.dtype == "float64"


# ---------------------------------------------------------------------- errors
def test_carry_that_changes_dtype():
    with pytest.raises(TypeError) as info:
        tg.scan(lambda a, h: T.cast(a + h, "float32"), sequences=x, outputs_info=T.zeros(()))
    text = str(info.value)
    assert "outputs_info[0]" in text and "float64 -> float32" in text and __file__ in text and "T.cast" in text


def test_carry_that_changes_rank_or_structure():
    with pytest.raises(TypeError, match=r"carry\['h'\].*(.|\n)*dimensions 0 -> 1"):
        tg.loop(lambda c, a: ({"h": c["h"] + x}, None), {"h": 0.0}, x)
    with pytest.raises(TypeError, match=r"built like the first one, \{'h': \*\}.*\(\*, \*\)"):
        tg.loop(lambda c, a: ((a, a), None), {"h": 0.0}, x)
    with pytest.raises(TypeError, match=r"must return \(carry, y\)"):
        tg.loop(lambda c, a: c, 0.0, x)


def test_step_function_that_raises():
    def step(a):
        raise KeyError("no such thing")

    with pytest.raises(KeyError) as info:
        tg.scan(step, sequences=x)
    assert "step" in info.value.__notes__[0] and "x[t]: TensorType(float64, ())" in info.value.__notes__[0]


def test_run_time_errors_name_line_and_step():
    table = T.constant([1.0, 2.0])

    def step(a, h):
        return h + table[T.cast(a, "int64")]

    out, _ = tg.scan(step, sequences=x, outputs_info=0.0, name="lookup")
    with pytest.raises(IndexError) as info:
        tg.function([x], out)([0.0, 1.0, 5.0])
    text = str(info.value)
    assert "return h + table" in text and "in step 2 of loop 'lookup'" in text and "index 5" in text


def test_too_few_rows_are_called_so_wherever_they_are_found():
    """Also where the loop is gone: work of a step that is done for all rows at once promised nothing to anybody."""
    y = T.dvector("y")
    fed, _ = tg.scan(lambda a, h: T.sin(a) * h, sequences=x, outputs_info=1.0, n_steps=5)
    plain, _ = tg.scan(T.sin, sequences=x, n_steps=5)
    for mode in ("FAST_RUN", tg.Mode("py")):
        for out in (fed, plain):
            with pytest.raises(ValueError, match="to make 5 steps, but .* has only 3 rows") as info:
                tg.function([x], out, mode=mode)(np.ones(3))
            assert "promised" not in str(info.value) and "told" not in str(info.value)
        pairs, _ = tg.loop(lambda c, r: (c + r["a"] * r["b"], None), 0.0, {"a": x, "b": y})
        with pytest.raises(ValueError, match="'b'.* has 2 rows where another sequence of the loop has 3"):
            tg.function([x, y], pairs, mode=mode)(np.ones(3), np.ones(2))


def test_lengths_that_disagree():
    out, _ = tg.scan(lambda a: a, sequences=x, n_steps=4)
    with pytest.raises(ValueError, match="4 steps, but x.* has only 3 rows"):
        tg.function([x], out)([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="2 rows, too few for 3"):
        tg.scan(lambda a: a, sequences=T.constant([1.0, 2.0]), n_steps=3)
    with pytest.raises(ValueError, match="2 rows, but its taps"):
        tg.scan(lambda a, b: a, sequences={"input": T.constant([1.0, 2.0]), "taps": [-2, 1]})
    with pytest.raises(ValueError, match="must hold 3 rows"):
        tg.scan(lambda h: h, outputs_info={"initial": T.constant([1.0]), "taps": [-3]}, n_steps=2)
    with pytest.raises(ValueError, match="pass n_steps="):
        tg.scan(lambda h: h, outputs_info=0.0)
    with pytest.raises(ValueError, match="negative"):
        tg.scan(lambda h: h, outputs_info=0.0, n_steps=-1)
    with pytest.raises(ValueError, match="returned 2 outputs, but outputs_info"):
        tg.scan(lambda h: (h, h), outputs_info=0.0, n_steps=1)


@pytest.mark.parametrize("linker", ["py", "auto"])
@pytest.mark.parametrize("backwards", [False, True])
def test_a_sequence_shorter_than_its_taps_reach(linker, backwards):
    sequence = {"input": x, "taps": [-2, 1]}
    out, _ = tg.scan(lambda a, b: a * b, sequences=[sequence], go_backwards=backwards)
    with tg.config.change_flags(linker=linker):
        f = tg.function([x], [out, tg.grad(out.sum(), x)])
    got, grad = f([1.0, 2.0, 3.0])
    assert got.shape == (0,) and grad.tolist() == [0, 0, 0]
    assert f([1.0, 2.0, 3.0, 4.0])[1].tolist() == [4, 0, 0, 1]
    with pytest.raises(ValueError, match="-1") as info:
        f([1.0, 2.0])
    assert "sequences=[sequence" in str(info.value)
    kept = tg.function([x], out, mode="None")
    with pytest.raises(ValueError, match="negative, got -1; a sequence must be as long as its taps reach"):
        kept([1.0, 2.0])


@pytest.mark.parametrize("linker", ["py", "auto"])
@pytest.mark.parametrize("mode", ["None", "FAST_COMPILE", "FAST_RUN"])
@pytest.mark.parametrize("steps", [-1, 4])
def test_numbers_of_steps_that_the_sequences_do_not_have(linker, mode, steps):
    """Also where the loop's work is done without it, on all rows at once."""
    k, w = T.lscalar("k"), T.dmatrix("w")
    out, _ = tg.scan(lambda a: T.tanh(a) * 2, sequences=x, n_steps=k)
    product, _ = tg.scan(lambda a: T.dot(a, w), sequences=T.outer(x, x), n_steps=k)
    for result in (out, product):
        with tg.config.change_flags(linker=linker):
            f = tg.function([x, w, k], result, mode=mode, on_unused_input="ignore")
        assert len(f([1.0, 2.0, 3.0], np.eye(3), 2)) == 2
        with pytest.raises(ValueError) as info:
            f([1.0, 2.0, 3.0], np.eye(3), steps)
        assert str(steps) in str(info.value) and "n_steps=k" in str(info.value)


@pytest.mark.parametrize("mode", ["FAST_COMPILE", "FAST_RUN"])
def test_what_is_made_from_a_loop_keeps_its_line(mode):
    u = T.dvector("u")
    out, _ = tg.scan(lambda a, h: T.tanh(a * 1 + h * h / h), x, 0.5)
    total = T.exp(out) + u
    with pytest.raises(ValueError, match=r"total = T\.exp\(out\) \+ u"):
        tg.function([x, u], total, mode=mode)(np.ones(4), np.ones(3))


@pytest.mark.parametrize("linker", ["py", "auto"])
def test_what_was_taken_out_of_a_loop_names_the_line_in_the_step(linker):
    xs, w, u = T.dmatrix("xs"), T.dmatrix("w"), T.dvector("u")

    def product(row, h):
        return h + T.dot(row, w)  # one product of all rows, before the loop

    def after(row):
        return T.exp(row) * u  # no loop at all

    def once(row, h):
        return h * row.sum() + T.dot(w, w)[0, 0]  # the same in every step

    def short(h):
        return h + T.dot(u, w)  # written out

    for step, loop in (
        (product, tg.scan(product, xs, T.zeros(3))),
        (after, tg.scan(after, xs)),
        (once, tg.scan(once, xs, 0.0)),
        (short, tg.scan(short, None, T.zeros(3), n_steps=2)),
    ):
        with tg.config.change_flags(linker=linker):
            f = tg.function([xs, w, u], loop[0], on_unused_input="ignore")
        with pytest.raises(ValueError) as info:
            f(np.ones((4, 2)), np.ones((5, 3)), np.ones(4))
        assert f"in {step.__name__}\n    return" in str(info.value), str(info.value)


def test_nothing_is_half_updated_when_a_step_fails():
    w = tg.shared(1.0, name="w")
    table = T.constant([1.0, 2.0])
    out, updates = tg.scan(lambda a: (table[T.cast(a, "int64")], {w: w + 1}), sequences=x)
    f = tg.function([x], out, updates=updates)
    with pytest.raises(IndexError):
        f([0.0, 9.0])
    assert w.get_value() == 1


def test_strict_lists_what_is_missing():
    w, b = tg.shared(1.0, name="w"), T.dscalar("b")
    with pytest.raises(tg.MissingInputError, match="shared variable 'w', b"):
        tg.scan(lambda a: a * w + b, sequences=x, strict=True)
    out, _ = tg.scan(lambda a, w, b: a * w + b, sequences=x, non_sequences=[w, b], strict=True)
    assert tg.function([x, b], out)([1.0], 2.0) == [3.0]


@pytest.mark.parametrize("linker", ["py", "auto"])
def test_loop_wants_equally_long_sequences(linker):
    y, known = T.dvector("y"), T.tensor("known", dtype="float64", shape=(3,))
    for xs, first in (({"a": x, "b": y}, x), ((known, y), known)):
        total, _ = tg.loop(lambda c, row: (c + sum(row.values() if isinstance(row, dict) else row), None), 0.0, xs)
        shorter, _ = tg.loop(
            lambda c, row: (c + sum(row.values() if isinstance(row, dict) else row), None), 0.0, xs, length=2
        )
        with tg.config.change_flags(linker=linker):
            f = tg.function([first, y], [total, shorter, tg.grad(total, first)])
        assert f([1.0, 2.0, 3.0], [1.0, 1.0, 1.0])[0] == 9
        for b in ([1.0, 2.0, 3.0, 4.0], [1.0, 2.0]):
            with pytest.raises(ValueError, match=f"has {len(b)} rows where another sequence of the loop has 3"):
                f([1.0, 2.0, 3.0], b)


@pytest.mark.parametrize("mode", MODES)
def test_random_streams_draw_in_every_step(mode):
    rng = T.random.RandomStream(3)
    out, updates = tg.scan(lambda a: a + rng.normal(size=(2,)), sequences=x)
    f = tg.function([x], out, updates=updates, mode=mode)
    draws = np.concatenate([f(np.zeros(3)), f(np.zeros(3))])
    assert len(np.unique(draws)) == 12


def traced_loop(mode):
    xs, w, b = T.dmatrix("xs"), T.dmatrix("w"), T.dvector("b")
    hs, _ = tg.scan(lambda row, h: T.tanh(T.dot(h, w) * 1 + row + b), xs, T.zeros((3,)))
    f = tg.function([xs, b, w], [hs, tg.grad(hs.sum(), w)], mode=mode)
    return f, f(np.ones((4, 3)), np.ones(3), np.ones((3, 3)))


def test_the_trace_names_what_a_body_reads_as_the_step_does():
    f, _ = traced_loop("FAST_RUN")
    shown = [str(r) for r in f.trace]
    assert any("dot(outputs[0][t-1], w)" in text and "xs[t], b" in text for text in shown), shown
    assert not any("dot(b, xs)" in text for text in shown)


def test_debug_mode_takes_loops():
    """Rewritings of bodies have no values outside the loop to be tried on."""
    _, checked = traced_loop("DEBUG_MODE")
    for got, want in zip(checked, traced_loop("None")[1]):
        np.testing.assert_allclose(got, want, rtol=1e-12)


def test_outputs_and_updates_that_are_empty():
    """`outputs_info=[]` describes nothing, and `()` in the place of updates is none: Theano's programs write both."""
    x = T.dvector("x")
    doubled, _ = tg.scan(lambda item: item * 2, x, [], [])
    np.testing.assert_array_equal(tg.function([x], doubled)([1.0, 2.0]), [2, 4])
    state = tg.shared(1.0, "state")
    _, updates = tg.scan(lambda: {state: 2 * state}, [], [], [], n_steps=3)
    tg.function([], [], updates=updates)()
    assert state.get_value() == 8
    for step in (
        lambda total: ([total + 1], (), tg.until(total > 1)),
        lambda total: ([total + 1], [], tg.until(total > 1)),
    ):
        sums, _ = tg.scan(step, outputs_info=[0.0], n_steps=9)
        np.testing.assert_array_equal(tg.function([], sums)(), [1, 2, 3])
    with pytest.raises(ValueError, match="describes 1"):
        tg.scan(lambda total: [total, total], outputs_info=[0.0], n_steps=2)
