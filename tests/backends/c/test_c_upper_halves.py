"""No program leaves the upper halves of vector registers in use: that slows all older code of the process tenfold on
Intel's processors (libm, NumPy's loops, the interpreter), and a processor that does not mind hides it."""

import ctypes
import subprocess

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build import compilers
from termgraph.backends.c.build.compilers import find_compiler, processor_flags

LINKER = "c"
compiler = find_compiler()
pytestmark = pytest.mark.skipif(
    compiler is None or "-march=native" not in compiler.flags or not {"avx", "xsave"} <= processor_flags(),
    reason="no compiler for this processor's vectors",
)
ASK = """
/* Bit 2: upper halves of 32 bytes, bit 6: of 64. */
int in_use(void) { unsigned a, d; __asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(1)); return a & 0x44; }
void use(void) { __asm__ volatile("vpcmpeqd %xmm15, %xmm15, %xmm15\\n vinsertf128 $1, %xmm15, %ymm15, %ymm15"); }
void clear(void) { __asm__ volatile("vzeroupper"); }
"""


@pytest.fixture(scope="module")
def registers(tmp_path_factory):
    """A library that says which halves are in use, where the processor tells the truth about that."""
    if "xgetbv1" not in processor_flags():
        pytest.skip("the processor does not say what is in use")
    folder = tmp_path_factory.mktemp("registers")
    (folder / "ask.c").write_text(ASK)
    command = [
        *compiler.command,
        "-mavx",
        "-O1",
        "-shared",
        "-fPIC",
        str(folder / "ask.c"),
        "-o",
        str(folder / "ask.so"),
    ]
    subprocess.run(command, check=True)
    library = ctypes.CDLL(str(folder / "ask.so"))
    library.use()
    seen = library.in_use()
    library.clear()
    if not seen or library.in_use():
        pytest.skip("the processor does not say what is in use")
    return library


def programs():
    x, m = T.dvector("x"), T.fmatrix("m")
    rows = T.exp(m - m.max(axis=1, keepdims=True))
    steps, _ = tg.scan(lambda s: T.tanh(s @ m), outputs_info=m[0], n_steps=m.shape[0])
    return {
        "element-wise": ([x], x * 2 + 1),
        "functions": ([x], T.exp(x) + T.cbrt(x)),
        "fold": ([x], (x * x).sum()),
        "rows": ([m], rows / rows.sum(axis=1, keepdims=True)),
        "product": ([m], m @ m),
        "loop": ([m], steps),
        "convolution": ([m], T.nnet.conv2d(m[None, None], m[None, None, :3, :3])),
    }


@pytest.mark.parametrize("name", programs())
def test_upper_halves_are_cleared(name, registers):
    inputs, output = programs()[name]
    f = tg.function(inputs, output)
    values = [np.full((40,) * v.type.ndim, 0.5, v.type.dtype) for v in inputs]
    f(*values)
    registers.clear()
    f(*values)
    assert registers.in_use() == 0


def test_the_flag_is_gone_where_gcc_does_not_know_it(monkeypatch, cache_dir):
    """Another processor's gcc has no such pass: the compiler is used without it, not refused."""
    if compiler.kind != "gcc":
        pytest.skip("a flag of gcc's")
    monkeypatch.setattr(compilers, "_CLEARED", "-fenable-rtl-nosuchpass")
    compilers._search.cache_clear()
    found = find_compiler()
    compilers._search.cache_clear()
    assert "-march=native" in found.flags and not any("rtl" in flag for flag in found.flags)
