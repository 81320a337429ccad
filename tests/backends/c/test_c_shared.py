"""Equal kernels are written once, long programs are tables of steps: same values, and text that hardly grows."""

import re

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c import generate
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.backends.c.text import kernels, ranges, values_outside
from termgraph.backends.c.text.shared_kernels import Entry, general
from termgraph.lower.schedule.cost import work
from termgraph.terms.term import Arg
from termgraph.terms.traverse import substitute

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
LINKER = "auto"


def mlp(layers, width=8, batch=5, symbolic=False):
    """A deep net with its gradients, and values for it."""
    shape = (None, None) if symbolic else (width, width)
    x, h = (T.tensor("x", dtype="float32", shape=(None if symbolic else batch, width)),) * 2
    weights = [T.tensor(f"w{k}", dtype="float32", shape=shape) for k in range(layers)]
    for w in weights:
        h = T.tanh(h @ w + 0.1)
    loss = (h * h).mean()
    rng = np.random.default_rng(0)
    values = [rng.standard_normal((batch, width)), *rng.standard_normal((layers, width, width))]
    return [x, *weights], [loss, *tg.grad(loss, weights)], [v.astype("float32") for v in values]


def compiled(inputs, outputs, **options):
    f = tg.function(inputs, outputs, **options)
    assert "TG_EXPORT" in f.source("c")
    return f


def functions(f):
    return re.findall(r"^static void (kernel\d+)\(", f.source("c"), re.M)


@pytest.mark.parametrize("symbolic", [False, True])
def test_a_deeper_net_has_no_more_functions(symbolic):
    few, many = (compiled(*mlp(n, symbolic=symbolic)[:2]) for n in (6, 24))
    assert len(functions(few)) == len(functions(many)) < 12


@pytest.mark.parametrize("rows,asks", [(8, False), (None, True), (1_000_000, True)])
def test_only_loops_that_may_be_long_ask_whether_to_stop(rows, asks):
    """Each question is a millisecond of the C compiler's time."""
    x = T.tensor("x", dtype="float32", shape=(rows, 8))
    f = compiled([x], T.exp(x - x.mean(axis=1, keepdims=True)))
    assert ("TG_STOP(c->st)" in f.source("c")) == asks
    given = np.arange(8 * 8, dtype="float32").reshape(8, 8)
    if rows != 1_000_000:
        np.testing.assert_allclose(f(given), np.exp(given - given.mean(axis=1, keepdims=True)), rtol=1e-6)


@pytest.mark.parametrize("count", [12, 13])
def test_strides_of_many_arguments_are_compared_by_a_function_that_programs_share(count):
    xs = [T.tensor(f"x{k}", dtype="float32", shape=(3, 4)) for k in range(count)]
    f = compiled(xs, sum(T.exp(x) for x in xs))
    plan = f.source("c").partition("int tg_plan(")[2].partition("\n}")[0]
    assert ("- env[" in plan) == (count == 12)
    rng = np.random.default_rng(0)
    values = [
        rng.standard_normal((4, 3)).astype("float32").T if k % 2 else np.ones((3, 4), "float32") for k in range(count)
    ]
    np.testing.assert_allclose(f(*values), sum(np.exp(v) for v in values), rtol=1e-5)


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("options", [{}, {"profile": True}, {"mode": "FAST_COMPILE"}], ids=str)
def test_values_are_those_of_a_program_without_a_table(symbolic, options, monkeypatch, tmp_path):
    inputs, outputs, values = mlp(20, symbolic=symbolic)
    with tg.config.change_flags(**{"cache.dir": str(tmp_path / "a")}):
        f = compiled(inputs, outputs, **options)
    assert ("tg_make_steps(" in f.source("c")) == ("profile" not in options)
    monkeypatch.setattr(kernels, "MANY_STEPS", 10**6)
    with tg.config.change_flags(**{"cache.dir": str(tmp_path / "b")}):
        g = compiled(inputs, outputs, **options)
    for got, wanted in zip(f(*values), g(*values)):
        np.testing.assert_array_equal(got, wanted)


