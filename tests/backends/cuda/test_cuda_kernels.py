"""Generated kernels, run on the CPU by the emulation, compute what the NumPy meaning says."""

import os
import re
from pathlib import Path

import numpy as np
import pytest
from backends.cuda.cudacases import cases, inside, launches_of, no_emulation, program
from helpers import wide_of_half
from lower.randomgraphs import Graphs, agree

import termgraph as tg
import termgraph.tensor as T
from emucuda.driver import emulation
from termgraph.backends.cuda.generate import generate
from termgraph.backends.cuda.placement import why_not
from termgraph.backends.cuda.run.executor import Executable
from termgraph.backends.cuda.text.prelude import needed
from termgraph.terms.dtypes import HALVES
from termgraph.terms.evaluate import evaluate
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops import reduce as red
from termgraph.terms.term import Arg, mk
from termgraph.terms.types import TensorType

pytestmark = pytest.mark.skipif(bool(no_emulation), reason=no_emulation or "g++")
CASES = cases()


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("order", ["0", "1", "2"])
def test_cases(name, order, monkeypatch):
    """Whatever the order in which the threads of a block happen to run."""
    monkeypatch.setenv("TG_ORDER", order)
    inputs, outputs, values = CASES[name]
    want = tg.function(inputs, outputs)(*values)
    with emulation() as device:
        run = Executable(program(inputs, outputs), device)
        for _ in range(3):  # run, record, replay
            for got, expected in zip(run(*values), want):
                assert got.dtype == expected.dtype and got.shape == expected.shape
                tol = 2e-2 if expected.dtype.name in HALVES else 2e-5
                np.testing.assert_allclose(wide_of_half(got), wide_of_half(expected), rtol=tol, atol=tol)


@pytest.mark.parametrize("seed", range(24))
def test_random_graphs(seed):
    random_graph(seed, 3 + seed % 8)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5000, 5200))
def test_many_random_graphs(seed):
    random_graph(seed, 4 + seed % 11)


def random_graph(seed, steps):
    g = Graphs(seed).grow(steps)
    outs = g.outputs()
    with np.errstate(all="ignore"):
        want = evaluate(outs, dict(zip(g.args, g.values)))
    with emulation() as device:
        got = [np.asarray(a) for a in Executable(generate(g.args, outs), device)(*g.values)]
    agree(got, want, g, outs, seed)


def test_long_indices():
    """The variant that counts with 64 bits, which arrays of more than 2^30 elements get."""
    inputs, outputs, values = CASES["sums"]
    want = tg.function(inputs, outputs)(*values)
    with emulation() as device:
        run = Executable(program(inputs, outputs), device)
        run.plan_for(tuple(v.shape for v in values)).wide = True
        for got, expected in zip(run(*values), want):
            np.testing.assert_allclose(np.asarray(got), expected, rtol=2e-5)
        assert list(run.modules) == [True]


def test_a_team_shares_out_the_long_folds_inside_of_a_short_one():
    """Sums over images and places: 256 threads for each channel instead of one."""
    x = T.tensor("x", dtype="float32", shape=(8, 5, 70, 20))
    value = np.random.default_rng(0).standard_normal((8, 5, 70, 20)).astype("float32")
    outputs = [x.mean((0, 2, 3)), x.var((0, 2, 3)), T.argmax(x.dimshuffle(1, 0, 2, 3).reshape((5, 8, 1400)).max(1), 1)]
    want = tg.function([x], outputs)(value)
    with emulation() as device:
        run = Executable(program([x], outputs), device)
        for got, expected in zip(run(value), want):
            np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-4, atol=1e-6)
        rows = [launch for launch in run.plan_for((value.shape,)).first.launches if "team" in launch.numbers]
    assert rows and all(launch.numbers["team"] == 256 for launch in rows)


def test_the_second_call_records_and_the_third_replays():
    inputs, outputs, values = CASES["rows"]
    with emulation() as device:
        run, before = Executable(program(inputs, outputs), device), device.allocations
        for _ in range(4):
            kept = run(*values)
            del kept
        plan = run.plan_for(tuple(v.shape for v in values))
        assert len(run.plans) == 1 and plan.first.graphs and run.replays == 2
        assert device.allocations < before + 30


