"""Convolutions and their gradients on the emulated GPU: the numbers of the NumPy meaning, and no matrix of windows."""

import ctypes

import numpy as np
import pytest
from backends.cuda.cudacases import no_emulation
from helpers import wide_of_half

import termgraph as tg
import termgraph.tensor as T
from emucuda.driver import emulation
from termgraph.backends.cuda.driver.base import OutOfDeviceMemory
from termgraph.backends.cuda.generate import generate
from termgraph.backends.cuda.placement import why_not
from termgraph.backends.cuda.run import cudnn
from termgraph.backends.cuda.run.executor import Executable
from termgraph.function.cuda import CudaFunction
from termgraph.terms.dtypes import numpy_dtype
from termgraph.terms.evaluate import evaluate
from termgraph.terms.ops.convolution import conv_panels, conv_spread, conv_taps, result_lengths
from termgraph.terms.term import Arg, Const, mk
from termgraph.terms.types import TensorType

LINKER = "auto"
emulated = pytest.mark.skipif(bool(no_emulation), reason=no_emulation or "g++")
PLAIN = tg.Mode(linker="py", optimizer="None")


def shapes_at_random(rng, many):
    """Images, filters and how they move, along one to three dimensions; `many` filters fill a tile."""
    n = int(rng.integers(1, 4))
    each = lambda low, high: tuple(int(k) for k in rng.integers(low, high + 1, n))  # noqa: E731
    groups, batch = int(rng.integers(1, 4)), int(rng.integers(many, 4))
    channels, filters = (int(rng.integers(1, 20)), int(rng.integers(10, 70))) if many else each(1, 3)[:1] * 2
    taps, stride, gaps = each(1, 3), each(1, 3), each(1, 3)
    pads = tuple(tuple(int(p) for p in rng.integers(0, 4, 2)) for _ in range(n))
    image = [max((k - 1) * e + 1 - sum(p), 1) + int(rng.integers(0, 6)) for k, e, p in zip(taps, gaps, pads)]
    how = {"stride": stride, "dilation": gaps, "border": pads, "groups": groups, "flip": False, "algo": None}
    return (batch, channels * groups, *image), (filters * groups, channels, *taps), how


def terms_of(rng, dtype, image, filters, how):
    """The convolution and both gradients, with small whole numbers, whose sums are exact in every dtype."""
    result = (image[0], filters[0], *result_lengths("conv", image[2:], filters[2:], how))
    x, w, g = [Arg(k, TensorType(dtype, shape)) for k, shape in enumerate((image, filters, result))]
    lengths = lambda shape: [Const(np.int64(m)) for m in shape[2:]]  # noqa: E731
    terms = [
        mk(conv_panels.bind(**how), (x, w)),
        mk(conv_spread.bind(**how), (w, g, *lengths(image))),
        mk(conv_taps.bind(**how), (x, g, *lengths(filters))),
    ]
    assert all(why_not(t) is None for t in terms)
    values = [rng.integers(-1, 2, shape).astype(numpy_dtype(dtype)) for shape in (image, filters, result)]
    return [x, w, g], terms, values


def agree(device, program, args, terms, values):
    """Run a program, and compare it with the meaning bit by bit; its launches by the names of kernels."""
    run = Executable(program, device)
    for t, got, wanted in zip(terms, run(*values), evaluate(terms, dict(zip(args, values)))):
        assert np.asarray(got).dtype == wanted.dtype
        np.testing.assert_array_equal(wide_of_half(np.asarray(got)), wide_of_half(wanted), err_msg=repr(t))
    plan = run.plan_for(tuple(v.shape for v in values))
    return [launch.kernel for launch in plan.first.launches]


@emulated
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int8", "uint64"])
def test_any_shapes(dtype, rng):
    kernels = set()
    with emulation() as device:
        for k in range(15):
            args, terms, values = terms_of(rng, dtype, *shapes_at_random(rng, k % 3 == 0))
            kernels.update(agree(device, generate(args, terms), args, terms, values))
    assert kernels >= {f"tg_conv_{dtype}", f"tg_conv_thin_{dtype}"}


