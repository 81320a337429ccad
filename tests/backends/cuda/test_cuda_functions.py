"""device=cuda: the same functions, run on the emulated device, with the results of the CPU."""

import copy
import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from backends.cuda.cudacases import inside, no_emulation, ops_of

import termgraph as tg
import termgraph.tensor as T
from emucuda.driver import emulated_device, emulation
from termgraph.backends.cuda.driver.base import DeviceLost, NoDevice, OutOfDeviceMemory
from termgraph.backends.cuda.run import context, dlpack
from termgraph.backends.cuda.run import device as devices
from termgraph.backends.cuda.run.cublas import Cublas
from termgraph.backends.cuda.run.device_array import DeviceArray, as_device_array
from termgraph.function.cuda import CudaFunction
from termgraph.terms.dtypes import numpy_dtype

LINKER = "auto"
emulated = pytest.mark.skipif(bool(no_emulation), reason=no_emulation or "g++")


def logistic(rng):
    x, y = T.fmatrix("x"), T.fvector("y")
    w = tg.shared(np.zeros(5, "float32"), name="w")
    p = T.nnet.sigmoid(T.dot(x, w))
    cost = T.mean(T.nnet.binary_crossentropy(p, y))
    step = tg.function([x, y], [cost, p], updates=[(w, w - 0.5 * tg.grad(cost, w))])
    return w, step, rng.standard_normal((20, 5)).astype("float32"), (rng.random(20) > 0.5).astype("float32")


@emulated
def test_a_flag_decides(rng):
    with tg.config.change_flags(linker="py"):
        w0, step0, xs, ys = logistic(rng)
    with emulation(), tg.config.change_flags(device="cuda"):
        w1, step1, *_ = logistic(rng)
        assert isinstance(step1, CudaFunction) and not isinstance(step0, CudaFunction)
        for _ in range(5):
            for a, b in zip(step0(xs, ys), step1(xs, ys)):
                assert type(b) is np.ndarray
                np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(w0.get_value(), w1.get_value(), rtol=1e-5)


@emulated
def test_copies_stand_at_the_borders_only(gpu, rng):
    _, step, xs, ys = logistic(rng)
    assert ops_of(step) == ["gpu_from_host", "gpu_from_host", "cuda", "host_from_gpu"]
    step(xs, ys)


@emulated
@pytest.mark.filterwarnings("ignore:invalid value")
def test_complex_exponentials_of_infinite_parts_are_those_of_numpy(gpu):
    z = T.TensorType("complex64", (None,))("z")
    inf, nan = np.inf, np.nan
    zs = np.array([complex(re, im) for re in (-inf, -3e38, -200, 0, inf) for im in (-inf, nan, inf, 0, 1)], "complex64")
    f = tg.function([z], T.exp(z))
    assert "cuda" in ops_of(f)
    got, wanted = f(zs), np.exp(zs)
    np.testing.assert_allclose(got, wanted, rtol=1e-6)


@emulated
@pytest.mark.parametrize("dtype, exact", [("complex64", 2e-6), ("complex128", 4e-15)])
def test_complex_numbers_at_the_ends_and_near_one_are_those_of_numpy(gpu, dtype, exact):
    """Moduli near the largest number and among the smallest, logarithms of numbers of modulus near 1, their sides."""
    info = np.finfo(dtype)
    parts = [0, info.smallest_subnormal, info.tiny, 1e-9, 0.6, 0.8, 1, 1 + 1e-5, info.max / 2, info.max, -1, -info.max]
    zs = np.array([complex(re, im) for re in parts for im in parts if re or im], dtype)
    z = T.TensorType(dtype, (None,))("z")
    f = tg.function([z], [abs(z), T.sign(z), T.log(z), T.log1p(z), T.sqrt(z)])
    assert "cuda" in ops_of(f)
    with np.errstate(all="ignore"):
        wanted = [np.abs(zs), np.sign(zs), np.log(zs), np.log1p(zs), np.sqrt(zs)]
    for got, want in zip(f(zs), wanted):
        whole = np.isfinite(want)
        with np.errstate(all="ignore"):
            size = np.maximum(np.abs(want[whole]), info.tiny)
        assert np.array_equal(np.isfinite(got), whole)
        off = np.abs(got[whole] / 4 - want[whole] / 4) > exact * size / 4 + info.smallest_subnormal
        assert not off.any(), (zs[whole][off][:3], got[whole][off][:3], want[whole][off][:3])


