"""Matrices of a batch that are all multiplied by one matrix, or by a vector, are one product wherever they lie so."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
rng = np.random.default_rng(3)
CALLS = [
    lambda x, w, v: x @ w,
    lambda x, w, v: x @ v,
    lambda x, w, v: x[:, :, None] @ w,
    lambda x, w, v: x @ v[:, None],
    lambda x, w, v: T.transpose(x, (0, 2, 1)) @ T.ones((x.shape[1], 1), dtype=x.dtype),
    lambda x, w, v: x[::-1] @ v,
    lambda x, w, v: x[:, ::2] @ w,
    lambda x, w, v: T.concatenate([x, x]) @ v,
    lambda x, w, v: T.repeat(x, 2, axis=0) @ v,
    lambda x, w, v: T.repeat(x, 2, axis=0) @ T.repeat(T.transpose(x, (0, 2, 1)), 2, axis=0),
    lambda x, w, v: T.concatenate([x, x]) @ T.repeat(T.transpose(x[:, :2], (0, 2, 1)), 2, axis=0),
]


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "int64"])
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("k", range(len(CALLS)))
def test_values(k, known, dtype):
    sizes = ((3, 5, 7, 4), (4, 50, 50, 1), (2, 40, 30, 1), (1, 3, 2, 1), (0, 3, 4, 2), (3, 0, 4, 1))
    for n, rows, inner, columns in sizes:
        shapes = ((n, 2 * rows, inner), (inner, columns), (inner,))
        values = [(10 * rng.normal(size=s)).astype(dtype) for s in shapes]
        args = [T.tensor(dtype=dtype, shape=s if known else (None,) * len(s)) for s in shapes]
        f = tg.function(args, CALLS[k](*args), mode=tg.Mode("c"), on_unused_input="ignore")
        g = tg.function(args, CALLS[k](*args), mode=tg.Mode("py"), on_unused_input="ignore")
        for views in (values, [np.asfortranarray(v) for v in values]):
            wanted = g(*views)
            rtol, atol = (1e-4, 1e-2) if dtype == "float32" else (1e-11, 1e-9)
            np.testing.assert_allclose(f(*views), wanted, rtol=rtol, atol=atol)


def products(f):
    return [line.strip() for line in str(f.stage("loop tree")).splitlines() if line.strip().startswith("gem")]


def test_one_call():
    x, v = T.tensor(dtype="float64", shape=(4, 50, 50)), T.tensor(dtype="float64", shape=(50,))
    f = tg.function([x, v], x @ v, mode=tg.Mode("c"))
    assert len(products(f)) == 1
    assert "tg_gemv_d(" in f.stage("print").source
    assert "tg_gemv_d(c->st" not in f.stage("print").source  # inside a loop over the batch
