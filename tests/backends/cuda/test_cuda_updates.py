"""Shared variables and results on the device: written in place, all or nothing, and nobody waits who need not."""

import signal

import numpy as np
import pytest
from backends.cuda.cudacases import inside, no_emulation

import termgraph as tg
import termgraph.tensor as T
from emucuda.driver import emulated_device, emulation
from gpucheck import models
from termgraph.backends.cuda.driver.base import OutOfDeviceMemory
from termgraph.backends.cuda.run.device_array import DeviceArray

LINKER = "auto"
pytestmark = pytest.mark.skipif(bool(no_emulation), reason=no_emulation or "g++")


def address(w):
    return w.container.storage[0].address


def test_updates_are_written_where_the_old_values_are(gpu, rng):
    """A step of training: a product, a sum, a counter, and what needs two kernels."""
    x = T.fmatrix("x")
    w = tg.shared(rng.standard_normal((5, 3)).astype("float32"), name="w")
    b, n = tg.shared(np.zeros(3, "float32"), name="b"), tg.shared(0, name="n")
    unit = tg.shared(np.ones(3, "float32"), name="unit")
    h = T.tanh(T.dot(x, w) + b)
    gw, gb = tg.grad((h * h).sum(), [w, b])
    long = unit + h.mean(0)
    changes = [(w, w - gw * 0.1), (b, b - gb * 0.1), (n, n + 1), (unit, long / T.sqrt((long * long).sum()))]
    before = [v.get_value() for v in (w, b, n, unit)]
    f = tg.function([x], h.sum(), updates=changes)
    xs = rng.standard_normal((7, 5)).astype("float32")
    got = [f(xs)]
    places = [address(v) for v in (w, b, n, unit)]
    got += [f(xs) for _ in range(3)]
    assert places == [address(v) for v in (w, b, n, unit)]
    after = [v.get_value() for v in (w, b, n, unit)]
    for v, value in zip((w, b, n, unit), before):
        v.set_value(value)
    with tg.config.change_flags(device="cpu"):
        g = tg.function([x], h.sum(), updates=changes, mode=tg.Mode(linker="py"))
    np.testing.assert_allclose(got, [g(xs) for _ in range(4)], rtol=1e-4)
    for v, value in zip((w, b, n, unit), after):
        np.testing.assert_allclose(value, v.get_value(), rtol=1e-4, atol=1e-5)


def test_results_that_one_kernel_computes_with_the_new_values(gpu):
    x = T.fvector("x")
    w = tg.shared(np.ones(3, "float32"), name="w")
    f = tg.function([x], [w * x, w + x], updates=[(w, w + x * 2)])
    xs = np.arange(3, dtype="float32")
    for k in range(3):
        now = w.get_value()
        places = [address(w)] if k else []
        a, b = f(xs)
        np.testing.assert_array_equal(a, now * xs)
        np.testing.assert_array_equal(b, now + xs)
        np.testing.assert_array_equal(w.get_value(), now + xs * 2)
        assert places in ([], [address(w)])


def test_what_somebody_else_holds_is_not_overwritten(gpu):
    w = tg.shared(np.arange(4.0), name="w")
    f = tg.function([], updates=[(w, w * 2)])
    f()
    kept = w.get_value(borrow=True, return_internal_type=True)
    capsule = kept.__dlpack__()
    f()
    np.testing.assert_array_equal(kept, [0, 2, 4, 6])
    np.testing.assert_array_equal(w.get_value(), [0, 4, 8, 12])
    del kept
    f()
    here = address(w)
    f()
    assert address(w) == here
    del capsule


def test_values_change_places(gpu):
    """All new values are computed from the old ones."""
    a, b, c = (tg.shared(np.full(3, k), name="abc"[k]) for k in range(3))
    f = tg.function([], [a + b], updates=[(a, b), (b, a), (c, a + b + c)])
    g = tg.function([], updates=[(a, a + b), (b, a - b)])
    f()
    f()
    f()
    assert [v.get_value()[0] for v in (a, b, c)] == [1, 0, 5]
    assert a.container.storage[0] is not b.container.storage[0]
    g()
    assert [v.get_value()[0] for v in (a, b)] == [1, 1]


def test_a_new_value_may_have_another_shape(gpu):
    w = tg.shared(np.arange(2.0), name="w")
    f = tg.function([], w.sum(), updates=[(w, T.join(0, w, w))])
    g = tg.function([], updates=[(w, w + 1)])
    f()
    g()
    assert w.get_value().tolist() == [1, 2, 1, 2]


