"""Generated kernels compile for old and new devices without spilling registers, with no device at hand."""

import re
import shutil
import warnings

import numpy as np
import pytest
from backends.cuda.cudacases import cases, program
from lower.randomgraphs import Graphs

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.cuda.build import compile as compilers
from termgraph.backends.cuda.build.compile import (
    CudaCompileError,
    compile_text,
    compiler,
    nvrtc_image,
    usage_of,
    warn_of_spills,
)
from termgraph.backends.cuda.generate import generate
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.term import Arg, mk
from termgraph.terms.types import TensorType

pytestmark = pytest.mark.skipif(compiler() is None, reason="neither NVRTC (the extra cuda-test) nor nvcc is installed")
nvrtc = pytest.mark.skipif(not str(compiler()).startswith("nvrtc"), reason="NVRTC is not installed (extra cuda-test)")
CASES = cases()


TABLES = re.compile(r"\b(sin|cos|tan)f?\(")  # for huge arguments the device's library keeps digits of pi on the stack


def no_spills(source, name):
    for arch in ("sm_75", "sm_90"):
        found = usage_of(source, arch, name=name)
        assert found
        bad = {k: u for k, u in found.items() if u.spilled or u.stack and not TABLES.search(source)}
        assert not bad, f"{name} on {arch}: {bad}"


@nvrtc
@pytest.mark.parametrize("name", CASES)
def test_cases(name):
    no_spills(program(*CASES[name][:2]).source, name)


@nvrtc
@pytest.mark.parametrize("seed", range(12))
def test_random_graphs(seed):
    g = Graphs(seed).grow(3 + seed % 8)
    found = generate(g.args, g.outputs())
    if found.kernels:
        no_spills(found.source, f"graph {seed}")


@nvrtc
def test_elements_side_by_side_are_read_sixteen_bytes_at_a_time():
    inputs, outputs, _ = CASES["elementwise"]
    ptx = nvrtc_image(program(inputs, outputs[:1]).source, "sm_90", ptx=True)[0].decode()
    assert re.search(r"ld\.global(\.nc)?\.v4\.f32", ptx) and re.search(r"st\.global\.v4\.f32", ptx)


@nvrtc
@pytest.mark.parametrize(
    "dtype, kind",
    [("float16", "v4.u32"), ("bfloat16", "v4.u32"), ("float64", "v2.f64"), ("int8", "v4.u32"), ("complex64", "v4.f32")],
)
def test_the_same_of_other_sizes(dtype, kind):
    x = T.matrix("x", dtype=dtype)
    ptx = nvrtc_image(program([x], [x * 2]).source, "sm_90", ptx=True)[0].decode()
    assert re.search(rf"ld\.global(\.nc)?\.{kind}", ptx) and re.search(rf"st\.global\.{kind}", ptx)


def test_a_cubin_is_made_once():
    source = program(*CASES["sums"][:2]).source
    image = compile_text(source, "sm_90")
    assert image[:4] == b"\x7fELF" and compile_text(source, "sm_90") == image


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
@pytest.mark.parametrize("name", ["rows", "products", "complex", "half", "indexing", "convolutions of half"])
def test_nvcc_does_where_nvrtc_is_not(name, monkeypatch):
    """The same text, though nvcc brings declarations of its own."""
    monkeypatch.setattr(compilers, "compiler", lambda: "nvcc of a test")
    source = program(*CASES[name][:2]).source
    assert compile_text(source, "sm_90", name=name)[:4] == b"\x7fELF"
    assert usage_of(source, "sm_90", name=name)
    with pytest.raises(CudaCompileError, match="nvcc refuses the kernels of mine for sm_90"):
        compile_text('extern "C" __global__ void f(int *p) { *p = nothing; }', "sm_90", name="mine")


def test_refused_text_is_reported():
    with pytest.raises(CudaCompileError, match="nothing"):
        compile_text('extern "C" __global__ void f(int *p) { *p = nothing; }', "sm_90", name="mine")