def conv_net(blocks, channels=3):
    """Convolutions one after the other, with a pooling and a sort (routines, the last over a batch)."""
    x = T.tensor("x", dtype="float32", shape=(2, channels, 6, 6))
    weights = [T.tensor(f"w{k}", dtype="float32", shape=(channels, channels, 3, 3)) for k in range(blocks)]
    h = x
    for w in weights:
        h = T.tanh(T.nnet.conv2d(h, w, border_mode=(1, 1)))
    h = T.sort(T.signal.pool_2d(h, (2, 2), ignore_border=True), axis=-1)
    loss = (h * h).mean()
    rng = np.random.default_rng(0)
    values = [rng.standard_normal((2, channels, 6, 6)), *rng.standard_normal((blocks, channels, channels, 3, 3))]
    return [x, *weights], [loss, *tg.grad(loss, weights)], [v.astype("float32") for v in values]


def test_equal_convolutions_are_one_step_and_give_the_same_values(monkeypatch, tmp_path):
    inputs, outputs, values = conv_net(16)
    with tg.config.change_flags(**{"cache.dir": str(tmp_path / "a")}):
        f = compiled(inputs, outputs)
        fewer = compiled(*conv_net(14)[:2])
    calls = [len(re.findall(r"if \(tg_conv_\w+\(\(tg_conv_shape\)", g.source("c"))) for g in (f, fewer)]
    assert calls[0] == calls[1] < 8  # forward, for images, for filters, those of the ends
    monkeypatch.setattr(kernels, "MANY_STEPS", 10**6)
    with tg.config.change_flags(**{"cache.dir": str(tmp_path / "b")}):
        g = compiled(inputs, outputs)
    assert len(re.findall(r"if \(tg_conv_\w+\(\(tg_conv_shape\)", g.source("c"))) > 40
    for got, wanted in zip(f(*values), g(*values)):
        np.testing.assert_array_equal(got, wanted)


def test_convolutions_and_pooling_of_many_lengths_are_steps_that_take_lengths_from_their_rows(monkeypatch, tmp_path):
    x = T.tensor("x", dtype="float32", shape=(2, 3, 45, 44))
    weights = [T.tensor(f"w{k}", dtype="float32", shape=(3, 3, 3, 3)) for k in range(18)]
    h = x
    for k, w in enumerate(weights):  # images of other lengths in each layer
        h = T.tanh(T.nnet.conv2d(h, w, border_mode=(1, 1) if k % 9 == 8 else (0, 0)))
        h = T.signal.pool_2d(h, (3, 3), ignore_border=True, stride=(1, 1), pad=(1, 1)) if k % 3 == 0 else h
    inputs, outputs = [x, *weights], [h.sum(), *tg.grad(h.sum(), weights)]
    values = [np.random.default_rng(1).standard_normal(v.type.shape).astype("float32") for v in inputs]
    with tg.config.change_flags(**{"cache.dir": str(tmp_path / "a")}):
        f = compiled(inputs, outputs)
    calls = re.findall(r"tg_(?:conv|pool)_\w+\(.*c->at\[\d+\].*c->at\[\d+\]", f.source("c"))
    assert 3 <= len(calls) < 12  # of about 65
    monkeypatch.setattr(kernels, "MANY_STEPS", 10**6)
    with tg.config.change_flags(**{"cache.dir": str(tmp_path / "b")}):
        g = compiled(inputs, outputs)
    assert len(g.source("c")) > len(f.source("c"))
    for got, wanted in zip(f(*values), g(*values)):
        np.testing.assert_array_equal(got, wanted)


