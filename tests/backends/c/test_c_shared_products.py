"""One large product dealt out to the team in blocks of rows: which are, and that numbers do not depend on threads."""

import ctypes
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build import program_library
from termgraph.backends.c.build.compilers import find_compiler, processor_flags
from termgraph.backends.c.run import glue
from termgraph.backends.c.text.library_calls import ROWS

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler on this machine")
C = tg.Mode(linker="c")
BODY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
DTYPES = ["float32", "float64", "complex64", "complex128"]
SIZES = [(0, 600, 600), (1, 2000, 1500), (600, 0, 600), (600, 600, 0), (47, 900, 700), (48, 1000, 600), (97, 700, 513),
         (250, 250, 250), (501, 333, 257), (40_000, 30, 16), (5000, 17, 300), (64, 3001, 77), (1200, 2, 2000),
         (2000, 1, 1500)]  # fmt: skip


@pytest.fixture
def dealt():
    """The number of parts of each job that is given to the team."""
    runtime = program_library._Runtime.from_address(glue.provider().runtime())
    before, jobs = runtime.parallel_for, []
    run = BODY(before)

    def counted(body, context, n, grain):
        jobs.append(n)
        run(body, context, n, grain)

    seen = BODY(counted)
    runtime.parallel_for = ctypes.cast(seen, ctypes.c_void_p).value
    try:
        yield jobs
    finally:
        runtime.parallel_for = before


def numbers(rng, dtype, *shape):
    made = rng.standard_normal(shape)
    return (made + 1j * rng.standard_normal(shape) if dtype[0] == "c" else made).astype(dtype)


def call(f, threads, *given):
    with tg.config.change_flags(threads=threads):
        glue.use_threads()
        return f(*given)


FORMS = {  # the factors as they are, or one of them transposed, and how they are given
    "plain": (lambda a, b: T.dot(a, b), lambda x, y: (x, y)),
    "first": (lambda a, b: T.dot(a.T, b), lambda x, y: (x.T.copy(), y)),
    "second": (lambda a, b: T.dot(a, b.T), lambda x, y: (x, y.T.copy())),
    "strided": (lambda a, b: T.dot(a[::2, 1:], b[1:]), lambda x, y: (np.pad(x.repeat(2, 0), [(0, 0), (1, 0)]),
                                                                     np.pad(y, [(1, 0), (0, 0)]))),
}  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", list(FORMS))
def test_products_have_the_same_bits_with_any_number_of_threads(rng, form, dtype):
    write, give = FORMS[form]
    a, b, c = (T.tensor(name, dtype=dtype, shape=(None, None)) for name in "abc")
    product = write(a, b)
    f = tg.function(
        [a, b, c], [product, c - product * np.asarray(0.5, dtype), T.maximum(product.real + c.real, 0)], mode=C
    )
    for m, n, k in SIZES if dtype[0] == "f" else SIZES[::3]:
        x, y, z = numbers(rng, dtype, m, k), numbers(rng, dtype, k, n), numbers(rng, dtype, m, n)
        exact, given = np.dot(x, y), (*give(x, y), z)
        bound = 40 * np.finfo(dtype).eps * (k + 1) ** 0.5
        whole = call(f, 1, *given)
        np.testing.assert_allclose(whole[0], exact, rtol=1e-3, atol=bound)
        np.testing.assert_allclose(whole[1], z - exact * np.asarray(0.5, dtype), rtol=1e-3, atol=bound)
        for threads in (2, 7):
            for got, wanted in zip(call(f, threads, *given), whole, strict=True):
                np.testing.assert_array_equal(got, wanted)