@emulated
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_moved_floats_of_16_bits_keep_what_nan_holds(gpu, dtype):
    x = T.vector("x", dtype=dtype)
    given = np.arange(2**16, dtype="uint16").view(numpy_dtype(dtype))
    f = tg.function([x], [T.concatenate([x[::-1], x]), T.roll(-x, 3), T.abs(x)])
    joined, rolled, sizes = (np.asarray(r).view("uint16") for r in f(given))
    bits = given.view("uint16")
    np.testing.assert_array_equal(joined, np.concatenate([bits[::-1], bits]))
    np.testing.assert_array_equal(rolled, np.roll(bits ^ 0x8000, 3))
    np.testing.assert_array_equal(sizes, bits & 0x7FFF)


@emulated
def test_what_has_no_kernel_runs_on_the_cpu(gpu, rng):
    x = T.fmatrix("x")
    f = tg.function([x], [T.exp(T.unique(T.tanh(x))).sum(), T.arccos(T.cast(x, "complex64"))])
    xs = rng.standard_normal((4, 5)).astype("float32")
    got, turned = f(xs)
    np.testing.assert_allclose(got, np.exp(np.tanh(xs)).sum(), rtol=1e-5)
    np.testing.assert_allclose(turned, np.arccos(xs.astype("complex64")), rtol=1e-5)
    assert turned.dtype == "complex64" and got.dtype == "float32"
    names = ops_of(f)
    assert names.index("gpu_from_host") < names.index("cuda") < names.index("host_from_gpu") < names.index("unique")
    assert "unique: there is no kernel for unique" in f.on_cpu()
    assert f.source("cuda").startswith("// on the CPU: ")


@emulated
def test_shared_variables_live_on_the_device(gpu):
    w = tg.shared(np.arange(3.0), name="w")
    f = tg.function([], w.sum(), updates=[(w, w * 2)])
    assert f() == 3 and f() == 6
    held = w.container.storage[0]
    assert isinstance(held, DeviceArray) and isinstance(w.get_value(return_internal_type=True), DeviceArray)
    np.testing.assert_array_equal(w.get_value(), [0, 4, 8])
    assert type(w.get_value(borrow=True)) is np.ndarray
    w.set_value(np.ones(7))  # of another length
    assert f() == 7
    with pytest.raises(TypeError):
        w.set_value("three")
    assert f() == 14


@emulated
@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (3, 0), (1, 2)], ids=str)
def test_updates_of_every_shape_replace_the_old_value(gpu, shape):
    """Whether there is an old value was asked of its length: arrays of no elements had none."""
    w = tg.shared(np.full(shape, 2.0, "float32"), name="w")
    f = tg.function([], [], updates=[(w, T.maximum(w * 2, 1e-3))])
    for value in (4, 8, 16):
        f()
        np.testing.assert_array_equal(w.get_value(), np.full(shape, value, "float32"))


@emulated
def test_one_variable_for_functions_on_both_sides(gpu):
    w = tg.shared(np.arange(3.0))
    there = tg.function([], w * 1, updates=[(w, w + 1)])
    with tg.config.change_flags(device="cpu"):
        here = tg.function([], w * 1, updates=[(w, w * 10)])
        plain = tg.function([], w * 1, mode=tg.Mode(linker="py"))
    np.testing.assert_array_equal(there(), [0, 1, 2])
    np.testing.assert_array_equal(plain(), [1, 2, 3])
    np.testing.assert_array_equal(here(), [1, 2, 3])
    np.testing.assert_array_equal(there(), [10, 20, 30])
    np.testing.assert_array_equal(here(), [11, 21, 31])
    np.testing.assert_array_equal(w.get_value(), [110, 210, 310])


@emulated
def test_copies_and_pickles(gpu):
    w = tg.shared(np.arange(3.0), name="w")
    f = tg.function([], w.sum(), updates=[(w, w + 1)])
    assert f() == 3
    other = copy.deepcopy(f)
    again = pickle.loads(pickle.dumps(f))
    assert f() == 6 and other() == 6 and again() == 6 and f() == 9
    assert isinstance(again, CudaFunction)
    assert f.copy(delete_updates=True)() == 12