@pytest.mark.parametrize("error", ["index", "python", "shape", pytest.param("room", marks=inside)])
def test_an_error_leaves_all_variables_as_they_were(gpu, error):
    """Whether it is found by the device, by an operation on the CPU, at the end, or when there is no room."""
    w, v = tg.shared(np.arange(4.0), name="w"), tg.shared(np.ones(4), name="v")
    s = tg.shared(np.ones(4), name="s", shape=(4,))
    i, n = T.lvector("i"), T.lscalar("n")
    fails = {"index": w[i].sum(), "python": T.linalg.cholesky(T.outer(w, w) * -1).sum()}.get(error, i.sum())
    changes = [(w, w * 2), (v, v + w)] + ([(s, T.alloc(1.0, n))] if error == "shape" else [])
    f = tg.function([i, n], fails, updates=changes, on_unused_input="ignore")
    plain = tg.function([], updates=[(w, w * 1), (v, v * 1)])
    plain()
    places = [address(w), address(v)]
    kept = [w.get_value(borrow=True, return_internal_type=True)] if error == "room" else []
    if error == "room":
        gpu.driver.limit = gpu.driver.held
    kinds = {"index": IndexError, "python": np.linalg.LinAlgError, "shape": TypeError, "room": OutOfDeviceMemory}
    with pytest.raises(kinds[error]):
        f([7], 3)
    del kept
    if error == "room":
        gpu.driver.limit = 2**30
    assert places == [address(w), address(v)]
    np.testing.assert_array_equal(w.get_value(), np.arange(4.0))
    np.testing.assert_array_equal(v.get_value(), np.ones(4))


