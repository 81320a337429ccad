"""Arrays on the device that are not C-contiguous: kernels read them where they are."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from backends.cuda.cudacases import cases, no_emulation, program
from helpers import wide_of_half
from lower.randomgraphs import Graphs, agree

import termgraph as tg
import termgraph.tensor as T
from emucuda.driver import emulation
from termgraph.backends.cuda.generate import generate
from termgraph.backends.cuda.run import device_array
from termgraph.backends.cuda.run.device_array import DeviceArray, as_device_array
from termgraph.backends.cuda.run.executor import Executable
from termgraph.terms.dtypes import HALVES
from termgraph.terms.evaluate import evaluate

LINKER = "auto"
pytestmark = pytest.mark.skipif(bool(no_emulation), reason=no_emulation or "g++")
CASES = cases()


def scattered(value, turn):
    """The same values on the device, with other strides: transposed, backwards, every second, spread."""
    value = np.asarray(value)
    if turn == 0:
        return DeviceArray.of(np.ascontiguousarray(value.T)).T
    backwards = (slice(None, None, -1),) * value.ndim
    if turn == 1:
        return DeviceArray.of(np.ascontiguousarray(value[backwards]))[backwards]
    room = np.full([2 * n + 1 for n in value.shape], 77).astype(value.dtype)
    part = (slice(1, None, 2),) * value.ndim
    room[part] = value
    return DeviceArray.of(room)[part]


KEYS = [
    np.s_[1], np.s_[::2], np.s_[::-1], np.s_[1:, ::-2], np.s_[..., 0], np.s_[None, -1, ..., None], np.s_[2:2],
    np.s_[:, 1, 3:0:-1],
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_views_are_those_of_numpy(gpu, key):
    host = np.arange(60.0).reshape(3, 4, 5)
    there = DeviceArray.of(host)
    for a, b in ((there, host), (there.T, host.T)):
        view = a[key]
        np.testing.assert_array_equal(view, b[key])
        assert view.size == 0 or there.address <= view.address < there.address + there.nbytes
        np.testing.assert_array_equal(view.copy(), b[key])
    assert there.T.T.strides is None and there.contiguous() is there
    for wrong, kind in ((9, IndexError), ((0, 0, 0, 0), IndexError), ([0, 1], TypeError), ((..., ...), IndexError)):
        with pytest.raises(kind):
            there[wrong]


@pytest.mark.parametrize("name", [n for n in CASES if n not in ("empty", "pooling of no rows")])
def test_cases_on_views(name):
    inputs, outputs, values = CASES[name]
    want = tg.function(inputs, outputs, mode=tg.Mode(linker="py"))(*values)
    with emulation() as device:
        run = Executable(program(inputs, outputs), device)
        for turn in range(3):
            for got, expected in zip(run(*[scattered(v, turn) for v in values]), want):
                tol = 2e-2 if expected.dtype.name in HALVES else 2e-5
                np.testing.assert_allclose(wide_of_half(got), wide_of_half(expected), rtol=tol, atol=tol)
        assert not run.modules  # the program for packed arrays is not needed


@pytest.mark.parametrize("seed", range(8))
def test_random_graphs_on_views(seed):
    g = Graphs(seed).grow(3 + seed)
    outs = g.outputs()
    with np.errstate(all="ignore"):
        want = evaluate(outs, dict(zip(g.args, g.values)))
    with emulation() as device:
        views = [scattered(v, (seed + i) % 3) for i, v in enumerate(g.values)]
        got = [np.asarray(a) for a in Executable(generate(g.args, outs), device)(*views)]
    agree(got, want, g, outs, seed)


def test_functions_take_views(gpu, rng):
    x, w = T.fmatrix("x"), tg.shared(np.ones((4, 3), "float32"), name="w")
    f = tg.function([x], [T.dot(x, w), tg.Out(T.exp(x), target="cuda")], updates=[(w, w - T.dot(x.T, x).sum())])
    xs = rng.standard_normal((4, 5)).astype("float32")
    there = DeviceArray.of(xs)
    f(xs.T.copy())
    w.set_value(np.ones((4, 3), "float32"))
    before = gpu.allocations
    product, powers = f(there.T)
    np.testing.assert_allclose(product, xs.T @ np.ones((4, 3)), rtol=1e-5)
    np.testing.assert_allclose(powers, np.exp(xs.T), rtol=1e-5)
    for _ in range(3):
        f(there.T)
    assert gpu.allocations < before + 8


def test_views_go_out_and_come_in(gpu):
    there = DeviceArray.of(np.arange(12.0).reshape(3, 4)).T[::2]
    assert there.__cuda_array_interface__["strides"] == (16, 32)

    class Foreign:
        def __dlpack_device__(self):
            return there.__dlpack_device__()

        def __dlpack__(self, stream=None):
            return there.__dlpack__(stream=stream)

    seen = as_device_array(Foreign())
    assert (seen.address, seen.strides) == (there.address, (2, 4))
    np.testing.assert_array_equal(seen, np.arange(12.0).reshape(3, 4).T[::2])


def test_loops_over_views(gpu):
    x = T.dmatrix("x")
    out, _ = tg.scan(lambda r, s: (s + r, tg.until(s.sum() > 100)), sequences=[x], outputs_info=[T.zeros(3)])
    total, _ = tg.scan(lambda r, s: s + r, sequences=[x], outputs_info=[T.zeros(3)])
    f, g = tg.function([x], [out, total]), tg.function([x], [out, total], mode=tg.Mode(linker="py"))
    xs = np.arange(30.0).reshape(3, 10)
    for a, b in zip(f(DeviceArray.of(xs).T), g(xs.T)):
        np.testing.assert_array_equal(a, b)


def test_results_that_are_held_are_not_taken_again_however_python_counts(gpu, monkeypatch):
    """From Python 3.14 on an argument that is a local variable counts no reference."""
    counted = sys.getrefcount

    def fewer(v):
        return counted(v) - 3

    for v in [np.empty(0)]:
        monkeypatch.setattr(device_array, "HELD", fewer(v), raising=False)
    monkeypatch.setattr(device_array, "sys", SimpleNamespace(getrefcount=fewer, is_finalizing=sys.is_finalizing))
    x = T.dvector("x")
    f = tg.function([x], tg.Out(x * 2, target="cuda"))
    held = [f(np.full(3, k)) for k in (1.0, 2.0, 3.0)]
    assert [np.asarray(r)[0] for r in held] == [2, 4, 6]
    held.clear()
    assert len({f(np.full(3, k)).address for k in (1.0, 2.0, 3.0)}) == 1  # what nobody holds is taken


def test_products_by_matrices_that_are_repeated(gpu, rng):
    """Whose layers are not evenly far from each other."""
    a, b = rng.normal(size=(2, 4, 3, 3)), rng.normal(size=(2, 3, 2, 3))
    x, y = T.dtensor4("x"), T.tensor("y", dtype="float64", shape=(None, None, 2, None))
    heads = T.swapaxes(T.repeat(y, 2, axis=2), 1, 2)
    want = np.repeat(b, 2, axis=2).swapaxes(1, 2)
    f = tg.function([x, y], [T.matmul(x, heads), T.matmul(heads[:, ::-1], x)])
    for got, expected in zip(f(a, b), [a @ want, want[:, ::-1] @ a], strict=True):
        np.testing.assert_allclose(got, expected)