@emulated
def test_only_the_chosen_branch_runs(gpu):
    x, c = T.fvector("x"), T.iscalar("c")
    f = tg.function([x, c], tg.ifelse(T.gt(c, 0), T.exp(x).sum(), T.log(x).sum()))
    xs = np.ones(4, "float32")
    assert f(xs, 1) == pytest.approx(4 * np.e) and f(xs, 0) == 0
    launches = gpu.driver.launches
    f(xs, 0)
    one = gpu.driver.launches - launches
    assert one <= 4


@emulated
def test_random_numbers_are_those_of_the_cpu(gpu):
    def draw():
        stream = T.random.RandomStream(seed=7)
        return tg.function([], [stream.normal(size=(5, 7)), stream.uniform(size=(11,))])

    there = draw()
    with tg.config.change_flags(device="cpu", linker="py"):
        here = draw()
    for _ in range(3):
        for a, b in zip(there(), here()):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@emulated
def test_errors_name_the_users_line(gpu):
    x, i = T.fvector("x"), T.lvector("i")
    f = tg.function([x, i], x[i] * 2)
    with pytest.raises(IndexError, match=r"(?s)test_cuda_functions.py.*x\[i\] \* 2.*9 is out of bounds"):
        f(np.ones(3, "float32"), [1, 9])
    y = T.fvector("y")
    with pytest.raises(ValueError, match=r"(?s)test_cuda_functions.py.*3.*4"):
        tg.function([x, y], x + y)(np.ones(3, "float32"), np.ones(4, "float32"))


@inside
@emulated
def test_a_full_device_says_what_fills_it():
    with emulation(emulated_device(limit=1_300_000)), tg.config.change_flags(device="cuda"):
        w = tg.shared(np.zeros(100_000, "float32"), name="weights")
        f = tg.function([], w.sum(), updates=[(w, T.join(0, w, w))])
        f()
        with pytest.raises(OutOfDeviceMemory, match=r"(?s)1\.5 MiB.*are free.*the largest parts of it:.*0\.8 MiB"):
            f()
        assert w.get_value().shape == (200_000,)  # nothing was lost


@inside
@emulated
def test_a_lost_device_leaves_the_host_alone(gpu):
    w = tg.shared(np.ones(3))
    f = tg.function([], w.sum(), updates=[(w, w * 2)])
    f()
    kept = w.get_value()
    gpu.driver.lost = "somebody pulled the plug"
    with pytest.raises(DeviceLost, match="pulled the plug"):
        f()
    np.testing.assert_array_equal(kept, [2, 2, 2])


def test_without_a_device_one_sentence(monkeypatch):
    def nothing(name, number=0):
        raise NoDevice("there is no NVIDIA driver on this machine")

    monkeypatch.setattr(devices, "_open", nothing)
    monkeypatch.setattr(context, "_devices", {})
    x = T.fvector("x")
    with tg.config.change_flags(device="cuda"):
        with pytest.raises(RuntimeError, match="device=cuda was chosen, but there is no NVIDIA driver on this machine"):
            tg.function([x], x * 2)
        tg.function([x], x * 2, mode=tg.Mode(linker="py"))  # whoever asks for another linker gets it
    with pytest.raises(RuntimeError, match="linker='cuda' was chosen, but"):
        tg.function([x], x * 2, mode=tg.Mode(linker="cuda"))


@emulated
def test_arrays_of_other_libraries_are_taken_without_a_copy(gpu):
    x = T.fvector("x")
    f = tg.function([x], x * 2)
    mine = DeviceArray.of(np.arange(4, dtype="float32"))

    class Foreign:
        __cuda_array_interface__ = mine.__cuda_array_interface__

    seen = as_device_array(Foreign())
    assert seen.address == mine.address
    np.testing.assert_array_equal(f(Foreign()), [0, 2, 4, 6])
    np.testing.assert_array_equal(f(mine), [0, 2, 4, 6])
    Foreign.__cuda_array_interface__ = {**mine.__cuda_array_interface__, "shape": (2,), "strides": (8,)}
    np.testing.assert_array_equal(f(Foreign()), [0, 4])
    Foreign.__cuda_array_interface__ = {**mine.__cuda_array_interface__, "shape": (2,), "strides": (6,)}
    with pytest.raises(ValueError, match="do not lie side by side"):
        f(Foreign())


