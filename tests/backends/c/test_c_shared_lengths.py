"""Functions that differ in lengths are written once: the same bits, less text, and known numbers where they matter."""

import re

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.backends.c.text import shared_kernels, shared_lengths
from termgraph.backends.c.text.shared_lengths import Function, numbers_apart

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
LINKER = "auto"
# Later versions of gcc take what a known length leaves over in shorter vectors, whose functions round otherwise.
MAJOR = re.search(r"(\d+)\.\d+\.\d+$", find_compiler().version) if find_compiler() else None
RESTS_DIFFER = MAJOR is not None and int(MAJOR[1]) > 12


def function(line, places=1, range=None):
    head = "static void @(void *context, int64_t begin, int64_t end, int64_t unused)\n{\n    tg_context *c = context;\n"
    return Function(f"{head}    float *restrict array0 = (float *)c->buf[c->at[0]];\n    {line}\n}}", places, range)


def joined(*lines, **more):
    """The line of functions that were joined, and their numbers; None if they were not."""
    apart = numbers_apart({f"kernel{k}": function(line, **more) for k, line in enumerate(lines)})
    if not apart:
        return None
    assert len({a.shape for a in apart.values()}) == 1
    return apart["kernel0"].shape.splitlines()[-2].strip(), [a.numbers for a in apart.values()]


def test_lengths_and_strides_are_read_from_the_row():
    line = "for (int64_t i0 = 0; i0 < {n}; i0++) array0[i0 + {n}*i1 + {m}] = 2.0f;"
    given = [line.format(n=n, m=3 * n) for n in (33, 40, 50)]
    assert joined(*given) == (line.format(n="size0", m="(3 * size0)"), [("33",), ("40",), ("50",)])


def test_places_that_are_the_same_distance_apart_are_one_number():
    line = "array0[0] = array0[{a}] + array0[{a} + i1*{b}];"
    given = [line.format(a=n, b=n + 7) for n in (133, 140)]
    assert joined(*given)[0] == line.format(a="size0", b="(size0 + 7)")


def test_a_place_may_be_the_first_one():
    line = "array0[i0] = *(const tg_vector_f32 *)(array0 + i0{a}) + array0[i1{b}];"
    given = [line.format(a="", b=" + 20"), line.format(a=" + 80", b=""), line.format(a=" + 20", b=" + 7")]
    wanted = [("0", "20"), ("20", "0"), ("5", "7")]  # of the first a quarter
    assert joined(*given) == (line.format(a=" + size0", b=" + size1"), wanted)


def test_the_compiler_sees_of_what_a_length_is_a_multiple():
    apart = numbers_apart({f"kernel{n}": function(f"array0[{n}*i0] = 0;") for n in (64, 96)})
    assert "const int size0 = 32 * c->at[1];" in apart["kernel64"].shape
    assert apart["kernel96"].numbers == ("3",)


def test_a_range_of_whole_vectors_is_known_to_be_one():
    apart = numbers_apart({f"kernel{n}": function(f"array0[{n}*i0] = 0;", range=n) for n in (64, 96)})
    assert "begin = 0, end = size0;" in apart["kernel64"].shape
    assert apart["kernel64"].ranged
    apart = numbers_apart({f"kernel{n}": function(f"array0[{n}*i0] = 0;", range=n) for n in (63, 95)})
    assert not apart["kernel63"].ranged


def test_factors_are_bits():
    for text, dtype in (("0.1f", "float32"), ("0.1", "float64")):
        other = text.replace("1", "3")
        line, numbers = joined(f"array0[i0] *= {text};", f"array0[i0] *= {other};")
        assert line == "array0[i0] *= factor0;"
        for row, number in zip(numbers, (0.1, 0.3)):
            assert np.array([int(n) for n in row], np.int32).view(dtype)[0] == np.dtype(dtype).type(number)


@pytest.mark.parametrize(
    "line",
    [
        "float a0_lane[{}] __attribute__((aligned(64)));",
        "#pragma GCC unroll {}",
        "array0[i0] = tg_power_f32(array0[i0], {});",
        "tg_sorted(array0, (const int64_t[{}]){{1, 2}});",
        "array0[i0] = array1[i0 / {}];",
        "array0[i0] = array1[i0 % {}];",
        "array0[i0] = array1[i0] << {};",
        "array0[i0] = 1234567890123{};",
    ],
)
def test_numbers_that_are_needed_when_compiling_stay(line):
    assert joined(line.format(20), line.format(36)) is None


@pytest.mark.parametrize(
    ("a", "b", "same"), [(4, 8, False), (4, 40, False), (32, 64, True), (33, 64, False), (33, 65, True)]
)
def test_short_loops_and_those_without_a_rest_keep_their_lengths_to_themselves(a, b, same):
    line = "for (int64_t i1 = 0; i1 < {}; i1++) array0[i1] = 0;"
    assert (joined(line.format(a), line.format(b)) is not None) == same