def test_an_interrupt_waits_until_all_values_are_written(gpu, monkeypatch):
    w, v = tg.shared(np.zeros(3), name="w"), tg.shared(np.zeros((2, 3)), name="v")
    f = tg.function([], updates=[(w, w + 1), (v, v + 1)])
    f()
    launch = type(gpu.driver).launch

    def interrupted(*args):
        signal.raise_signal(signal.SIGINT)
        launch(*args)

    monkeypatch.setattr(type(gpu.driver), "launch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        f()
    assert w.get_value().tolist() == [2, 2, 2] and v.get_value().ravel().tolist() == [2] * 6


def test_results_stay_on_the_device(gpu):
    x = T.fmatrix("x")
    f = tg.function([x], [tg.Out(x * 2, target="cuda"), x.sum()])
    g = tg.function([x], tg.Out(T.exp(x), target="cuda"))
    xs = np.ones((2, 3), "float32")
    there, here = f(xs)
    assert isinstance(there, DeviceArray) and type(here) is np.ndarray
    again = g(there)
    np.testing.assert_allclose(again, np.exp(xs * 2), rtol=1e-6)
    other, _ = f(xs * 5)
    assert other.address != there.address
    np.testing.assert_array_equal(there, xs * 2)
    one = tg.function([x], [tg.Out(x, target="cuda"), tg.Out(x, target="cuda")])(there)
    assert len({a.address for a in (*one, there)}) == 3  # results share memory with nothing
    with pytest.raises(ValueError, match="target"):
        tg.Out(x, target="gpu7")
    z = T.zmatrix("z")
    turned = tg.function([z], tg.Out(z * 2j, target="cuda"))(xs)
    assert isinstance(turned, DeviceArray)
    np.testing.assert_array_equal(turned, xs * 2j)
    with tg.config.change_flags(device="cpu"):
        assert type(tg.function([x], tg.Out(x * 2, target="cuda"))(xs)) is np.ndarray


@inside
@pytest.mark.parametrize("there", [True, False])
def test_a_step_of_training_never_lets_the_device_run_dry(gpu, there):
    """Labels are indices, so a call waits for those; gradients and new values are in the queue meanwhile."""
    params, f, values = models.mlp("cuda", "float32", there=there)
    x, labels = [DeviceArray.of(v) for v in values]
    costs = []
    for _ in range(4):
        gpu.driver.waits.clear()
        costs.append(f(x, labels)[0])
        assert len(gpu.driver.waits) == (1 if there else 2) and min(gpu.driver.waits) > 0
    kept = [float(np.asarray(c)) for c in costs]
    assert kept == sorted(kept, reverse=True) and len(set(kept)) == 4  # each result has memory of its own
    before = [p.get_value() for p in params]
    with pytest.raises(IndexError):
        f(x, DeviceArray.of(values[1] + 99))
    for old, p in zip(before, params):
        np.testing.assert_array_equal(p.get_value(), old)
    assert float(np.asarray(f(x, labels)[0])) < kept[-1]


def test_results_on_their_way_to_the_host(gpu):
    """Small ones are copied in their turn and are waited for at the end, large ones at once; all are what they were."""
    x, n = T.fvector("x"), tg.shared(np.zeros((), "float32"))
    small, large = [n + 0, x[:0], x > 1, n * x], T.outer(x, x) + n
    f, g = (tg.function([x], outs, updates=[(n, n + 1)]) for outs in (small, [*small, large]))
    for length in (3, 200, 300):
        xs = np.arange(length, dtype="float32")
        found = [h(xs) for h in (f, g) for _ in range(3)]
        for k, (now, none, above, times, *rest) in enumerate(found):
            np.testing.assert_array_equal(now, found[0][0] + k)
            assert none.shape == (0,) and above.dtype == bool and all(r.base is None for r in (now, above, times))
            np.testing.assert_array_equal(above, xs > 1)
            np.testing.assert_array_equal(times, xs * now)
            for r in rest:
                np.testing.assert_array_equal(r, np.outer(xs, xs) + now)


@inside
def test_a_call_returns_before_the_device_is_done(gpu):
    x = T.fvector("x")
    w = tg.shared(np.zeros(3, "float32"), name="w")
    f = tg.function([x], tg.Out(T.exp(x.sum()), target="cuda"), updates=[(w, w + x)])
    mine = DeviceArray.of(np.ones(3, "float32"))

    class Torch:
        """As PyTorch: it works in the default stream, and says nothing about it."""

        keep = mine

        @property
        def __cuda_array_interface__(self):
            return {"shape": (3,), "typestr": "<f4", "data": (mine.address, False), "version": 2}

    for argument in (mine, Torch()):
        f(argument)
        gpu.driver.synchronize()
        result = f(argument)
        assert len(gpu.driver.queue) >= 2
        np.testing.assert_allclose(result, np.exp(3), rtol=1e-6)
    assert set(gpu.driver.followers) == {1}  # what the other library does next waits for us
    np.testing.assert_array_equal(w.get_value(), [4, 4, 4])


def test_a_function_is_one_recorded_graph(gpu):
    """Twenty operations, arguments from the host: from the third call on nothing is launched one by one."""
    x, y = T.fmatrix("x"), T.fvector("y")
    z = x
    for k in range(5):
        z = T.tanh(z + y) * (k + 1) / (1 + T.exp(z).sum(1, keepdims=True))
    f = tg.function([x, y], z)
    g = tg.function([x, y], z, mode=tg.Mode(linker="py"))
    for k in range(5):
        xs, ys = np.full((3, 4), k, "float32"), np.ones(4, "float32")
        launches, replays = gpu.driver.launches, gpu.driver.replays
        np.testing.assert_allclose(f(xs, ys), g(xs, ys), rtol=1e-5)
        if k > 2:
            assert gpu.driver.launches == launches and gpu.driver.replays == replays + 1


def test_memory_that_is_kept_for_the_next_call_is_given_up_when_there_is_no_other():
    x = T.fvector("x")
    with emulation(emulated_device(limit=2_000_000)), tg.config.change_flags(device="cuda"):
        f, g = tg.function([x], x * 2), tg.function([x], T.exp(x) + 1)
        f(np.ones(200_000, "float32"))  # its argument and its result stay
        np.testing.assert_allclose(g(np.ones(200_000, "float32"))[:2], np.exp(1) + 1, rtol=1e-6)
        np.testing.assert_array_equal(f(np.ones(210_000, "float32"))[:2], 2)


def test_results_that_are_held_until_the_next_call_are_replayed(gpu):
    """As `y = f(y)` in a loop does it: two places take turns, and nothing is allocated or launched by itself."""
    x = T.fvector("x")
    f = tg.function([x], tg.Out(x + 1, target="cuda"))
    result = f(np.zeros(3, "float32"))
    for k in range(12):
        launches, allocations = gpu.driver.launches, gpu.allocations
        result = f(result)
        if k > 5:
            assert (gpu.driver.launches, gpu.allocations) == (launches, allocations)
    np.testing.assert_array_equal(result, 13)
    all_of_them = [f(result) for _ in range(5)]
    assert len({a.address for a in all_of_them}) == 5 and all((np.asarray(a) == 14).all() for a in all_of_them)


def test_large_results_are_kept_once(gpu):
    x = T.fvector("x")
    f = tg.function([x], tg.Out(x + 1, target="cuda"))
    held = f(np.zeros(300_000, "float32"))
    for _ in range(4):
        held = f(held)
    kept = sum(size for size, what in gpu.live.values() if "result" in str(what))
    assert kept < 2 * 4 * 300_000  # the caller has the only one
