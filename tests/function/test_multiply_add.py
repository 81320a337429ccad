"""Products and the sums they go into: rounded once in FAST_RUN, twice, as in NumPy, where exactness is asked."""

from fractions import Fraction

import numpy as np
import pytest

import termgraph as tg
from emucuda.build import find_compiler as find_emulator
from emucuda.driver import emulation
from termgraph import tensor as T
from termgraph.backends.c.build import compilers
from termgraph.backends.c.build.compilers import find_compiler, processor_flags

LINKER = "auto"
compiler = find_compiler()
needs_c = pytest.mark.skipif(compiler is None, reason="there is no C compiler")
joins = pytest.mark.skipif(
    compiler is None or compiler.kind != "gcc" or "fma" not in processor_flags(),
    reason="no instruction for it, or not gcc",
)
EXACT = ("STRICT", "None", "FAST_COMPILE")


def operands(n=500, dtype="float64"):
    rng = np.random.default_rng(3)
    return [rng.standard_normal(n).astype(dtype) for _ in range(3)]


def rounded_once(x, y, z):
    """x * y + z by exact numbers, rounded at the end."""
    return np.array([float(Fraction(a) * Fraction(b) + Fraction(c)) for a, b, c in zip(x, y, z)])


@joins
def test_a_product_and_its_sum_are_rounded_once_in_fast_run():
    x, y, z = T.dvectors("x", "y", "z")
    values = operands()
    got = tg.function([x, y, z], x * y + z, mode="FAST_RUN")(*values)
    np.testing.assert_array_equal(got, rounded_once(*values))
    assert (got != values[0] * values[1] + values[2]).any()


@needs_c
@pytest.mark.parametrize("mode", EXACT)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_where_exactness_is_asked_bits_are_numpys(mode, dtype):
    x, y, z = (T.vector(name, dtype=dtype) for name in "xyz")
    a, b, c = operands(dtype=dtype)
    f = tg.function([x, y, z], [x * y + z, x * y - z * x, z - x * y], mode=mode)
    for got, expected in zip(f(a, b, c), [a * b + c, a * b - c * a, c - a * b]):
        np.testing.assert_array_equal(got, expected)


@needs_c
@pytest.mark.parametrize("mode", EXACT)
def test_steps_of_loops_are_exact_too(mode):
    x, h = T.dvectors("x", "h")
    states, _ = tg.scan(lambda v, s: v * s + v, sequences=[x], outputs_info=[h])
    a, b, _ = operands(20)
    got = tg.function([x, h], states, mode=mode)(a, b)
    for v, state in zip(a, got):
        b = v * b + v
        np.testing.assert_array_equal(state, b)


@needs_c
@pytest.mark.parametrize("mode", EXACT)
def test_segments_beside_python_are_exact_too(mode):
    x, y, z = T.dvectors("x", "y", "z")
    u = T.unique(x) if mode == "None" else T.unique(x) * 1.0
    f = tg.function([x, y, z], [x * y + z, u], mode=mode)
    a, b, c = operands()
    np.testing.assert_array_equal(f(a, b, c)[0], a * b + c)


@needs_c
@pytest.mark.parametrize("mode", ["FAST_RUN", "STRICT"])
def test_a_complex_number_times_its_conjugate_is_real(mode):
    x = T.zvector("x")
    a, b, _ = operands()
    assert not tg.function([x], (x * T.conj(x)).imag, mode=mode)(a + 1j * b).any()


@needs_c
def test_the_flags_are_in_the_print_of_the_stage():
    x, y, z = T.dvectors("x", "y", "z")
    said = {
        m: str(tg.function([x, y, z], x * y + z, mode=m).stage("print")).splitlines()[0] for m in ("FAST_RUN", "STRICT")
    }
    assert "-ffp-contract=fast" in said["FAST_RUN"] and "-ffp-contract=off" in said["STRICT"]