VECTORS = {
    "plain": (lambda a, v: T.dot(a, v), lambda x, y: (x, y)),
    "transposed": (lambda a, v: T.dot(a.T, v), lambda x, y: (x.T.copy(), y)),
    "strided": (lambda a, v: T.dot(a, v[::2]), lambda x, y: (x, y.repeat(2))),
    "from the left": (lambda a, v: T.dot(v, a), lambda x, y: (x.T.copy(), y)),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", list(VECTORS))
def test_a_matrix_by_a_vector_has_the_same_bits_with_any_number_of_threads(rng, form, dtype):
    write, give = VECTORS[form]
    a, v, u = (T.tensor(name, dtype=dtype, shape=(None,) * d) for name, d in (("a", 2), ("v", 1), ("u", 1)))
    f = tg.function([a, v, u], [write(a, v), u + write(a, v)], mode=C)
    for m, k in [(0, 5), (5, 0), (1, 300_000), (300_000, 1), (300_000, 5), (33, 20_000), (20_000, 31), (700, 900),
                 (3000, 513)]:  # fmt: skip
        x, y, z = numbers(rng, dtype, m, k), numbers(rng, dtype, k), numbers(rng, dtype, m)
        given = (*give(x, y), z)
        whole = call(f, 1, *given)
        np.testing.assert_allclose(whole[0], x @ y, rtol=1e-3, atol=200 * np.finfo(dtype).eps * (k + 1) ** 0.5)
        for threads in (2, 7):
            for got, wanted in zip(call(f, threads, *given), whole, strict=True):
                np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize(
    "m, n, k, counts",
    [
        (1000, 1000, 1000, [4, 3, 1]),  # with 2, 3 and 1 threads; each thread has as many
        (2000, 2000, 300, [8, 9, 1]),
        (64, 1000, 1000, [2, 2, 1]),  # few rows, few blocks
        (130, 1000, 1000, [2, 3, 1]),
        (47, 2000, 2000, [1, 1, 1]),
        (120, 120, 120, [1, 1, 1]),  # too small
        (180, 180, 180, [2, 2, 1]),
    ],
)
def test_large_products_are_dealt_out_in_blocks_of_rows(rng, dealt, m, n, k, counts):
    a, b = T.dmatrix("a"), T.dmatrix("b")
    f = tg.function([a, b], T.dot(a, b), mode=C)
    x, y = numbers(rng, "float64", m, k), numbers(rng, "float64", k, n)
    for threads, count in zip((2, 3, 1), counts, strict=True):
        dealt.clear()
        np.testing.assert_allclose(call(f, threads, x, y), x @ y, rtol=1e-8, atol=1e-9)
        assert dealt == ([] if count == 1 else [count])


def test_large_matrices_by_vectors_are_dealt_out_and_transposed_ones_in_few_pieces(rng, dealt):
    a, v = T.dmatrix("a"), T.dvector("v")
    plain, turned = (tg.function([a, v], T.dot(m, v), mode=C) for m in (a, a.T))
    for n, counts in ((300, [[], []]), (1000, [[7], []]), (2000, [[8], [2]])):
        x, y = numbers(rng, "float64", n, n), numbers(rng, "float64", n)
        for f, count in zip((plain, turned), counts, strict=True):
            dealt.clear()
            call(f, 2, x, y)
            assert dealt == count


def test_products_inside_of_the_teams_parts_are_whole(rng, dealt):
    a, b = T.dtensor3("a"), T.dtensor3("b")
    f = tg.function([a, b], T.matmul(a, b), mode=C)
    x, y = numbers(rng, "float64", 3, 300, 300), numbers(rng, "float64", 3, 300, 300)
    np.testing.assert_allclose(call(f, 2, x, y), x @ y, rtol=1e-8, atol=1e-9)
    assert dealt == [3]
    dealt.clear()
    np.testing.assert_allclose(call(f, 2, x[:1], y[:1]), x[:1] @ y[:1], rtol=1e-8, atol=1e-9)
    assert dealt == [2]  # a batch of one is no batch


def test_steps_of_loops_deal_out_large_products_only(rng, dealt):
    h, w = T.dmatrix("h"), T.dmatrix("w")
    states = tg.scan(lambda s, w: T.tanh(T.dot(s, w)), outputs_info=[h], non_sequences=[w], n_steps=5)[0]
    f = tg.function([h, w], states[-1], mode=C)
    for n, count in ((50, 0), (120, 0), (200, 5)):
        dealt.clear()
        x, y = numbers(rng, "float64", n, n) / n, numbers(rng, "float64", n, n) / n
        want = x
        for _ in range(5):
            want = np.tanh(want @ y)
        np.testing.assert_allclose(call(f, 2, x, y), want, rtol=1e-9, atol=1e-12)
        assert len([n for n in dealt if n == 2]) == count


def test_what_a_product_is_added_to_and_a_memory_limit(rng, dealt):
    w = tg.shared(numbers(rng, "float64", 500, 400), "w")
    x = T.tensor("x", dtype="float64", shape=(300, 500))
    cost = T.sqr(T.tanh(T.dot(x, w))).sum()
    before, given = w.get_value(), numbers(rng, "float64", 300, 500)
    found = []
    for threads in (1, 2):
        for limit in (None, 1.0):
            w.set_value(before)
            updates = [(w, w - 0.01 * tg.grad(cost, w))]
            f = tg.function([x], cost, updates=updates, mode=C, memory_limit=limit)
            dealt.clear()
            found.append((call(f, threads, given), w.get_value()))
            assert len([n for n in dealt if n == 2]) >= (2 if threads == 2 else 0)
    for _, value in found[1:]:
        np.testing.assert_allclose(value, found[0][1], rtol=1e-12)


def test_functions_called_from_two_threads_share_the_team(rng):
    a, b = T.dmatrix("a"), T.dmatrix("b")
    f = tg.function([a, b], T.dot(a, b), mode=C)
    x, y = numbers(rng, "float64", 300, 300), numbers(rng, "float64", 300, 300)
    want, wrong = call(f, 1, x, y), []

    def work():
        for _ in range(30):
            if not np.array_equal(f(x, y), want):
                wrong.append(1)

    with tg.config.change_flags(threads=3):
        glue.use_threads()
        workers = [threading.Thread(target=work) for _ in range(3)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_deals_out_its_own_products(rng):
    a, b = T.dmatrix("a"), T.dmatrix("b")
    f = tg.function([a, b], T.dot(a, b), mode=C)
    x, y = numbers(rng, "float64", 400, 400), numbers(rng, "float64", 400, 400)
    want = call(f, 2, x, y)
    pid = os.fork()
    if pid == 0:
        os._exit(0 if np.array_equal(call(f, 2, x, y), want) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


BITS = """
import numpy as np, termgraph as tg, termgraph.tensor as T
from termgraph.backends.c.run import glue
rng = np.random.default_rng(SEED)
for dtype in ("float32", "float64", "complex64", "complex128"):
    a, b = (T.tensor(name, dtype=dtype, shape=(None, None)) for name in "ab")
    f = tg.function([a, b], T.dot(a, b), mode=tg.Mode(linker="c"))
    for _ in range(12):
        m, n, k = (int(rng.choice([rng.integers(20, 100), rng.integers(100, 900)])) for _ in range(3))
        x, y = rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)
        for left, right in ((x, y), (np.asfortranarray(x), y), (x, np.asfortranarray(y))):
            found = []
            for threads in (1, 2, 5):
                with tg.config.change_flags(threads=threads):
                    glue.use_threads()
                    found.append(f(left, right).tobytes())
            assert len(set(found)) == 1, (dtype, m, n, k)
"""


@pytest.mark.slow
@pytest.mark.parametrize("core, needs", [("Sandybridge", "avx"), ("Haswell", "avx2"), ("SkylakeX", "avx512f")])
def test_blocks_have_the_same_bits_with_the_kernels_of_other_processors(core, needs, rng):
    if needs not in processor_flags():
        pytest.skip(f"this processor has no {needs}")
    program = BITS.replace("SEED", str(int(rng.integers(1000))))
    environment = {**os.environ, "OPENBLAS_CORETYPE": core}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


def test_blocks_begin_where_kernels_begin():
    assert all(ROWS % height == 0 for height in (2, 4, 8, 12, 24))
