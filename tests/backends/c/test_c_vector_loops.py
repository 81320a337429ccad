"""Loops written with vector types: columns of few rows, and long bodies over known lengths."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
C = tg.Mode(linker="c")


def normalized(x, g, b):
    """relu(batch norm) with its gradient: folds over columns, roots, quotients and choices."""
    away = x - x.mean(axis=0, keepdims=True)
    y = away / T.sqrt((away * away).mean(axis=0, keepdims=True) + 1e-5) * g + b
    loss = (T.maximum(y, 0) ** 2).sum()
    return [loss, *tg.grad(loss, [x, g, b])]


def compiled(rows, columns, dtype, mode=C):
    given = [
        T.tensor("x", dtype=dtype, shape=(rows, columns)),
        *(T.tensor(n, dtype=dtype, shape=(columns,)) for n in "gb"),
    ]
    return tg.function(given, normalized(*given), mode=mode)


def numbers(rows, columns, dtype):
    rng = np.random.default_rng(rows * 100 + columns)
    return [rng.standard_normal(s).astype(dtype) for s in ((rows, columns), (columns,), (columns,))]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("rows", "columns"), [(1, 32), (3, 16), (16, 32), (21, 64), (16, 40), (16, 7), (40, 48), (301, 272), (304, 528)]
)
def test_columns_give_what_numpy_gives(rows, columns, dtype):
    values = numbers(rows, columns, dtype)
    f, meant = compiled(rows, columns, dtype), compiled(rows, columns, "float64", tg.Mode(linker="py"))
    for got, want in zip(f(*values), meant(*[v.astype("float64") for v in values])):
        np.testing.assert_allclose(
            got, want, rtol=2e-3 if dtype == "float32" else 1e-8, atol=1e-3 if dtype == "float32" else 1e-9
        )


@pytest.mark.parametrize(("columns", "vectors", "earlier"), [(64, True, False), (31, True, True), (15, False, False)])
def test_the_last_vector_begins_earlier_where_it_would_go_beyond_the_end(columns, vectors, earlier):
    text = compiled(16, columns, "float32").source("c")
    assert ("tg_wide_f32" in text) == vectors
    assert (f"i0 = {columns} - tg_wide_bytes / 4;" in text) == earlier


@pytest.mark.parametrize("columns", [17, 23, 32, 33, 47])
@pytest.mark.parametrize("in_place", [True, False])
def test_elements_of_the_last_vector_are_not_computed_twice_where_they_are_written_over(columns, in_place):
    """What is read and written by one loop, or added to, has another value the second time."""
    start = np.random.default_rng(0).standard_normal((3, columns)).astype("float32")
    x = tg.shared(start.copy())
    y = T.tensor("y", dtype="float32", shape=(3, columns))
    new = x
    for k in range(14):  # a long body
        new = new * (1.0 + k) + y * (0.5 - k) + abs(new - y)
    f = tg.function([y], [] if in_place else new, updates=[(x, new)] if in_place else [], mode=C)
    meant = tg.function([y], new, mode=tg.Mode(linker="py"))
    value = np.random.default_rng(1).standard_normal((3, columns)).astype("float32")
    wanted = meant(value)
    got = f(value)
    np.testing.assert_allclose(x.get_value() if in_place else got, wanted, rtol=1e-5)


def test_what_all_rows_have_in_common_stands_once():
    text = compiled(16, 32, "float32").source("c")
    wide = [part for part in text.split("static void kernel")[1:] if "tg_wide_f32" in part]
    inside = [row for part in wide for row in part.split("for (int64_t i1 = 0; i1 < 16;")[1:]]
    assert inside
    assert not any("(1 / " in row.split("}")[0] for row in inside)  # quotients of columns are made before their rows


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("kind", "rows", "threads", "vectors"), [
    ("much", 307, 1, True), ("much", 304, 3, True), ("little", 307, 1, False), ("largest", 307, 3, False),
])  # fmt: skip
def test_rows_of_blocks_of_columns_are_vectors_where_much_is_computed(kind, rows, threads, vectors, dtype):
    """Of little the C compiler's own loops wait for memory no longer, and a maximum has no vectors here."""
    x, g = T.tensor("x", dtype=dtype, shape=(rows, 512)), T.tensor("g", dtype=dtype, shape=(512,))
    y = (x * x + 1) / (x * x + 2) * g - x * (x + g) * (x - g)
    far = ((y - y.mean(0)) * x * (x + 2) * (y + 1) * (y - x) * (x + 3)).sum(0)
    outs = {
        "much": [far, (1 + y * y / rows + x / rows).prod(0)],
        "little": [(x * g + 1).sum(0), ((x - x.mean(0)) ** 2).sum(0)],
        "largest": [far, T.maximum(y * x, g).max(0)],
    }[kind]
    values = [np.random.default_rng(1).standard_normal(s).astype(dtype) / 2 for s in ((rows, 512), (512,))]
    values[0][5, 7], values[0][rows - 1, 511] = np.nan, np.inf
    with tg.config.change_flags(threads=threads):
        f = tg.function([x, g], outs, mode=C)
        got = f(*values)
    assert ("r0 += 16)" in f.source("c")) == vectors
    with np.errstate(all="ignore"):
        meant = tg.function([x, g], outs, mode=tg.Mode(linker="py"))(*values)
    for a, b in zip(got, meant):
        np.testing.assert_allclose(a, b, rtol=5e-3 if dtype == "float32" else 1e-8, atol=1e-3)


def test_unknown_lengths_are_left_to_the_compiler():
    given = [T.matrix("x", dtype="float32"), T.vector("g", dtype="float32"), T.vector("b", dtype="float32")]
    assert "tg_wide_f32" not in tg.function(given, normalized(*given), mode=C).source("c")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_special_numbers(dtype):
    x, y = (T.tensor(n, dtype=dtype, shape=(4, 32)) for n in "xy")
    chosen = T.switch(T.gt(x, y), x, -0.0)
    outputs = [T.maximum(x, y).sum(axis=0), T.minimum(x, y).prod(axis=0), chosen.sum(axis=0), abs(x - y).sum(axis=0)]
    f, meant = tg.function([x, y], outputs, mode=C), tg.function([x, y], outputs, mode=tg.Mode(linker="py"))
    special = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-40, 1.5, -2.0], dtype)
    a, b = np.resize(special, (4, 32)), np.resize(np.roll(special, 3), (4, 32))
    b[1:] = np.roll(b[1:], 1, axis=1)
    with np.errstate(all="ignore"):
        for got, want in zip(f(a, b), meant(a, b)):
            np.testing.assert_array_equal(got, want)
    assert "tg_wide_" in f.source("c")