def test_a_routine_that_needs_a_value_is_no_step():
    """Where an array begins may depend on data: such a call stays where the value is."""
    n = T.iscalar("n")
    xs = [T.tensor(f"x{k}", dtype="float32", shape=(9,)) for k in range(60)]
    outputs = [T.sort(x[n : n + 4]) for x in xs]
    values = list(np.random.default_rng(0).standard_normal((60, 9)).astype("float32"))
    f = tg.function([n, *xs], outputs)
    for start in (0, 3):
        for got, v in zip(f(start, *values), values):
            np.testing.assert_array_equal(got, np.sort(v[start : start + 4]))


def test_text_of_sixty_equal_layers_is_half_as_much_again_as_that_of_three():
    def text(layers):
        x, h = (T.tensor("x", dtype="float32", shape=(16, 32)),) * 2
        weights = [(tg.shared(np.eye(32, dtype="float32")), tg.shared(np.zeros(32, "float32"))) for _ in range(layers)]
        for w, b in weights:
            h = T.tanh(h @ w + b)
        loss = (h * h).mean()
        wrt = [v for pair in weights for v in pair]
        return len(compiled([x], [loss, *tg.grad(loss, wrt)]).source("c"))

    assert text(60) <= 1.5 * text(3)


@pytest.mark.parametrize("symbolic", [False, True])
def test_many_arguments_may_lie_anyhow(symbolic):
    """Strides of many arguments are compared, and copies of them made, by a table."""
    inputs, outputs, values = mlp(24, symbolic=symbolic)
    f = compiled(inputs, outputs)
    assert "tg_ports[]" in f.source("c")
    wanted = [np.array(v) for v in f(*values)]
    wide = np.zeros((8, 40), "float32")
    wide[:, ::5] = values[3]
    others = [
        values[0],
        np.asfortranarray(values[1]),
        values[2][::-1, ::-1].copy()[::-1, ::-1],
        wide[:, ::5],
        *values[4:],
    ]
    for changed in (others, [np.asfortranarray(v) for v in values]):
        for got, want in zip(f(*changed), wanted):
            np.testing.assert_array_equal(got, want)


def test_on_several_threads():
    x, y = T.dmatrix("x"), T.dmatrix("y")
    out = x
    for k in range(4):
        out = T.exp(-(out @ y) * 0.01) + (x if k % 2 else y)
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((2, 300, 300))
    wanted = a
    for k in range(4):
        wanted = np.exp(-(wanted @ b) * 0.01) + (a if k % 2 else b)
    with tg.config.change_flags(threads=2):
        f = compiled([x, y], [out])
        for _ in range(3):
            np.testing.assert_allclose(f(a, b)[0], wanted, rtol=1e-9)


def stepwise(step, n=3):
    """x goes through products, with `step(k, x, y)` between them."""
    x, y = T.tensor("x", dtype="float64", shape=(6, 6)), T.tensor("y", dtype="float64", shape=(6, 6))
    out, w = x, y
    for k in range(n):
        out = step(k, out @ y, w)
    f = compiled([x, y], [out])
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((2, 6, 6))
    wanted = a
    for k in range(n):
        wanted = step(k, wanted @ b, b)
    np.testing.assert_allclose(f(a, b)[0], wanted, rtol=1e-9)
    return len(functions(f))


def test_equal_but_for_the_arrays():
    assert stepwise(lambda k, u, v: u * 0.5 - v) <= 2  # the last one writes where the product was: no `restrict`


def test_what_differs_is_not_shared():
    assert stepwise(lambda k, u, v: u * (0.5 + k) - v) == 2  # a number stands in the row (the last has no `restrict`)
    assert stepwise(lambda k, u, v: u * 0.5 - v if k % 2 else v - u * 0.5) >= 2  # the order of operands
    assert stepwise(lambda k, u, v: u * 0.5 - (v.T if k % 2 else v)) >= 2  # how they lie


def entry(name, place, restrict="restrict "):
    text = f"float *{restrict}{{name}} = (float *){{place}};"
    return Entry(name, "array", text, f"c->buf[{place}]", "c->buf[{}]", place)