def test_quotients_by_powers_of_two_stay_products():
    line = "array0[i0] = array0[i0] / {}f;"
    assert joined(line.format("64.0"), line.format("32.0")) is None
    assert joined(line.format("3.0"), line.format("5.0")) is not None


def test_other_dtypes_and_other_operations_are_not_joined():
    assert joined("array0[33*i0] = 1.0f;", "array0[34*i0] = 1.0;") is None
    assert joined("array0[33*i0] += 1.0f;", "array0[34*i0] -= 1.0f;") is None


# ---------------------------------------------------------------------- whole programs
def growing(layers, dtype="float32", width=20, batch=5):
    """Dense layers with batch norm, each wider than the one before, with their gradients."""
    x = h = T.tensor("x", dtype=dtype, shape=(batch, width))
    rng, weights, values = np.random.default_rng(0), [], []
    for k in range(width, width + layers):
        for shape in ((k, k + 1), (k + 1,)):
            weights.append(T.tensor(f"w{len(weights)}", dtype=dtype, shape=shape))
            values.append(rng.standard_normal(shape).astype(dtype))
        away = h @ weights[-2] + weights[-1]
        away = away - away.mean(axis=0)
        h = T.tanh(away / T.sqrt((away * away).mean(axis=0) + 1e-3))
    loss = (h * h).mean()
    return [x, *weights], [loss, *tg.grad(loss, weights)], [rng.standard_normal((batch, width)).astype(dtype), *values]


def parts_of_a_vector():
    """Parts of one array that differ in where they begin, how long they are, and by which factors."""
    x = T.tensor("x", dtype="float64", shape=(900,))
    outputs = [T.exp(x[k : 2 * k] * (0.001 * k)) * (k + 0.5) for k in range(33, 400, 37)]
    outputs += [x[k : k + n].reshape((n // 20, 20)).T.sum(axis=1) for k, n in ((3, 100), (40, 200), (71, 800))]
    return [x], outputs, [np.random.default_rng(1).standard_normal(900)]


def whole_numbers():
    """Numbers of 32 bits, which wrap around as such, in loops of several lengths."""
    xs = [T.tensor(f"x{n}", dtype="int32", shape=(3, n)) for n in range(33, 45)]
    outputs = [((x + (2**30 + 7 * k)) * 3 > x).astype("int32") + x * (20 + k) for k, x in enumerate(xs)]
    rng = np.random.default_rng(2)
    return xs, outputs, [rng.integers(-(2**31), 2**31, (3, n)).astype("int32") for n in range(33, 45)]


MODELS = {
    "float32": lambda: growing(12),
    "float64": lambda: growing(12, "float64"),
    "parts": parts_of_a_vector,
    "whole numbers": whole_numbers,
}


def compiled(model, folder):
    inputs, outputs, values = model()
    with tg.config.change_flags(**{"cache.dir": str(folder)}):
        return tg.function(inputs, outputs), values


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_values_are_those_of_functions_of_their_own(model, monkeypatch, tmp_path):
    f, values = compiled(model, tmp_path / "a")
    monkeypatch.setattr(shared_kernels, "numbers_apart", lambda functions: {})
    g, _ = compiled(model, tmp_path / "b")
    assert len(f.source("c")) < len(g.source("c"))
    for got, wanted in zip(f(*values), g(*values)):
        if RESTS_DIFFER and got.dtype.kind == "f":
            np.testing.assert_allclose(got, wanted, rtol=64 * np.finfo(got.dtype).eps, atol=1e-6)
        else:
            np.testing.assert_array_equal(got, wanted)


def test_layers_that_all_differ_are_as_many_functions_as_a_few():
    few, many = (
        len(re.findall(r"^static void kernel\d+\(", tg.function(*growing(n)[:2]).source("c"), re.M)) for n in (9, 11)
    )
    assert few == many < 20


def careless_numbers(functions):
    """Functions that all read the numbers of the first."""
    apart = numbers_apart(functions)
    first = {a.shape: a.numbers for a in reversed(apart.values())}
    return {name: a._replace(numbers=first[a.shape]) for name, a in apart.items()}


def the_first_length_for_all(functions):
    """Integers that are all taken for the first one."""
    row = shared_lengths._Row.size
    try:
        shared_lengths._Row.size = lambda self, column: row(self, (column[0],) * len(column))
        return numbers_apart(functions)
    finally:
        shared_lengths._Row.size = row


@pytest.mark.parametrize("mistake", [careless_numbers, the_first_length_for_all])
def test_a_mistake_in_the_numbers_is_found(mistake, monkeypatch, tmp_path):
    f, values = compiled(parts_of_a_vector, tmp_path / "a")
    monkeypatch.setattr(shared_kernels, "numbers_apart", mistake)
    g, _ = compiled(parts_of_a_vector, tmp_path / "b")
    assert not all(np.array_equal(got, wanted) for got, wanted in zip(f(*values), g(*values)))