@emulated
def test_dlpack(gpu):
    mine = DeviceArray.of(np.arange(6, dtype="float32").reshape(2, 3))
    assert mine.__dlpack_device__() == (2, 0)
    capsule = mine.__dlpack__()
    assert "dltensor" in repr(capsule)
    del capsule  # nobody took it: its description goes with it
    assert not dlpack._held

    class Foreign:
        def __dlpack_device__(self):
            return mine.__dlpack_device__()

        def __dlpack__(self, stream=None):
            return mine.__dlpack__(stream=stream)

    seen = as_device_array(Foreign())
    assert (seen.address, seen.shape, seen.dtype) == (mine.address, (2, 3), np.float32) and dlpack._held
    x = T.fmatrix("x")
    np.testing.assert_array_equal(tg.function([x], x * 2)(Foreign()), np.asarray(mine) * 2)
    del seen
    assert not dlpack._held


@emulated
def test_bfloat16_on_the_device_and_between_libraries(gpu):
    """DLPack has a code of its own for it; `__cuda_array_interface__` calls it <V2, as ml_dtypes does."""
    values = np.arange(6, dtype="float32").reshape(2, 3).astype(numpy_dtype("bfloat16"))
    mine = DeviceArray.of(values)

    class Interface:
        __cuda_array_interface__ = mine.__cuda_array_interface__

    class Capsule:
        def __dlpack_device__(self):
            return (2, 0)

        def __dlpack__(self, stream=None):
            return mine.__dlpack__(stream=stream)

    x = T.matrix("x", dtype="bfloat16")
    w = tg.shared(values[0], name="w")
    f = tg.function([x], T.dot(x, w) + 1, updates=[(w, w * 0.5)])
    wanted = values.astype("float32") @ [0, 1, 2] + 1
    for n, given in enumerate((values, mine, Interface(), Capsule())):
        assert as_device_array(given).dtype == values.dtype
        got = f(given)
        assert got.dtype == values.dtype
        np.testing.assert_array_equal(got.astype("float32"), (wanted - 1) * 0.5**n + 1)
    assert isinstance(w.container.storage[0], DeviceArray) and w.get_value().dtype == values.dtype
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(f))(values), f(values))


def test_cublas_multiplies_bfloat16_from_compute_capability_8_on():
    blas = object.__new__(Cublas)
    for arch, known in (("sm_75", False), ("sm_80", True), ("sm_120", True)):
        blas.device = SimpleNamespace(driver=SimpleNamespace(arch=arch))
        assert blas.knows("bfloat16") is known and blas.knows("float16")


@inside
@emulated
def test_memory_is_reused(gpu, rng):
    _, step, xs, ys = logistic(rng)
    for _ in range(3):
        step(xs, ys)
    held = gpu.driver.held
    for _ in range(5):
        step(xs, ys)
    assert gpu.driver.held == held


def lstm(rng, linker):
    """A training step of an LSTM: a loop, its gradient, an update."""
    n = 3
    w = tg.shared(rng.standard_normal((2 * n, 4 * n)).astype("float32") * 0.3, name="W")
    x, y = T.tensor3("x", dtype="float32"), T.fmatrix("y")

    def step(x, h, c, w):
        z = T.dot(T.concatenate([x, h], 1), w)
        i, f, g, o = (z[:, k * n : (k + 1) * n] for k in range(4))
        new = T.nnet.sigmoid(f) * c + T.nnet.sigmoid(i) * T.tanh(g)
        return T.nnet.sigmoid(o) * T.tanh(new), new

    zero = T.zeros((x.shape[1], n), dtype="float32")
    (hs, _), _ = tg.scan(step, sequences=[x], outputs_info=[zero, zero], non_sequences=[w])
    cost = T.mean((hs[-1] - y) ** 2)
    return w, tg.function([x, y], [cost, hs], updates=[(w, w - 0.5 * tg.grad(cost, w))], mode=tg.Mode(linker=linker))


@inside
@emulated
def test_an_lstm_learns_on_the_device(rng):
    w0, step0 = lstm(np.random.default_rng(1), "py")
    with emulation() as device:
        w1, step1 = lstm(np.random.default_rng(1), "cuda")
        assert step1.on_cpu() == [] and ops_of(step1).count("cuda") == 1
        for length in (5, 5, 5, 5, 2):
            xs, ys = rng.standard_normal((length, 4, 3)).astype("float32"), rng.random((4, 3)).astype("float32")
            for a, b in zip(step0(xs, ys), step1(xs, ys)):
                np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(w0.get_value(), w1.get_value(), rtol=1e-4, atol=1e-5)
        assert device.driver.launches < 400