@nvrtc
@pytest.mark.parametrize("dtype, kind", [("float16", "f16"), ("bfloat16", "bf16")])
def test_convolutions_use_tensor_cores_where_the_device_has_them(dtype, kind):
    """From compute capability 8.0 on; without, the same kernel multiplies numbers one by one."""
    x, w = T.tensor4("x", dtype=dtype), T.tensor("w", dtype=dtype, shape=(8, 4, 3, 3))
    y = T.nnet.conv2d(x, w, subsample=(2, 1), algo="panels")
    source = program([x, w], [y, *tg.grad(T.sqr(y).sum(), [x, w])]).source
    for arch, there in (("sm_75", False), ("sm_80", True), ("sm_90", True)):
        ptx = nvrtc_image(source, arch, ptx=True)[0].decode()
        assert (f"mma.sync.aligned.m16n8k16.row.col.f32.{kind}.{kind}.f32" in ptx) == there, arch
        assert not any(u.spilled or u.stack for u in usage_of(source, arch, name=dtype).values())


@nvrtc
def test_loops_with_choices_and_failures():
    x, w, i = T.fmatrix("x"), T.fmatrix("w"), T.lvector("i")
    step = lambda k, s, x, w: tg.ifelse(x[k].sum() > 0, T.dot(s, w) + x[k], T.nnet.softmax(s))  # noqa: E731
    out = tg.scan(step, sequences=[i], outputs_info=[w], non_sequences=[x, w])[0]
    source = program([i, w, x], [out]).source
    assert "int64_t tg_step" in source and "return;" in source
    no_spills(source, "loop")


@nvrtc
def test_rows_of_models_in_both_precisions():
    """What needs most registers: rows kept in them, with calls of exp, and their gradients."""
    for dtype in ("float32", "float64"):
        x, g, b, y = T.matrix("x", dtype=dtype), T.vector("g", dtype=dtype), T.vector("b", dtype=dtype), T.lvector("y")
        norm = (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True) * g + b
        p = T.nnet.softmax(T.tanh(x) * T.erf(x) + T.exp(x))
        loss = T.nnet.categorical_crossentropy(T.nnet.softmax(x), y).mean()
        no_spills(program([x], [p]).source, f"softmax {dtype}")
        no_spills(program([x, y], [loss, tg.grad(loss, x)]).source, f"cross-entropy {dtype}")
        no_spills(program([x, g, b], list(tg.grad((norm**3).sum(), [x, g, b]))).source, f"layer norm {dtype}")


@nvrtc
def test_text_of_the_users_that_needs_too_many_registers_is_reported():
    def program_of(text):
        options = {"infer": ew.infer_elementwise, "kind": "elementwise", "dtype_rule": ew.ufunc_rule(np.sqrt)}
        op = ew.ElementwiseOp("test_greedy", arity=1, meaning=np.sqrt, cuda=text, **options)
        arg = Arg(0, TensorType("float32", (None,)))
        return generate([arg], [mk(op, (arg,))])

    def report(code):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            warn_of_spills(code.source, "sm_90", (), "f", code.given)
        return [str(w.message) for w in found]

    greedy = "([&] {{ float a[300]; for (int k = 0; k < 300; k++) a[k] = {0} * k; return a[(int){0} % 300]; }}())"
    (message,) = report(program_of(greedy))
    assert "in f, values that find no register" in message and "CUDA text of test_greedy" in message
    modest = program_of("sqrtf({0})")
    assert modest.given == ["test_greedy"] and report(modest) == []


@nvrtc
@pytest.mark.parametrize("precision", ["tf32", "bfloat16", "float16"])
def test_products_of_rounded_operands(precision):
    inputs, outputs, _ = CASES["products"]
    with tg.config.change_flags(cuda__products=precision):
        no_spills(program(inputs, outputs).source, f"products in {precision}")
