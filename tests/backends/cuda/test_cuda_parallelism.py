"""Kernels have threads enough: few long rows in parts, nests apart, folds of folds as one; equal kernels are one."""

import functools
import re

import numpy as np
import pytest
from backends.cuda import cudacases
from backends.cuda.cudacases import no_emulation, program

import termgraph as tg
import termgraph.tensor as T
from emucuda.driver import emulation

launches_of = functools.partial(cudacases.launches_of, rtol=2e-4, atol=2e-4)  # sums of many float32
pytestmark = pytest.mark.skipif(bool(no_emulation), reason=no_emulation or "g++")


def drawn(*shape, dtype="float32", seed=0):
    v = np.random.default_rng(seed).standard_normal(shape)
    return np.round(v * 3).astype(dtype) if np.dtype(dtype).kind in "iub" else v.astype(dtype)


def batch_norm(x, gain, bias):
    mean, spread = x.mean((0, 2, 3), keepdims=True), x.var((0, 2, 3), keepdims=True)
    return (x - mean) / T.sqrt(spread + 1e-5) * gain.dimshuffle("x", 0, "x", "x") + bias.dimshuffle("x", 0, "x", "x")


@pytest.mark.parametrize("known", [True, False])
def test_batch_norm_of_few_channels_is_shared_out_among_blocks(known):
    shape = (3, 5, 60, 100)
    x = T.tensor("x", dtype="float32", shape=shape) if known else T.ftensor4("x")
    g, b = T.fvector("g"), T.fvector("b")
    loss = (T.nnet.relu(batch_norm(x, g, b)) ** 2).mean()
    outs = [loss, *tg.grad(loss, [x, g, b])]
    found = launches_of([x, g, b], outs, drawn(*shape), drawn(5), drawn(5))
    parts = [grid for name, grid in found if "_part" in name]
    assert len(parts) >= 4 and (5, 8, 1) in parts  # 18000 elements in parts of 2048 at least


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "uint8", "bool", "complex128"])
@pytest.mark.parametrize("length", [16384, 16385, 40001])
def test_folds_of_few_long_rows(dtype, length):
    x = T.matrix("x", dtype=dtype)
    v = drawn(3, length, dtype=dtype)
    if dtype == "bool":
        outs = [x.any(1), x.all(1), x.sum(1)]
    elif dtype == "complex128":
        outs = [x.sum(1), x.mean(1) * 2]
    elif dtype == "float16":
        outs = [x.max(1), x.min(1)]
    else:
        outs = [x.sum(1), x.max(1) + x.min(1), T.sqr(x - x.max(1, keepdims=True)).sum(1, dtype=x.dtype)]
    found = launches_of([x], outs, v)
    assert any("_part" in name for name, _ in found)
    assert max(grid[1] for _, grid in found) == length // 2048


@pytest.mark.parametrize("rows, length, parts", [(1055, 16384, 2), (1056, 16384, 1), (2, 16383, 1), (0, 20000, 0)])
def test_rows_are_done_in_parts_where_they_are_few_and_long(rows, length, parts):
    x = T.fmatrix("x")
    found = launches_of([x], [(x - x.mean(1, keepdims=True)).max(1)], drawn(rows, length) if rows < 9 else _same(rows))
    assert max([grid[1] for _, grid in found], default=0) == parts


def _same(rows):
    return np.broadcast_to(np.arange(16384, dtype="float32") / 16384, (rows, 16384)).copy()


def test_what_a_row_stores_is_a_sweep_as_well():
    x = T.fmatrix("x")
    found = launches_of([x], [T.nnet.softmax(x), x.max(1)], drawn(4, 70000))
    assert sum("_part" in name for name, _ in found) >= 3


def test_nan_and_infinities_in_parts():
    x = T.fmatrix("x")
    v = drawn(4, 30000)
    v[0, 29000], v[1, 5], v[2, 16000:16002] = np.nan, np.inf, (np.inf, -np.inf)
    with np.errstate(invalid="ignore"):
        launches_of([x], [x.max(1), x.min(1), x.sum(1)], v)


def test_updates_of_parameters_of_a_norm():
    """New values are written over old ones, which the sweeps read, after all sweeps."""
    shape = (2, 3, 80, 120)
    x = T.tensor("x", dtype="float32", shape=shape)
    starts = [drawn(3, seed=1), drawn(3, seed=2)]
    values, results = drawn(*shape), []
    for linker in ("c", "cuda"):
        g, b = (tg.shared(s) for s in starts)
        loss = (T.nnet.relu(batch_norm(x, g, b)) ** 2).mean()
        updates = [(p, p - np.float32(0.1) * d) for p, d in zip((g, b), tg.grad(loss, [g, b]))]
        with emulation():
            f = tg.function([x], loss, updates=updates, mode=tg.Mode(linker=linker))
            results.append([np.asarray(f(values)) for _ in range(3)] + [g.get_value(), b.get_value()])
    for got, want in zip(results[1], results[0]):
        np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-4)


