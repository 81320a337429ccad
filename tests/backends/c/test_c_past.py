"""Results that are longer than the caches: written past them from small blocks, with the same bits."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.backends.c.build.program_library import build_library
from termgraph.backends.c.run import glue
from termgraph.backends.c.signature import Input, Output, Signature
from termgraph.backends.c.text.past_caches import CACHED
from termgraph.config import config

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")

LINKER = "c"
LONG = CACHED // 8 + (1 << 20) + 5  # float64, more than three quarters of most caches and no whole vectors
# A kernel that copies x to two results, of which one begins at its second element, and counts its runs in a third.
COPIES = """
typedef struct { char *buf[4]; } context;
static void copy(void *given, int64_t begin, int64_t end, int64_t part)
{
    context *c = given;
    const double *x = (void *)c->buf[0];
    double *y = (void *)c->buf[1];
    float *z = (void *)c->buf[2];
    for (int64_t i = begin; i < end; i++) y[i + 1] = x[i], z[i] = (float)x[i];
    __atomic_add_fetch((int64_t *)c->buf[3], 1, __ATOMIC_RELAXED);
}
int tg_plan(int64_t *env, char *const *buf, tg_status *st)
{
    env[2] = env[0] + 1, env[3] = env[0], env[4] = 1;
    return 0;
}
int tg_run(char **buf, const int64_t *env, tg_status *st)
{
    context c = {{buf[0], buf[1], buf[2], buf[3]}};
    *(double *)buf[1] = -1;
    const int64_t results[] = {1, 8, 1, 2, 4, 0};
    const tg_past past = {&c, sizeof c, __builtin_offsetof(context, buf), copy, env[0], 1, 1 << 30, 2, results};
    tg_runtime *rt = (tg_runtime *)tg_rt;
    int64_t before = rt->cached;
    for (int k = 0; k < 2; k++) { /* the first time it may be asked how large the caches are */
        *(int64_t *)buf[3] = 0;
        rt->cached = 1;
        tg_rt->each_past(&past);
        if (rt->cached > before) before = rt->cached;
    }
    rt->cached = before;
    return 0;
}
"""
OUTPUTS = [Output("float64", 1), Output("float32", 1), Output("int64", 1)]


@pytest.mark.parametrize("n", [1, 7, 127, 128, 129, 1000, 30_001])
@pytest.mark.parametrize("way", ["glue", "ctypes"])
def test_blocks_make_the_whole(n, way, rng, shared_cache, monkeypatch):
    if way == "ctypes":
        monkeypatch.setattr(glue, "_provider", glue.load_fallback())
    f = glue.bind(
        build_library(COPIES, "copies"), Signature([Input("x", "float64", (None,))], outputs=OUTPUTS, returns="list")
    )
    x = rng.standard_normal(n)
    y, z, runs = f(x)
    np.testing.assert_array_equal(y, np.concatenate([[-1], x]))
    np.testing.assert_array_equal(z, x.astype("float32"))
    assert runs[0] == -(-n // 128)  # 1024 bytes each


def source(inputs, outputs, **options):
    return tg.function(inputs, outputs, **options).source("c")


def test_which_kernels_may():
    x, y, m = T.dvector("x"), T.dvector("y"), T.dmatrix("m")
    shared = tg.shared(np.zeros(3), "s")
    known = T.TensorType("float64", (1000,))("known")
    past = "if (tg_each_past("
    assert past in source([x, y], x + y)
    assert past in source([m], [m * 2, m > 0, m.astype("float32")])
    assert past not in source([x], T.exp(x))  # computes for longer than it waits
    assert past not in source([x], T.sqrt(x))
    assert past not in source([x], T.ones_like(x))  # only writes
    assert past not in source([x], x.sum())
    assert past not in source([x], [], updates={shared: shared * 0.5 + x})  # in place
    assert past not in source([known], known + 1)  # short
    assert past not in source([x], x + 1, mode="FAST_COMPILE")
    assert past not in source([m, x], m + x)  # by rows


@pytest.mark.parametrize("threads", [1, 2])
def test_long_results_are_those_of_short_pieces(threads, rng):
    x, y = T.dvector("x"), T.dvector("y")
    results = [2 * x - y, x > y, (x * y).astype("float32"), T.where(x > 0, y, -1.0)]
    assert "if (tg_each_past(" in source([x, y], results)
    with config.change_flags(threads=threads):
        f = tg.function([x, y], results)
        a, b = rng.standard_normal((2, LONG))
        for _ in range(2):
            whole = f(a, b)
        at = LONG // 2
        for got, *parts in zip(whole, f(a[:at], b[:at]), f(a[at:], b[at:]), strict=True):
            np.testing.assert_array_equal(got, np.concatenate(parts))
    np.testing.assert_array_equal(whole[3], np.where(a > 0, b, -1.0))


def test_a_result_that_begins_behind_another(rng):
    x, y = T.dvector("x"), T.dvector("y")
    f = tg.function([x, y], T.concatenate([x * 2, y + 1]))
    a, b = rng.standard_normal(1001), rng.standard_normal(LONG)
    np.testing.assert_array_equal(f(a, b), np.concatenate([a * 2, b + 1]))


def test_what_later_kernels_read(rng):
    x = T.dvector("x")
    f = tg.function([x], [y := x * 2 + 1, T.cumsum(y)[::-1], y.sum()])
    a = rng.integers(-9, 9, LONG).astype(float)
    got = f(a)
    np.testing.assert_array_equal(got[0], a * 2 + 1)
    np.testing.assert_array_equal(got[1], np.cumsum(a * 2 + 1)[::-1])
    assert got[2] == (a * 2 + 1).sum()