HOW = {"stride": (1, 2), "dilation": (1, 1), "border": ((1, 1), (1, 0)), "groups": 2, "flip": False, "algo": None}
LARGE = ((2, 40, 9, 9), (70, 20, 3, 3), HOW)


@emulated
@pytest.mark.parametrize("dtype, products", [("float16", "float32"), ("bfloat16", "float32"), ("float32", "bfloat16")])
def test_tensor_cores(dtype, products, rng):
    """The text for devices that have them, with the instruction by the layout of registers that its manual says."""
    args, terms, values = terms_of(rng, dtype, (1, 20, 9, 20), (70, 20, 3, 3), {**HOW, "groups": 1})
    with tg.config.change_flags(cuda__products=products), emulation() as device:
        program = generate(args, terms)
        program.source = "#define TG_TENSOR_CORES\n" + program.source
        assert agree(device, program, args, terms, values).count(f"tg_conv_{dtype}") == 4


@emulated
def test_long_sums_are_added_up_in_parts(rng):
    """Few places and many channels, and filters of one channel each: more blocks than elements need."""
    ones = {**HOW, "stride": (1, 1)}
    with emulation() as device:
        args, terms, values = terms_of(rng, "float32", (2, 130, 5, 5), (140, 130, 3, 3), {**ones, "groups": 1})
        assert "tg_conv_sum_float32" in agree(device, generate(args, terms), args, terms, values)
        args, terms, values = terms_of(rng, "float32", (1, 6, 30, 30), (6, 1, 3, 3), {**ones, "groups": 6})
        assert set(agree(device, generate(args, terms), args, terms, values)) == {
            "tg_conv_thin_float32", "tg_conv_sum_float32",
        }  # fmt: skip


@emulated
def test_indices_of_64_bits(rng):
    args, terms, values = terms_of(rng, "float32", *LARGE)
    with emulation() as device:
        run = Executable(generate(args, terms), device)
        run.plan_for(tuple(v.shape for v in values)).wide = True
        for got, wanted in zip(run(*values), evaluate(terms, dict(zip(args, values)))):
            np.testing.assert_array_equal(np.asarray(got), wanted)


CONVOLUTIONS = [
    lambda x, w: T.nnet.conv2d(x, w, border_mode="half", subsample=(2, 1), num_groups=2),
    lambda x, w: T.nnet.conv2d(
        x.dimshuffle(0, 1, 3, 2)[:, :, ::-1], w, border_mode="same", filter_dilation=(2, 1), num_groups=2
    ),
    lambda x, w: T.nnet.conv2d(
        x, w, border_mode=(2, 1), subsample=(2, 2), filter_dilation=(2, 2), num_groups=2, filter_flip=False
    ),
]


@emulated
@pytest.mark.parametrize("known", [True, False])
def test_f66_convolutions_and_their_gradients(known, gpu, rng):
    """Kernels of our own for all of it, whether lengths of images are known or not; padding must not depend on them."""
    image, filters = (2, 4, 7, 6), (4, 2, 3, 2)
    x = T.tensor("x", dtype="float32", shape=image if known else (None,) * 4)
    w = T.tensor("w", dtype="float32", shape=filters)
    outputs = []
    for make in CONVOLUTIONS if known else CONVOLUTIONS[::2]:
        y = make(x, w)
        outputs += [y, *tg.grad(T.sqr(y).sum(), [x, w])]
    values = [rng.normal(size=s).astype("float32") for s in (image, filters)]
    f = tg.function([x, w], outputs, mode=tg.Mode().excluding("conv_dnn"))  # also where cuDNN is installed
    assert isinstance(f, CudaFunction) and not f.on_cpu()
    with tg.config.change_flags(device="cpu"):
        expected = tg.function([x, w], outputs, mode=PLAIN)(*values)
    for got, wanted in zip(f(*values), expected):
        np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-4, atol=1e-4)
    rules = {r.rule for r in f.trace if r.rule.startswith("conv_")}
    assert rules == {"conv_by_panels.forward", "conv_by_panels.inputs", "conv_by_panels.weights"}