def test_nests_that_share_an_outer_loop_only_are_kernels_of_their_own():
    a = T.tensor("a", dtype="float32", shape=(2, 4, 33, 6))
    b = T.tensor("b", dtype="float32", shape=(2, 4, 33, 40))
    p = T.nnet.softmax(b)
    d = b * 2
    outs = [T.as_tensor(a.transpose(0, 2, 1, 3) * 2), (d - (d * p).sum(-1, keepdims=True)) * p]
    found = launches_of([a, b], outs, drawn(2, 4, 33, 6), drawn(2, 4, 33, 40))
    assert len(found) == 2 and found[0][1][0] >= 7 and found[1][1][0] >= 16, found  # 1584 elements; 264 rows


def test_attention_and_its_gradient_leave_no_kernel_to_a_few_teams():
    shape = (2, 16, 4, 8)
    q, k, v = (T.tensor(n, dtype="float32", shape=shape) for n in "qkv")
    turned = [x.transpose(0, 2, 1, 3) for x in (q, k, v)]
    weights = T.nnet.softmax(T.matmul(turned[0], turned[1].transpose(0, 1, 3, 2)))
    out = T.matmul(weights, turned[2]).transpose(0, 2, 1, 3).reshape((2, 16, 32))
    outs = [out, *tg.grad((out**2).sum(), [q, k, v])]
    found = launches_of([q, k, v], outs, *[drawn(*shape, seed=s) for s in range(3)])
    assert all(grid[0] > 2 for name, grid in found if name.startswith("kernel") and "18" not in name), found


@pytest.mark.parametrize("shape", [(3, 5, 700), (1500, 2, 9), (2, 70000), (1, 1, 1), (0, 3, 4)])
def test_a_sum_of_everything_that_is_also_stored(shape):
    x, b = T.tensor("x", dtype="float32", shape=(None,) * len(shape)), T.fvector("b")
    y = x + b
    outs = [(y**2).sum() / 3, y * 2]
    launches_of([x, b], outs, drawn(*shape), drawn(shape[-1]), rtol=1e-3, atol=1e-3)


def kernels_of(layers):
    x = h = T.tensor("x", dtype="float32", shape=(8, 16))
    weights = [T.tensor(f"w{i}", dtype="float32", shape=(16, 16)) for i in range(layers)]
    for w in weights:
        h = T.nnet.softmax(T.dot(h, w))
    text = program([x, *weights], [h.sum(), *tg.grad(T.sqr(h).sum(), weights)]).source
    return re.findall(r"__launch_bounds__\(\d+, \d+\) (\w+)\(", text)


def test_kernels_of_equal_layers_are_one():
    three, nine = kernels_of(3), kernels_of(9)
    assert len(three) == len(set(three)) and len(nine) <= len(three) + 1


def test_equal_kernels_are_launched_with_their_own_arrays():
    x = h = T.tensor("x", dtype="float32", shape=(8, 16))
    weights = [T.tensor(f"w{i}", dtype="float32", shape=(16, 16)) for i in range(4)]
    for w in weights:
        h = T.tanh(T.dot(h, w) + w[0]) * w[1]
    found = launches_of([x, *weights], [h], drawn(8, 16), *[drawn(16, 16, seed=i) for i in range(4)])
    names = [name for name, _ in found if name.startswith("kernel")]
    assert len(names) > len(set(names))


def test_nests_apart_choose_again_between_joined_rows():
    """Each kernel chooses by itself where a row comes from: a choice is a scalar of the row that nests share."""
    a, b = T.tensor("a", dtype="float32", shape=(10,)), T.tensor("b", dtype="float32", shape=(23,))
    x, y = (T.tensor(n, dtype="float32", shape=s) for n, s in (("x", (33, 40)), ("y", (33, 6, 8))))
    j = T.join(0, T.tanh(a), b)
    outs = [x * j[:, None], y * j[:, None, None]]
    launches_of([a, b, x, y], outs, drawn(10), drawn(23), drawn(33, 40), drawn(33, 6, 8))


@pytest.mark.parametrize("shape", [(7, 18000), (40, 300)])
def test_extremes_are_found_again_whatever_shares_out_the_sums_below_them(shape):
    """Rows are folded by parts, by blocks and by warps, each in an order of its own: what is compared is added once."""
    x, y = (T.tensor(n, dtype="float32", shape=shape) for n in "xy")
    v = x * (y * x).sum(1, keepdims=True) / (1 + T.sqr(x).sum(1, keepdims=True))
    gradient = tg.grad((v / (1 + abs(v).max())).sum(), x)
    values = drawn(*shape, seed=1), drawn(*shape, seed=2)
    want = tg.function([x, y], gradient, mode=tg.Mode(linker="py"))(*values)
    with emulation():
        got = tg.function([x, y], gradient, mode=tg.Mode(linker="cuda"))(*values)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_a_row_in_registers_that_is_chosen_from_two():
    """A choice is read again by a later loop of the row, as what is loaded is."""
    x, y = (T.tensor(n, dtype="float32", shape=(2, 4, 500)) for n in "xy")
    p = T.nnet.softmax(x, axis=2)
    loss = T.sqr(T.tanh(T.set_subtensor(p[:, 1:], y[:, 1:]))).sum()
    launches_of([x, y], [tg.grad(loss, x)], drawn(2, 4, 500), drawn(2, 4, 500, seed=1))