def test_a_mean_takes_two_kernels():
    """What is computed from lengths alone needs no kernel of its own."""
    inputs, _, values = CASES["rows"]
    code = program(inputs, [(inputs[0] - inputs[0].mean(0)) * inputs[0].shape[0]])
    assert [k.kind for k in code.steps] == ["columns", "flat"] and not code.scalars
    (x,) = values
    with emulation() as device:
        got = np.asarray(Executable(code, device)(x)[0])
    np.testing.assert_allclose(got, (x - x.mean(0)) * len(x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("rows, columns, parts", [(640, 40, 10), (255, 40, 0), (20000, 3, 312), (300, 1056 * 32, 0)])
def test_long_columns_are_done_in_parts(rows, columns, parts):
    """By blocks that share out rows, where columns alone do not fill a device; what comes after is the last kernel."""
    x = T.fmatrix("x")
    v = np.random.default_rng(0).standard_normal((rows, columns)).astype("float32")
    found = launches_of([x], [x.mean(0) * 2], v)
    across = -(-columns // 32)
    assert found[1:] == ([(found[1][0], (across, 1, 1))] if parts else [])
    assert (found[0][1] == (across, parts, 1)) == bool(parts)


def test_a_variance_of_columns_is_two_sweeps_in_parts():
    x = T.ftensor3("x")
    v = np.random.default_rng(0).standard_normal((2, 700, 40)).astype("float32")
    assert [grid for _, grid in launches_of([x], [x.var(1)], v)] == [(4, 10, 1), (4, 10, 1), (4, 1, 1)]


@pytest.mark.parametrize("columns, kernel", [(256, "held"), (257, "by_warps"), (1024, "by_warps"), (1025, "held")])
def test_many_rows_of_middle_length_are_kept_by_warps(columns, kernel):
    x = T.fmatrix("x")
    v = np.random.default_rng(0).standard_normal((300, columns)).astype("float32")
    for out in (T.nnet.softmax(x), (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)):
        assert [name for name, _ in launches_of([x], [out], v)] == [f"kernel0_{kernel}"]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "bool", "complex128"])
@pytest.mark.parametrize("shape", [(70, 40), (16, 33), (100, 15), (0, 20)])
def test_elements_along_another_axis_are_turned_in_squares(shape, dtype):
    x = T.matrix("x", dtype=dtype)
    v = np.round(np.random.default_rng(0).standard_normal(shape) * 9).astype(dtype)
    out = ~x.T if dtype == "bool" else x.T + x.T * x[:, 0]
    found = launches_of([x], [out], v) if dtype != "bool" else launches_of([x], [T.cast(out, "int8")], v)
    assert [name.endswith("_squares") for name, _ in found] == ([min(shape) >= 16] if min(shape) else [])


@pytest.mark.parametrize("axes", [(0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])
def test_the_same_of_three_axes(axes):
    """Where the axis along which neighbours lie, or that of the result, is short, elements are read as they come."""
    x = T.ftensor3("x")
    for shape in ((3, 40, 17), (40, 3, 18)):
        v = np.random.default_rng(0).standard_normal(shape).astype("float32")
        found = launches_of([x], [x.dimshuffle(*axes) * 2], v)
        turned = axes[2] != 2 and shape[axes[2]] >= 16
        assert [name.endswith("_squares") for name, _ in found] == [turned]


def test_what_follows_a_fold_is_done_with_it():
    """A cost and what it is multiplied by take one kernel, two where there are many elements; arguments take none."""
    x, rate, scale = T.fmatrix("x"), T.fscalar("rate"), T.fscalar("scale")
    cost = (x * x).mean()
    outputs = [cost, T.sqrt(cost) * rate + scale, x * (cost * rate), T.exp(x) + rate]
    code = program([x, rate, scale], outputs)
    assert sorted(k.kind for k in code.kernels) == ["flat", "parts", "whole"]
    with emulation() as device:
        run = Executable(code, device)
        for shape, launches in (((3, 5), 2), ((70, 90), 3), ((0, 5), 1)):
            v = np.random.default_rng(0).standard_normal(shape).astype("float32")
            values = [v, np.float32(0.5), np.float32(2)]
            with np.errstate(all="ignore"):
                m = (v * v).mean() if v.size else np.float32(np.nan)
            for got, want in zip(run(*values), [m, np.sqrt(m) * 0.5 + 2, v * (m * 0.5), np.exp(v) + 0.5]):
                np.testing.assert_allclose(np.asarray(got), want, rtol=1e-5)
            assert len(run.plan_for((shape, (), ())).first.launches) == launches


def test_factors_of_products_that_lengths_decide_need_no_kernel():
    x, w = T.fmatrix("x"), T.fmatrix("w")
    inputs, new = [x, w], w - T.dot(x.T, x) * (0.5 / x.shape[0])
    code = program(inputs, [new])
    assert not [k for k in code.kernels if k.kind == "single"]
    v = np.random.default_rng(0).standard_normal((9, 4)).astype("float32")
    with emulation() as device:
        (got,) = Executable(code, device)(v, v[:4])
    np.testing.assert_allclose(np.asarray(got), v[:4] - v.T @ v * np.float32(0.5 / 9), rtol=1e-5, atol=1e-6)


def test_softmax_reads_its_input_once():
    """The kernel for rows that fit in registers loads an element in one place only."""
    inputs, outputs, _ = CASES["rows"]
    held = program(inputs, outputs[:1]).kernels[1]
    assert held.name.endswith("_held") and held.source.count("in0[") == 1 and held.source.count("out0[") == 1


COUNT = """
static long tg_accesses;
template <class T> static T tg_counted(T p) { return __atomic_fetch_add(&tg_accesses, 1, __ATOMIC_RELAXED), p; }
extern "C" __attribute__((visibility("default"))) long tg_counted_so_far() { return tg_accesses; }
"""


@inside
@pytest.mark.parametrize("rows, columns", [(3, 5), (3, 12), (3, 300), (300, 320), (3, 1700), (3, 4000)])
def test_rows_are_read_once_and_written_once(rows, columns):
    """Counted while the kernels run. Up to 8 elements are one thread's, which finds them in its cache.

    The threads of a team all read as many: the last element in the place of those that are not there.
    """
    read = 32 * 32 if rows > 256 and 256 < columns <= 1024 else 8 * max(32, 2 ** (-(-columns // 8) - 1).bit_length())
    x, v = T.fmatrix("x"), np.random.default_rng(0).standard_normal((rows, columns)).astype("float32")
    cases = [T.nnet.softmax(x), T.log_softmax(x, axis=1), (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)]
    for out in cases:
        want = tg.function([x], out)(v)
        code = program([x], [out])
        code.source = COUNT + re.sub(r"\b(in0|out0)\[", r"tg_counted(\1)[", code.source)
        with emulation() as device:
            run = Executable(code, device)
            np.testing.assert_allclose(np.asarray(run(v)[0]), want, rtol=1e-4, atol=1e-5)
            before = run.modules[False].tg_counted_so_far()
            np.asarray(run(v)[0])
            times = run.modules[False].tg_counted_so_far() - before
        assert times == rows * (columns + read) or columns <= 8 and times <= 5 * v.size


def test_a_recorded_program_is_one_launch():
    inputs, outputs, values = CASES["rows"]
    with emulation() as device:
        run = Executable(program(inputs, outputs), device)
        for _ in range(2):
            run(*values)
        launches, replays = device.driver.launches, device.driver.replays
        run(*values)
        assert (device.driver.launches, device.driver.replays) == (launches, replays + 1)


def test_a_bad_index_is_reported():
    inputs, outputs, values = CASES["indexing"]
    with emulation() as device:
        run = Executable(program(inputs, outputs[:1]), device)
        with pytest.raises(IndexError, match="7 is out of bounds"):
            run(values[0], np.array([0, 7]))
        assert run(values[0], np.array([0, 5]))[0].shape == (2, 12)


def test_lengths_are_checked():
    inputs, outputs, values = CASES["elementwise"]
    with emulation() as device:
        with pytest.raises(ValueError, match="11"):
            Executable(program(inputs, outputs), device)(values[0], values[1], values[2][:11])


def test_an_op_may_bring_its_own_cuda_text():
    def op(name, like, cuda):
        rule = ew.ufunc_rule(like)
        options = {"arity": like.nin, "infer": ew.infer_elementwise, "kind": "elementwise", "dtype_rule": rule}
        return ew.ElementwiseOp(name, meaning=like, cuda=cuda, **options)

    wave = op("test_wave", np.multiply, "(sin({0}) * {1})")
    root, none = op("test_root", np.sqrt, "sqrt"), op("test_none", np.sqrt, None)
    args = [Arg(i, TensorType("float32", (None,))) for i in range(2)]
    x, y = np.random.default_rng(0).random((2, 9)).astype("float32")
    assert "no test_none of float32" in why_not(mk(none, (args[0],)))
    with emulation() as device:
        got = Executable(generate(args, [mk(wave, tuple(args)), mk(root, (args[0],))]), device)(x, y)
    np.testing.assert_allclose(np.asarray(got[0]), np.sin(x) * y, rtol=1e-6)
    np.testing.assert_allclose(np.asarray(got[1]), np.sqrt(x), rtol=1e-6)


def test_the_text_of_some_kernels():
    """Kept as they should look; `GOLDEN=write` in the environment writes them anew."""
    x, b = Arg(0, TensorType("float32", (None, None))), Arg(1, TensorType("float32", (None,)))
    softmax = mk(red.softmax.bind(axis=(1,)), (x,))
    programs = {"elementwise": mk(ew.mul, (mk(ew.tanh, (mk(ew.add, (x, b)),)), x)), "rows": softmax}
    programs["sums"] = mk(red.sum_.bind(axis=(0, 1), dtype="float32"), (x,))
    for name, term in programs.items():
        text = "\n\n".join(k.source for k in generate([x, b], [term]).kernels) + "\n"
        path = Path(__file__).with_name("golden") / f"{name}.cu"
        if os.environ.get("GOLDEN") == "write":
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        assert text == path.read_text(), f"{path.name} differs; look at the new text, then GOLDEN=write"


@pytest.mark.parametrize("order", ["0", "1", "2"])
def test_of_values_for_one_place_the_last_wins(order, monkeypatch):
    """In blocks that run in any order."""
    monkeypatch.setenv("TG_ORDER", order)
    rng = np.random.default_rng(2)
    x, y, v, i, j = T.fmatrix("x"), T.fmatrix("y"), T.fvector("v"), T.lvector("i"), T.lvector("j")
    inputs = [x, y, v, i, j]
    outputs = [T.set_subtensor(x[i], y), T.set_subtensor(x[i, j], v), T.set_subtensor(x[:, i], T.exp(v))]
    outputs += [T.set_subtensor(T.inc_subtensor(x[i], y)[j], y * 2)]
    values = [rng.standard_normal(s).astype("float32") for s in ((40, 30), (500, 30), 500)]
    values += [rng.integers(-30, 30, 500) for _ in range(2)]
    want = tg.function(inputs, outputs)(*values)
    code = program(inputs, outputs)
    assert code.source.count("atomicMax(") >= 3 and {k.kind for k in code.kernels} == {"flat"}
    with emulation() as device:
        for got, expected in zip(Executable(code, device)(*values), want):
            np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-6)


def test_a_place_in_range_by_its_own_form_is_claimed():
    """It is not checked, but asked for and written to."""
    x, y, i = T.tensor("x", dtype="float32", shape=(5, 6)), T.fmatrix("y"), T.lvector("i")
    near = i % 5
    outputs = [T.set_subtensor(x[near, 3], 1), T.set_subtensor(x[near, 3], x[near, 3] * 2), T.set_subtensor(x[near], y)]
    rng = np.random.default_rng(3)
    values = [rng.standard_normal(s).astype("float32") for s in ((5, 6), (40, 6))] + [rng.integers(-30, 30, 40)]
    want = tg.function([x, y, i], outputs)(*values)
    with emulation() as device:
        for got, expected in zip(Executable(program([x, y, i], outputs), device)(*values), want):
            np.testing.assert_array_equal(np.asarray(got), expected)


def test_a_scatter_of_rows_claims_rows():
    x, y, i = T.fmatrix("x"), T.fmatrix("y"), T.lvector("i")
    claim = program([x, y, i], [T.set_subtensor(x[i], y)]).kernels[2]
    assert "holder0[k0]" in claim.source and "% (n0_1)" not in claim.source


def test_what_follows_a_product_element_by_element_is_done_with_it():
    """One step where bias and activation are known; a loop after it where they are not."""

    x, w, b = T.fmatrix("x"), T.fmatrix("w"), T.fvector("b")
    z = T.dot(x, w)
    for y in (z + b, T.nnet.relu(z + b), T.nnet.relu(b + z), T.nnet.gelu(z + b, approximate=True)):
        assert len(program([x, w, b], [y]).steps) == 1
    for y in (T.tanh(z + b), T.nnet.gelu(z + b), T.nnet.relu(z + b) * 2, z + b.dimshuffle(0, "x"), T.maximum(z + b, 1)):
        assert len(program([x, w, b], [y]).steps) == 2
    assert len(program([x, w, b], [z + b, z]).steps) == 2  # the product itself is wanted as well


@pytest.mark.parametrize("columns", [5, 40, 1500])
def test_folds_over_everything_of_rows(columns):
    """A mean over rows of what needs the whole row, with and without the row being kept."""
    x, y = T.fmatrix("x"), T.lvector("y")
    p = T.nnet.softmax(x)
    outputs = [T.nnet.categorical_crossentropy(p, y).mean(), (p * p).max(), (p * p).sum(), x.std(1).argmax()]
    rng = np.random.default_rng(0)
    values = [rng.standard_normal((9, columns)).astype("float32"), rng.integers(0, columns, 9)]
    want = tg.function([x, y], outputs)(*values)
    with emulation() as device:
        run = Executable(program([x, y], outputs), device)
        for got, expected in zip(run(*values), want):
            np.testing.assert_allclose(np.asarray(got), expected, rtol=2e-5)


@pytest.mark.parametrize("seed", [5048, 9029])
def test_graphs_that_were_wrong_once(seed):
    random_graph(seed, 4 + seed % 11)


@pytest.mark.parametrize("n", [1, 3])
def test_one_element_is_there_before_it_is_overwritten(n):
    """A scalar that waits for the next kernel which needs it is written before a loop that changes the same place."""
    x, y, at = T.tensor("x", dtype="float64", shape=(n,)), T.dvector("y"), T.lvector("at")
    outputs = [T.set_subtensor(x[at], y), T.inc_subtensor(x[at], y)]
    values = [np.arange(3.0, 3 + n), np.array([5.0, 6.0]), np.array([n - 1, 0])]
    want = evaluate([v.term for v in outputs], dict(zip([x.term, y.term, at.term], values)))
    with emulation() as device:
        for k, expected in enumerate(want):
            (got,) = Executable(program([x, y, at], [outputs[k]]), device)(*values)
            np.testing.assert_array_equal(np.asarray(got), expected)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_remainders_are_numpys_and_their_text_is_the_devices(rng, dtype):
    text = needed("tg_mod_f32 tg_mod_f64 tg_fmod_f32 tg_fmod_f64 tg_floordiv_f32 tg_floordiv_f64")
    heads = re.findall(r"^(.*)\btg_(?:mod|fmod|floordiv)_f\d\d\(.*\)$", text, re.MULTILINE)
    assert len(heads) == 6 and all("__device__" in head for head in heads) and not re.search(r"\bstatic\b", text)
    x, y = T.vector("x", dtype=dtype), T.vector("y", dtype=dtype)
    a, b = (rng.normal(size=500) * 10.0 ** rng.integers(-9, 9, 500) for _ in "xy")
    a, b = a.astype(dtype), np.append(b[:-3], [0.0, np.inf, np.nan]).astype(dtype)
    with tg.config.change_flags(linker="cuda"), emulation():
        found = tg.function([x, y], [x % y, x // y, T.fmod(x, y)])(a, b)
    with np.errstate(all="ignore"):
        for got, want in zip(found, (np.mod(a, b), np.floor_divide(a, b), np.fmod(a, b)), strict=True):
            np.testing.assert_array_equal(np.asarray(got), want)