def test_names_are_numbered_by_first_use():
    one = general(
        ["void @()", "{"], ["    t3[i] = in0[i] - t1[i];"], [entry("in0", "0"), entry("t1", "5"), entry("t3", "7")]
    )
    two = general(
        ["void @()", "{"], ["    t9[i] = t4[i] - in2[i];"], [entry("in2", "2"), entry("t4", "6"), entry("t9", "1")]
    )
    assert one.shape == two.shape and one.places == ("7", "0", "5") and two.places == ("1", "6", "2")


def test_one_array_twice_is_not_two_arrays():
    body = ["    t3[i] = in0[i] - in0[i];"], ["    t3[i] = in0[i] - t1[i];"]
    assert len({general([], b, [entry("in0", "0"), entry("t1", "5"), entry("t3", "7")]).shape for b in body}) == 2


def test_arrays_that_may_be_one_are_not_those_that_may_not():
    body = ["    t3[i] = in0[i];"]
    made = {general([], body, [entry("in0", "0"), entry("t3", "7", how)]).shape for how in ("", "restrict ")}
    assert len(made) == 2


def norm_mlp(layers, width=8):
    """x + relu(batch norm(x @ w)): kernels with several sums each."""
    x = h = T.tensor("x", dtype="float32", shape=(20, width))
    weights = [
        T.tensor(f"w{k}", dtype="float32", shape=s) for k in range(layers) for s in ((width, width), *[(width,)] * 2)
    ]
    for w, scale, shift in zip(*[iter(weights)] * 3):
        y = h @ w
        away = y - y.mean(axis=0)
        h = h + T.maximum(away / T.sqrt((away * away).mean(axis=0) + 1e-5) * scale + shift, 0)
    return [x, *weights], [(h * h).mean(), *tg.grad((h * h).mean(), weights)]


def test_sums_of_one_loop_are_in_the_same_order_in_every_layer():
    few, many = (compiled(*norm_mlp(n)) for n in (5, 20))
    assert len(functions(many)) <= len(functions(few)) + 1 < 14


WHOLE = re.compile(r"begin = 0, end = (\d+);")


@pytest.mark.parametrize(
    ("shapes", "ranges"),
    [
        ([(7,)], ["7"]),
        ([(1,)], []),  # no loop
        ([(None,)], []),
        ([(7,), (9,)], []),  # one function for two lengths
        ([(7,), (7,)], ["7"]),
        ([(10**6,)], []),  # several threads may share the work
    ],
    ids=str,
)
def test_a_function_knows_its_range_where_that_never_changes(shapes, ranges):
    xs = [T.tensor(f"x{k}", dtype="float64", shape=s) for k, s in enumerate(shapes)]
    f = compiled(xs, [T.sqrt(x) * 2 + x for x in xs])
    assert WHOLE.findall(f.source("c")) == ranges
    values = [np.linspace(0, 3, s[0] if s[0] is not None else 5) for s in shapes]
    with tg.config.change_flags(threads=2):
        for got, v in zip(f(*values), values):
            np.testing.assert_allclose(got, np.sqrt(v) * 2 + v, rtol=1e-12)