@emulated
def test_no_matrix_of_all_windows(gpu, rng):
    """Beside the results there is memory for a cotangent, and for what the gradient is of."""
    x, w = T.tensor("x", dtype="float32", shape=(2, 16, 20, 20)), T.tensor("w", dtype="float32", shape=(24, 16, 5, 5))
    y = T.nnet.relu(T.nnet.conv2d(x, w, border_mode="half"))
    f = tg.function([x, w], tg.grad(T.sqr(y).sum(), [x, w]))
    (code,) = [i.op.code for i in f.vm.program.instructions if i.op.kind == "kernel"]
    plan = Executable(code, gpu).plan_for(((2, 16, 20, 20), (24, 16, 5, 5)))
    parts = plan.size - plan.places["scratch", -1]
    result, windows = 4 * 2 * 24 * 400, 4 * 2 * 16 * 25 * 400
    assert plan.size - parts <= 2 * result + 1024 and plan.size < windows / 2, (plan.size, parts, windows)
    convolved = [k for k in code.kernels if "conv" in k.name]
    assert not convolved and code.source.count("__global__ void __launch_bounds__(256, 1) tg_conv") == 3


@emulated
def test_other_ways_are_chosen_by_name(gpu, rng):
    """And what kernels do not know is a product with all windows, as before: complex numbers."""
    x, w = T.ftensor4("x"), T.tensor("w", dtype="float32", shape=(3, 2, 3, 3))
    values = [rng.normal(size=s).astype("float32") for s in ((2, 2, 5, 4), (3, 2, 3, 3))]
    with tg.config.change_flags(device="cpu"):
        wanted = tg.function([x, w], T.nnet.conv2d(x, w), mode=PLAIN)(*values)
    for algo in ("gemm", "direct", "panels", "winograd"):
        f = tg.function([x, w], T.nnet.conv2d(x, w, algo=algo))
        assert [r.rule for r in f.trace if r.rule.startswith("conv_")] == [
            {"gemm": "conv_gemm.forward", "direct": "conv_sums.forward"}.get(algo, "conv_by_panels.forward")
        ]
        np.testing.assert_allclose(np.asarray(f(*values)), wanted, rtol=1e-5, atol=1e-5)
    z, v = T.ztensor4("z"), T.ztensor4("v")
    f = tg.function([z, v], T.nnet.conv2d(z, v))
    assert "conv_gemm.forward" in {r.rule for r in f.trace}


class Full:
    """A device with so many bytes left."""

    def __init__(self, left):
        self.left = left

    def allocate(self, size, purpose):
        if size > self.left:
            raise OutOfDeviceMemory(purpose)
        self.left -= size
        return 4096 + size


class Offering(cudnn.Cudnn):
    """cuDNN that recommends algorithms by the room they want."""

    def __init__(self, left, sizes, most=1 << 30):
        self.device, self.sizes, self.rooms, self.most, self.handle = Full(left), sizes, [], most, 0

    def call(self, name, *args):
        if "Algorithm_v7" in name:
            ctypes.c_int.from_address(args[-2]).value = len(self.sizes)
            for k, size in enumerate(self.sizes):
                found = cudnn.Performance.from_address(args[-1] + k * ctypes.sizeof(cudnn.Performance))
                found.algo, found.memory, found.determinism, found.math = k, size, cudnn.DETERMINISTIC, cudnn.ROUNDED
        elif "WorkspaceSize" in name:
            ctypes.c_size_t.from_address(args[-1]).value = self.sizes[args[-2]]


def algorithm(dnn):
    plan = dnn.chosen("conv_panels", {"x": 1, "w": 2, "y": 3}, 4, cudnn.EXACT)
    return None if plan is None else plan.algorithm