@needs_c
def test_wide_vectors_are_for_vector_mathematics_on_processors_that_have_them(monkeypatch):
    x = T.dvector("x")
    flag = "-mprefer-vector-width=512"
    heavy, cheap = (str(tg.function([x], y).stage("print")).splitlines()[0] for y in (T.tanh(x), 2 * x + 1))
    assert flag in heavy and flag not in cheap
    compiler = compilers.Compiler(("gcc",), "gcc", (*compilers.COMMON_FLAGS, "-march=native"), "gcc")
    for has, flags in ((True, {"avx2", "avx512f"}), (False, {"avx2"}), (False, set())):
        monkeypatch.setattr(compilers, "processor_flags", lambda flags=flags: frozenset(flags))
        assert compiler.suits(flag) is has
    assert compiler.suits("-ffp-contract=fast")


@needs_c
def test_loops_with_tables_are_tuned_for_processors_that_gather(monkeypatch):
    x = T.dvector("x")
    flag = "-mtune=icelake-server"
    table, plain = (str(tg.function([x], y).stage("print")).splitlines()[0] for y in (T.gamma(x), T.tanh(x)))
    assert flag in table and flag not in plain
    compiler = compilers.Compiler(("gcc",), "gcc", (*compilers.COMMON_FLAGS, "-march=native"), "gcc")
    for has, maker, flags in (
        (True, "GenuineIntel", {"avx2", "avx512f"}),
        (False, "GenuineIntel", {"avx2"}),
        (True, "AuthenticAMD", {"avx2"}),
        (False, "AuthenticAMD", {"avx2", "avx512f"}),
        (False, "AuthenticAMD", {"sse4_2"}),
        (False, "", set()),
    ):
        monkeypatch.setattr(compilers, "processor_flags", lambda flags=flags: frozenset(flags))
        monkeypatch.setattr(compilers, "processor_maker", lambda maker=maker: maker)
        assert compiler.suits(flag) is has


@needs_c
def test_what_the_flag_cflags_forbids_is_not_there():
    """Vectors of 64 bytes on a processor that has them: loops are tuned as for one that has not."""
    compiler = compilers.Compiler(("gcc",), "gcc", (*compilers.COMMON_FLAGS, "-march=native"), "gcc")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(compilers, "processor_flags", lambda: frozenset({"avx", "avx2", "avx512f"}))
        patched.setattr(compilers, "processor_maker", lambda: "AuthenticAMD")
        assert compiler.suits("-mprefer-vector-width=512") and not compiler.suits("-mtune=icelake-server")
        with tg.config.change_flags(cflags="-mno-avx512f"):
            assert not compiler.suits("-mprefer-vector-width=512") and compiler.suits("-mtune=icelake-server")


@pytest.mark.skipif(find_emulator() is None or "fma" not in processor_flags(), reason="g++, or no instruction for it")
@pytest.mark.parametrize("mode", [*EXACT, "FAST_RUN"])
def test_on_a_gpu_too_products_are_joined_in_fast_run_only(mode):
    x, y, z = T.dvectors("x", "y", "z")
    a, b, c = operands()
    chosen = tg.config.change_flags(linker="cuda"), emulation()
    with chosen[0], chosen[1]:
        got = tg.function([x, y, z], x * y + z, mode=mode)(a, b, c)
    np.testing.assert_array_equal(got, a * b + c if mode in EXACT else rounded_once(a, b, c))


@needs_c
def test_two_bounds_in_one_loop_are_not_threaded():
    """gcc would make four comparisons and three choices of the two comparisons and choices of `clip`."""
    x = T.dvector("x")
    both, one = (str(tg.function([x], y).stage("print")).splitlines()[0] for y in (T.clip(x, 0, 1), T.maximum(x, 0)))
    assert "-fno-thread-jumps" in both and "-fno-thread-jumps" not in one


@joins
def test_kernels_that_choose_products_by_place_round_twice():
    """gcc 12 made `a * b + c` of `c + d * e if chosen else a * b` (a natural spline in tests/programs)."""
    t, z = T.tensor("t", dtype="float64", shape=(6,)), T.dvector("z")
    slope = T.pad(-6 * t, (0, 1)) + T.pad(t * 6, (1, 0))
    assert "static TG_ROUNDED_TWICE void kernel" in tg.function([t], slope).source("c")
    assert "TG_ROUNDED_TWICE" not in tg.function([t, z], [t * t + 1, T.pad(z * 2, 1)]).source("c")