@emulated
@pytest.mark.parametrize("steps", [0, 1, 6])
def test_loops(gpu, rng, steps):
    """Carries of several ages, results stacked twice, backwards, running sums."""
    x = T.dvector("x")
    fib, _ = tg.scan(lambda a, b: a + b * 0.5, outputs_info=[{"initial": x[:2], "taps": [-2, -1]}], n_steps=steps)
    total, _ = tg.scan(lambda v, s: s + v, sequences=[x], outputs_info=[T.constant(0.0)], go_backwards=True)
    rows, _ = tg.map(lambda v: v * x, [x[:steps]])
    outputs = [fib, total, total[-1], rows]
    f, g = tg.function([x], outputs), tg.function([x], outputs, mode=tg.Mode(linker="py"))
    xs = rng.standard_normal(7)
    for a, b in zip(f(xs), g(xs)):
        np.testing.assert_allclose(a, b, rtol=1e-12)


@emulated
def test_sorting_and_running_sums_of_one_side_of_a_choice(gpu, rng):
    """In a loop, where the device says which side it is."""
    x = T.fmatrix("x")

    def step(v, s):
        return tg.ifelse(T.gt(s.sum(), 0), T.cumsum(v) + s, T.sort(v) - s * 0.5)

    out, _ = tg.scan(step, sequences=[x], outputs_info=[T.zeros((50,), dtype="float32")])
    f, g = tg.function([x], out), tg.function([x], out, mode=tg.Mode(linker="py"))
    xs = rng.standard_normal((6, 50)).astype("float32")
    assert f.on_cpu() == []
    np.testing.assert_allclose(f(xs), g(xs), rtol=1e-4, atol=1e-4)


@emulated
def test_a_failed_check_names_the_users_line_and_changes_nothing(gpu):
    x, n = T.dvector("x"), T.lscalar("n")
    w, v = tg.shared(np.ones(3), "w"), tg.shared(np.zeros(3), "v")
    checked = tg.Assert("{w} must stay below 5")(w + x, w + x < 5)
    f = tg.function([x], [(w * 2).sum()], updates=[(w, checked), (v, v + w)])
    f([1.0, 1.0, 1.0])
    with pytest.raises(AssertionError, match=r"(?s)test_cuda_functions.py.*check failed: \{w\} must stay below 5"):
        f([0.0, 0.0, 9.0])
    assert w.get_value().tolist() == [2, 2, 2] and v.get_value().tolist() == [1, 1, 1]
    rows = tg.scan(lambda k, u: tg.Assert("row")(u, u < 5) * 2, sequences=[T.arange(n)], outputs_info=[x])[0]
    g = tg.function([x, n], rows)
    assert g([1.0, 0.5], 3).tolist() == [[2, 1], [4, 2], [8, 4]]
    with pytest.raises(AssertionError, match="(?s)row.*in step 3 of a loop"):
        g([1.0, 0.5], 4)
    y = T.dvector("y")
    h = tg.function([x, y], tg.Assert("one {length}")(x, T.eq(x.shape[0], y.shape[0])) + y)
    with pytest.raises(AssertionError, match=r"check failed: one \{length\}"):
        h([1.0, 2.0], [1.0])


@emulated
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["dawsn", "spence", "expi", "exp1", "sinint", "cosint", "owens_t", "beta", "poch"])
def test_integrals_and_quotients_of_gamma_are_those_of_the_cpu(gpu, name, dtype):
    arity = getattr(T, name).arity
    operands = [T.vector(letter, dtype=dtype) for letter in "xy"[:arity]]
    values = np.array([*np.linspace(-11, 11, 201), 0, -0.0, np.inf, -np.inf, np.nan, 1e-30, 1e30], dtype)
    given = [values, np.resize([0.25, 1.5, -2.25, 4, 7.5, -0.125], values.shape).astype(dtype)][:arity]
    f = tg.function(operands, getattr(T, name)(*operands))
    assert "cuda" in ops_of(f)
    with np.errstate(all="ignore"):
        wanted = getattr(T, name)(*operands).owner.op.meaning(*given)
    rtol = (1e-13 if arity == 1 else 2e-12) if dtype == "float64" else 3e-7
    told = ~np.isnan(wanted) | np.isnan(values)  # SciPy's gamma functions may be beyond all numbers
    np.testing.assert_allclose(f(*given)[told], wanted[told], rtol=rtol)
