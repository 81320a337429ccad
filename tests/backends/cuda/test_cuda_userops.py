"""Ops that users write for the GPU: an expression for an element, and kernels for whole arrays."""

import numpy as np
import pytest
from backends.cuda.cudacases import no_emulation, ops_of

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.cuda.build.compile import CudaCompileError, compile_text, compiler
from termgraph.backends.cuda.text.user_kernels import source_of

LINKER = "auto"
emulated = pytest.mark.skipif(bool(no_emulation), reason=no_emulation or "g++")


class Huber(tg.COp):
    __props__ = ()
    itypes, otypes = [T.dmatrix], [T.dmatrix]
    c_element = "fabs(x0) < 1 ? 0.5 * x0 * x0 : fabs(x0) - 0.5"


class Reversed(tg.COp):
    """Each row backwards, by a block that has it in shared memory."""

    __props__ = ()
    itypes, otypes = [T.dmatrix], [T.dmatrix]
    c_code = """
        const double *x = in[0].data;
        double *y = out[0].data;
        const int64_t m = in[0].shape[1];
        for (int64_t i = 0; i < in[0].shape[0]; i++)
            for (int64_t j = 0; j < m; j++) y[i * m + j] = x[i * m + m - 1 - j] + 1;
    """
    cuda_code = {
        "support_code": "static __device__ double more(double x) { return x + 1; }",
        "code": """
            __shared__ double row[64];
            const int64_t m = x0_shape[1], at = blockIdx.x * m + threadIdx.x;
            if (threadIdx.x < m) row[threadIdx.x] = x0[at];
            __syncthreads();
            if (threadIdx.x < m) y0[at] = more(row[m - 1 - threadIdx.x]);
        """,
    }

    def cuda_launch(self, x, y):
        return x[0], 64


class Outer(tg.COp):
    """Lengths of its own, operands of different ranks, the usual grid."""

    __props__ = ("factor",)
    itypes, otypes = [T.fvector, T.lscalar, T.fvector], [T.fmatrix]

    def __init__(self, factor):
        self.factor = factor
        self.cuda_code = f"""
            for (int64_t t = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; t < size; t += gridDim.x * blockDim.x)
                y0[t] = {float(factor)} * *x1 * x0[t / y0_shape[1]] * x2[t % y0_shape[1]];
        """

    def out_shapes(self, a, n, b):
        return [(*a, *b)]


@emulated
def test_an_expression_for_an_element_is_part_of_kernels(gpu, rng):
    x = T.dmatrix("x")
    f = tg.function([x], [Huber()(x * 2).sum(), Huber()(x) + 1])
    v = rng.standard_normal((5, 7))
    huber = lambda v: np.where(abs(v) < 1, 0.5 * v * v, abs(v) - 0.5)  # noqa: E731
    for got, want in zip(f(v), [huber(v * 2).sum(), huber(v) + 1]):
        np.testing.assert_allclose(got, want, rtol=1e-12)
    assert f.on_cpu() == [] and ops_of(f).count("cuda") == 1


@emulated
def test_a_kernel_for_whole_arrays(gpu, rng):
    x = T.dmatrix("x")
    f = tg.function([x], [Reversed()(T.exp(x)) * 2, Reversed()(x.T).sum()])
    assert f.on_cpu() == [] and "host_from_gpu" not in ops_of(f)[:-1] and "user_kernel" in f.source("cuda")
    for shape in ((5, 7), (3, 40), (5, 7)):
        v = rng.standard_normal(shape)
        for _ in range(3):
            got = f(v)
        np.testing.assert_allclose(got[0], (np.exp(v)[:, ::-1] + 1) * 2, rtol=1e-12)
        np.testing.assert_allclose(got[1], v.sum() + v.size, rtol=1e-12)
    assert f(np.zeros((0, 7)))[0].shape == (0, 7)
    with tg.config.change_flags(device="cpu"):
        np.testing.assert_allclose(tg.function([x], Reversed()(x))(v), v[:, ::-1] + 1)


@emulated
def test_a_kernel_without_c_code(gpu, rng):
    a, n, b = T.fvector("a"), T.lscalar("n"), T.fvector("b")
    f = tg.function([a, n, b], Outer(0.5)(a, n, b) - 1)
    u, v = rng.standard_normal((2, 9)).astype("float32")
    np.testing.assert_allclose(f(u, 3, v[:4]), 1.5 * np.outer(u, v[:4]) - 1, rtol=1e-5)
    with tg.config.change_flags(device="cpu"), pytest.raises(TypeError, match="one of c_code, c_file and c_element"):
        tg.function([a, n, b], Outer(0.5)(a, n, b))(u, 3, v)


def test_sections_are_checked(tmp_path):
    file = tmp_path / "mine.cu"
    file.write_text("#section support_code\n// helpers\n#section code\ny0[threadIdx.x] = wrong;\n")

    class FromFile(Reversed):
        cuda_code, cuda_file = None, file

    x = T.dmatrix("x")
    text = source_of(FromFile()(x).term)
    assert f'#line 4 "{file}"\ny0[threadIdx.x] = wrong;' in text
    if compiler() is not None:
        with pytest.raises(CudaCompileError, match=r"mine\.cu.*4.*wrong"):
            compile_text(text, "sm_90")

    class Unknown(Reversed):
        cuda_code = {"init_code": ""}

    class Bodiless(Reversed):
        cuda_code = {"support_code": ""}

    class Both(Reversed):
        cuda_file = file

    for op, error in ((Unknown, "there is no section 'init_code'"), (Bodiless, "no section code")):
        with pytest.raises(ValueError, match=error):
            op().cuda_sections()
    with pytest.raises(TypeError, match="one of cuda_code and cuda_file"):
        Both().cuda_sections()


@pytest.mark.skipif(compiler() is None, reason="neither NVRTC (the extra cuda-test) nor nvcc is installed")
def test_the_text_compiles():
    x, a, n = T.dmatrix("x"), T.fvector("a"), T.lscalar("n")
    for y in (Reversed()(x), Outer(2)(a, n, a)):
        assert compile_text(source_of(y.term), "sm_75")[:4] == b"\x7fELF"