def test_a_workspace_that_is_not_to_be_had():
    """Then cuDNN computes by an algorithm that wants less, or our kernels do; nothing fails."""
    big, small = 40 << 20, 3 << 20
    assert algorithm(Offering(1 << 30, [big, small])) == 0
    assert algorithm(Offering(8 << 20, [big, small])) == 1
    assert algorithm(Offering(1 << 20, [big, small])) is None
    dnn = Offering(50 << 20, [small])
    assert algorithm(dnn) == 0
    dnn.sizes = [small + 1]
    dnn.device.left = 2 * small - 1  # not enough for twice the last one
    assert algorithm(dnn) == 0 and [size for _, size in dnn.rooms] == [small, small + 1]
    dnn = Offering(1 << 30, [small], most=4 << 20)
    assert algorithm(dnn) == 0
    dnn.sizes = [small + 1]
    assert algorithm(dnn) == 0 and dnn.rooms[-1][1] == 4 << 20  # no more than an algorithm may keep


@emulated
def test_f67_cudnn_that_is_not_installed_is_named(gpu, monkeypatch):
    """Who asks for it is told what to install; a flag does the same. Functions on the CPU have ways of their own."""
    x, w = T.ftensor4("x"), T.ftensor4("w")
    monkeypatch.setattr(cudnn, "library", lambda: None)
    with pytest.raises(ValueError, match=r"algo='cudnn'.*libcudnn\.so\.9.* pip install nvidia-cudnn-cu13") as found:
        tg.function([x, w], T.nnet.conv2d(x, w, algo="cudnn"))
    assert "test_cuda_convolutions.py" in str(found.value)
    y = T.nnet.conv2d(x, w)
    with tg.config.change_flags(dnn__conv__algo_bwd_filter="cudnn"):
        tg.function([x, w], y)
        with pytest.raises(ValueError, match="pip install nvidia-cudnn-cu13"):
            tg.function([x, w], tg.grad(y.sum(), w))
    with tg.config.change_flags(device="cpu"):
        f = tg.function([x, w], T.nnet.conv2d(x, w, algo="cudnn"))
        assert {r.rule for r in f.trace if r.rule.startswith("conv_")} == {"conv_by_panels.forward"}


@emulated
def test_vectors(gpu, rng):
    """`convolve`, whose routine in C knows vectors only."""
    x, w = T.fvector("x"), T.tensor("w", dtype="float32", shape=(7,))
    outputs = [T.convolve(x, w), *tg.grad(T.sqr(T.convolve(x, w, "same")).sum(), [x, w])]
    values = [rng.normal(size=s).astype("float32") for s in (50, 7)]
    f = tg.function([x, w], outputs)
    assert not f.on_cpu()
    with tg.config.change_flags(device="cpu"):
        expected = tg.function([x, w], outputs, mode=PLAIN)(*values)
    for got, wanted in zip(f(*values), expected):
        np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-4, atol=1e-5)


@emulated
def test_inside_of_a_loop(gpu, rng):
    """The addresses of a step are those of its rows; sums in parts share one room."""
    xs, w = (
        T.tensor("xs", dtype="float32", shape=(3, 1, 70, 4, 4)),
        T.tensor("w", dtype="float32", shape=(70, 70, 3, 3)),
    )
    step = lambda x, s, w: T.tanh(T.nnet.conv2d(s, w, border_mode="half") + x)  # noqa: E731
    out = tg.scan(step, sequences=[xs], outputs_info=[T.zeros((1, 70, 4, 4), dtype="float32")], non_sequences=[w])[0]
    values = [
        rng.normal(size=(3, 1, 70, 4, 4)).astype("float32"),
        rng.normal(size=(70, 70, 3, 3)).astype("float32") / 25,
    ]
    f = tg.function([xs, w], out)
    with tg.config.change_flags(device="cpu"):
        expected = tg.function([xs, w], out, mode=tg.Mode(linker="py"))(*values)
    assert "tg_conv_sum_float32" in f.source("cuda") and not f.on_cpu()
    for _ in range(3):
        np.testing.assert_allclose(np.asarray(f(*values)), expected, rtol=1e-4, atol=1e-5)


@emulated
def test_gradients_by_differences(gpu, rng):
    x, w = rng.normal(size=(2, 4, 5, 4)), rng.normal(size=(4, 2, 3, 2))
    make = lambda x, w: T.nnet.conv2d(x, w, border_mode=(1, 1), subsample=(2, 1), num_groups=2)  # noqa: E731
    tg.verify_grad(make, [x, w], rng=rng)
