"""Sparse matrices: compiled functions beside SciPy, in one process, by turns.

Matrices of 1e5 x 1e5 and of 1e4 x 1e4 with a million stored elements. Times are medians of the processor's time in ms,
with the best beside them: wall clocks tell of other work on the machine as well. Where SciPy has no function for
something, the NumPy code is what one would write by hand.
"""

import argparse
import os
import re
import statistics
import time

import numpy as np
import scipy.sparse as sp

import termgraph as tg
import termgraph.tensor as T
from termgraph import sparse


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=11, help="rounds of one call each")
    parser.add_argument("--case", default="", help="only cases whose name has this in it (a regular expression)")
    parser.add_argument("--quick", action="store_true", help="matrices a hundred times smaller")
    asked = parser.parse_args()
    print(f"# load {os.getloadavg()[0]:.1f}; ms of processor time per call, median (best)")
    print(f"{'case':<28} {'termgraph':>20} {'scipy':>20}   best / best")
    for name, ours, theirs in cases(100 if asked.quick else 1):
        if re.search(asked.case, name):
            show(name, *by_turns((ours(), theirs), asked.repeats))
    return 0


def cases(smaller):
    """Name, what makes our call, their call."""
    rng = np.random.default_rng(0)
    n, m, nnz = 10**5 // smaller, 10**4 // smaller, 10**6 // smaller
    a, b = made(rng, n, nnz), made(rng, m, nnz)
    x, y = rng.normal(size=n), rng.normal(size=(m, 64))
    wa, wb, s, v, w = tg.shared(a), tg.shared(b), sparse.csr_matrix("s"), T.dvector("v"), T.dmatrix("w")
    ax, ay = sp.csr_array(a), sp.csr_array(b)

    def slope_a():
        z = a @ x
        return sp.csr_matrix((2 * np.repeat(z, np.diff(a.indptr)) * x[a.indices], a.indices, a.indptr), a.shape)

    def slope_b():
        z, rows = 2 * (b @ y), np.repeat(np.arange(m), np.diff(b.indptr))
        return np.concatenate([np.einsum("ij,ij->i", z[i], y[j]) for i, j in blocks(rows, b.indices)])

    yield "a @ x, a an argument", lambda: called([s, v], s @ v, a, x), lambda: a @ x
    yield "a @ x", lambda: called([v], wa @ v, x), lambda: a @ x
    yield "b @ y", lambda: called([w], wb @ w, y), lambda: b @ y
    yield "b.T @ y", lambda: called([w], wb.T @ w, y), lambda: b.T @ y
    yield "tanh(2 a) @ x", lambda: called([v], (wa * 2).tanh() @ v, x), lambda: (a * 2).tanh() @ x
    yield "a.sum(1)", lambda: called([], wa.sum(1)), lambda: a.sum(1)
    yield "a * x", lambda: called([v], wa * v, x), lambda: ax * x
    yield "grad of (a @ x)**2 by a", lambda: called([v], tg.grad(((wa @ v) ** 2).sum(), wa), x), slope_a
    yield "grad of (b @ y)**2 by b", lambda: called([w], tg.grad(((wb @ w) ** 2).sum(), wb), y), slope_b
    yield "a to CSC", lambda: called([], wa.tocsc()), lambda: a.tocsc()
    yield "a + a.T", lambda: called([], wa + wa.T), lambda: a + a.T
    c = ay[: m // 10]
    yield "rows to an array", lambda: called([], wb[: m // 10].toarray()), lambda: c.toarray()
    d = made(rng, n // 5, nnz // 10)
    wd = tg.shared(d)
    yield "d @ d", lambda: called([], wd @ wd), lambda: d @ d


def made(rng, n, nnz):
    rows, columns = rng.integers(0, n, (2, nnz))
    return sp.csr_matrix((rng.normal(size=nnz), (rows, columns)), shape=(n, n))


def blocks(rows, columns, size=1 << 14):
    return [(rows[i : i + size], columns[i : i + size]) for i in range(0, len(rows), size)]


def called(inputs, output, *values):
    f = tg.function(inputs, output)
    return lambda: f(*values)


def by_turns(calls, repeats):
    times = [[] for _ in calls]
    for call in calls:
        call()
    for n in range(repeats):
        for k in (0, 1) if n % 2 else (1, 0):
            begin = time.process_time()
            calls[k]()
            times[k].append((time.process_time() - begin) * 1e3)
    return times


def show(name, ours, theirs):
    columns = " ".join(f"{statistics.median(t):>10.2f} {f'({min(t):.2f})':>9}" for t in (ours, theirs))
    print(f"{name:<28} {columns}   {min(ours) / min(theirs):>6.2f}", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