@pytest.mark.parametrize("cost", [1, 7, 400, 149_999, 150_000, 400_000])
def test_what_is_one_piece_is_what_the_program_runs_at_once(cost):
    """`is_one_piece` and `tg_each` must agree: a function that knows its range is never given a part of it."""
    for n in {0, 1, 2, 3, *(2 * ranges.GRAIN // (cost + 1) + d for d in (-1, 0, 1))}:
        dealt_out = n > 1 and n > 2 * ranges.GRAIN // (cost + 1)  # the condition in C
        assert ranges.is_one_piece(n, cost) != dealt_out
    assert "if (n > 1 && n > 2 * GRAIN / (cost + 1)) tg_rt->parallel_for" in ranges.SERVICES
    assert f"GRAIN = {ranges.GRAIN} }}" in ranges.SERVICES


@pytest.mark.parametrize("known", [True, False])
def test_many_sums_of_one_array_are_several_loops(known):
    """A function with hundreds of sums takes a compiler longer than as many functions as it has dozens of them."""
    x, w = T.tensor("x", dtype="float64", shape=(20 if known else None,)), T.dvector("w")
    terms = [((x - w[k]) ** 2).sum() if k % 2 else T.log1p(abs(x * w[k])).max() for k in range(60)]
    f = compiled([x, w], terms)
    bodies = re.findall(r"^static void kernel\d+\(.*?^}", f.source("c"), re.M | re.S)
    folds = [len(set(re.findall(r"c->partial\[(\d+)\]", body))) for body in bodies]
    assert max(folds) == 24
    a, b = np.linspace(-1, 2, 20), np.linspace(0.1, 3, 60)
    wanted = [((a - v) ** 2).sum() if k % 2 else np.log1p(abs(a * v)).max() for k, v in enumerate(b)]
    np.testing.assert_allclose(f(a, b), wanted, rtol=1e-12)


@pytest.mark.parametrize("n", [0, 1, 5, 4000, 10**6])
def test_a_short_sum_has_one_part(n):
    """Known lengths: what is one part is written without parts; long ones are still dealt out, in a known number."""
    x = T.tensor("x", dtype="float64", shape=(n,))
    f = compiled([x], [T.exp(x).sum(), x.argmin() if n else x.sum()])
    run = f.source("c").rpartition("tg_run(")[2]
    assert "tg_parts(" not in run and ("part++" in run) == (n == 10**6)
    v = np.sin(np.arange(n))
    with tg.config.change_flags(threads=2):
        got = f(v)
    np.testing.assert_allclose(got[0], np.exp(v).sum(), rtol=1e-12)
    assert got[1] == (v.argmin() if n else 0)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16"])
@pytest.mark.parametrize(("columns", "together"), [(256, True), (304, True), (800, True), (250, False), (64, False)])
def test_columns_are_dealt_out_in_whole_vectors(dtype, columns, together, rng):
    x = T.tensor("x", dtype=dtype, shape=(3000, columns))
    f = compiled([x], [x.sum(axis=0), (x * x).max(axis=0)])
    assert ("TG_WHOLE_VECTORS void" in f.source("c")) == together
    v = rng.integers(-9, 9, (3000, columns)).astype(dtype)
    for threads in (1, 2, 3):
        with tg.config.change_flags(threads=threads):
            for got, wanted in zip(f(v), (v.sum(axis=0), (v * v).max(axis=0))):
                np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("n", [400_000, 1 << 20, (1 << 20) + 3])
def test_parts_of_a_long_sum_are_those_of_unknown_lengths(n):
    """The number of parts is told by the length alone, whether or not it is known when compiling."""
    known, x = T.tensor("x", dtype="float64", shape=(n,)), T.dvector("x")
    terms = [compiled([a], [T.exp(a).sum(), (a * a).max(), a.argmin()]) for a in (known, x)]
    v = np.sin(np.arange(n, dtype="float64"))
    for threads in (1, 2):
        with tg.config.change_flags(threads=threads):
            first, second = terms[0](v), terms[1](v)
        assert [np.asarray(a).tobytes() for a in first] == [np.asarray(b).tobytes() for b in second]
        np.testing.assert_allclose(first[0], np.exp(v).sum(), rtol=1e-12)
        assert first[2] == v.argmin()


def same_text(forget):
    """A `general` that takes functions for one which are alike once something is forgotten."""
    alike = {}

    def careless(*given, **more):
        made = general(*given, **more)
        return made._replace(shape=alike.setdefault(forget(made.shape), made.shape))

    return careless


def sorted_places(*given, **more):
    made = general(*given, **more)
    return made._replace(places=tuple(sorted(made.places, key=int)))


MISTAKES = {
    "dtype": same_text(
        lambda text: re.sub(r"([\d.])f\b", r"\1", text.replace("double", "float")).replace("tg_own_", "")
    ),
    "length": same_text(lambda text: re.sub(r"\b(35|36)\b", "n", text)),
    "number": same_text(lambda text: re.sub(r"\b[01]\.5f?\b", "c", text)),
    "order": sorted_places,
}


def mixed():
    """Loops that differ in one thing each: a dtype, a length, a number, which array comes first; beside NumPy."""
    variables, outputs, values, wanted = [], [], [], []
    rng = np.random.default_rng(4)
    for dtype in ("float32", "float64"):
        for n in (35, 36):
            pair = [T.tensor(f"{dtype}{n}{k}", dtype=dtype, shape=(4, n)) for k in range(2)]
            given = [rng.standard_normal((4, n)).astype(dtype) for _ in range(2)]
            variables, values = [*variables, *pair], [*values, *given]
            for number in (0.5, 1.5):
                for a, b in ((0, 1), (1, 0)):
                    outputs.append((T.exp(pair[a] * number) - pair[b]).sum(axis=1))
                    wanted.append((np.exp(given[a] * number) - given[b]).sum(axis=1))
    with tg.config.change_flags(**{"cache.programs": False}):
        f = compiled(variables, outputs, mode=tg.Mode(linker="c").excluding("fuse"))
    return f(*values), wanted, len(functions(f))


def test_loops_of_other_dtypes_lengths_and_numbers_are_not_mixed_up():
    found, wanted, count = mixed()
    assert 8 < count < 64  # some are shared
    for got, want in zip(found, wanted):
        np.testing.assert_allclose(got, want, rtol=1e-5)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_what_may_be_shared_is_found(mistake, monkeypatch):
    """The test above can fail: with each of these the values are others."""
    monkeypatch.setattr(kernels, "general", MISTAKES[mistake])
    try:
        found, wanted, _ = mixed()
    except Exception:  # some texts do not even compile
        return
    assert not all(np.allclose(got, want, rtol=1e-5) for got, want in zip(found, wanted))


def written(inputs, outputs):
    """The program, made anew whatever the cache holds."""
    args = {v.term: Arg(k, v.term.type) for k, v in enumerate(inputs)}
    outputs = tg.rewrite(outputs, "+canonicalize")
    return generate.generate(list(args.values()), substitute([o.term for o in outputs], args))


@pytest.mark.parametrize("numbers", [False, True])
def test_kernels_are_looked_through_for_numbers_only_where_there_are_some(numbers, monkeypatch):
    seen, look = [], values_outside.references
    monkeypatch.setattr(values_outside, "references", lambda n: seen.append(n) or look(n))
    inputs, (_, *gradients), values = mlp(6)
    outputs = [gradients[0] / gradients[1].sum() if numbers else gradients[0], *gradients]
    written(inputs, outputs)
    assert bool(seen) == numbers
    first, g0, g1, *_ = compiled(inputs, outputs)(*values)
    np.testing.assert_allclose(first, g0 / g1.sum() if numbers else g0, rtol=1e-5)


def test_what_a_call_costs_is_the_sum_over_all_kernels(monkeypatch):
    """Of equal ones an iteration is counted once; the same number as counting them all."""
    made, real = [], generate._Writer.plan_text

    def noted(self, costs):
        made.append((costs, work(self.nodes)))
        return real(self, costs)

    monkeypatch.setattr(generate._Writer, "plan_text", noted)
    x = T.dmatrix("x")
    for inputs, outputs, *_ in (mlp(6), mlp(6, symbolic=True), ([x], [T.cumsum(T.exp(x - x.max()), axis=0).sum()])):
        written(inputs, outputs)
    assert len(made) == 3 and all(a is b for a, b in made)
