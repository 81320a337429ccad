"""Programs of further fields: sequences, graphs, solvers, statistics and finance."""

from typing import Any

import numpy as np
from program_texts import program


# ---------------------------------------------------------------------- sequences and graphs
@program(lambda r: [r.normal(size=(60, 80)), np.full((), 0.7)], (0, 1))
def soft_alignment(B: Any, cost: Any, gamma: Any) -> Any:
    """Soft dynamic time warping: rows are scanned, and each is a scan from left to right."""

    def least(a: Any, b: Any, c: Any) -> Any:
        return -gamma * B.np.logaddexp(B.np.logaddexp(-a / gamma, -b / gamma), -c / gamma)

    def row(above: Any, c: Any) -> Any:
        def cell(left: Any, x: Any) -> Any:
            up, corner, here = x[0], x[1], x[2]
            v = here + least(left, up, corner)
            return v, v

        corner = B.np.concatenate([above[:1] * 0 + 1e3, above[:-1]])
        last, new = B.scan(cell, B.np.full((), 1e3), B.np.stack([above, corner, c], axis=1))
        return new, last

    first = B.np.cumsum(cost[0])
    last, _ = B.scan(row, first, cost[1:])
    return last[-1]


@program(lambda r: [r.integers(0, 4, 70), r.integers(0, 4, 90)])
def needleman_wunsch(B: Any, a: Any, b: Any) -> Any:
    """Global alignment: the best of a row is a running maximum of what comes from above."""
    gap = 2.0 * np.arange(91)

    def row(above: Any, x: Any) -> Any:
        match = B.np.where(B.eq(x, b), 3.0, -1.0)
        best = B.np.maximum(above[:-1] + match, above[1:] - 2.0)
        start = B.np.concatenate([above[:1] - 2.0, best])
        lifted = start + gap

        def up(m: Any, v: Any) -> Any:
            m = B.np.maximum(m, v)
            return m, m

        _, run = B.scan(up, B.np.full((), -1e9), lifted)
        new = run - gap
        return new, new[-1]

    last, ends = B.scan(row, B.np.zeros(91) - gap, a)
    return last[-1], ends


@program(lambda r: [r.integers(0, 50, 400), r.integers(0, 50, 400), r.random(400) + 0.1], (2,))
def bellman_ford(B: Any, source: Any, target: Any, weight: Any) -> Any:
    nodes = np.arange(50)

    def step(d: Any, _: Any) -> Any:
        new = d[source] + weight
        reach = B.np.where(B.eq(target[None, :], nodes[:, None]), new[None, :], 1e6).min(axis=1)
        d = B.np.minimum(d, reach)
        return d, d.max()

    d, _ = B.scan(step, B.np.where(nodes > 0, 1e6, 0.0), None, 20)
    return B.np.where(d < 1e5, d, 0.0).sum(), d


@program(lambda r: [(r.random((40, 40)) < 0.03).astype(float)])
def connected_components(B: Any, a: Any) -> Any:
    near = (a + a.T) > 0

    def step(label: Any, _: Any) -> Any:
        other = B.np.where(near, label[None, :], 1000).min(axis=1)
        label = B.np.minimum(label, other)
        return label, label.sum()

    label, sums = B.scan(step, np.arange(40), None, 40)
    return label, sums, (label[:, None] > label[None, :]).sum(axis=0)


@program(lambda r: [r.normal(size=(200, 3)), r.normal(size=(40, 3)), r.integers(0, 3, 200)])
def nearest_neighbours(B: Any, x: Any, queries: Any, label: Any) -> Any:
    d = ((queries[:, None, :] - x[None, :, :]) ** 2).sum(axis=2)
    near = B.np.argsort(d, axis=1)[:, :5]
    votes = B.eq(label[near][:, :, None], np.arange(3)).sum(axis=1)
    return B.np.argmax(votes, axis=1), B.take_along(d, near, 1)


@program(lambda r: [r.normal(size=(80, 12)), r.normal(size=(79, 12, 12)) * 0.3, r.integers(0, 12, 80)], (0, 1))
def chain_of_labels(B: Any, unary: Any, pairs: Any, label: Any) -> Any:
    """A conditional random field: its likelihood, and marginals by a pass forward and one back."""

    def forward(a: Any, x: Any) -> Any:
        a = B.logsumexp(a[:, None] + x[:, :12], 0, False) + x[:, 12]
        return a, a

    rows = B.np.concatenate([pairs, unary[1:, :, None]], axis=2)
    last, alphas = B.scan(forward, unary[0], rows)
    score = B.take_along(unary, label[:, None], 1).sum() + pairs[np.arange(79), label[:-1], label[1:]].sum()

    def backward(b: Any, x: Any) -> Any:
        b = B.logsumexp(x[:, :12] + (x[:, 12] + b)[None, :], 1, False)
        return b, b

    rows = B.np.concatenate([pairs, B.np.broadcast_to(unary[1:, None, :], (79, 12, 12))[:, :, :1] * 0], axis=2)
    _, betas = B.scan(backward, B.np.zeros(12), rows[::-1])
    return score - B.logsumexp(last, 0, False), betas[-1], alphas[-1]


@program(lambda r: [r.normal(size=(40, 10)), r.integers(1, 10, 8)], (0,))
def temporal_classification(B: Any, logits: Any, label: Any) -> Any:
    """The loss of a sequence of labels with blanks between them."""
    logp = logits - B.logsumexp(logits, 1, True)
    z = B.np.zeros(17, dtype="int64")
    blank = B.np.stack([label * 0, label], axis=1).reshape((16,))
    ext = B.np.concatenate([blank, z[:1]])
    skip = (
        B.np.concatenate([z[:2] > 0, (ext[2:] > 0) & (ext[2:] != ext[:-2])])
        if B.name == "jax"
        else B.np.concatenate([z[:2] > 0, (ext[2:] > 0) & ~B.eq(ext[2:], ext[:-2])])
    )
    emit = logp[:, ext]

    def step(a: Any, e: Any) -> Any:
        one = B.np.concatenate([a[:1] * 0 - 1e9, a[:-1]])
        two = B.np.concatenate([a[:2] * 0 - 1e9, a[:-2]])
        two = B.np.where(skip, two, -1e9)
        a = B.np.logaddexp(B.np.logaddexp(a, one), two) + e
        return a, a[-1]

    start = B.np.concatenate([emit[0, :2], emit[0, 2:] * 0 - 1e9])
    a, _ = B.scan(step, start, emit[1:])
    return -B.np.logaddexp(a[-1], a[-2])


# ---------------------------------------------------------------------- solvers
@program(lambda r: [r.normal(size=(60, 30)), r.normal(size=60), np.full((), 2.0)], (1, 2))
def sparse_regression(B: Any, a: Any, b: Any, penalty: Any) -> Any:
    """Iterative shrinkage with momentum, and its gradient by the penalty."""
    step = 1 / 200.0

    def shrink(carry: Any, t: Any) -> Any:
        x, y = carry
        z = y - step * (a.T @ (a @ y - b))
        new = B.np.sign(z) * B.np.maximum(B.np.abs(z) - step * penalty, 0)
        return (new, new + t * (new - x)), (B.np.abs(new) > 0).sum()

    (x, _), counts = B.scan(shrink, (B.np.zeros(30), B.np.zeros(30)), np.arange(60) / (np.arange(60) + 3.0))
    return 0.5 * ((a @ x - b) ** 2).sum() + penalty * B.np.abs(x).sum(), counts


@program(lambda r: [r.normal(size=(40, 40)), r.normal(size=40)])
def krylov_space(B: Any, a: Any, v: Any) -> Any:
    """Lanczos: a tridiagonal matrix of a symmetric one, and its eigenvalues."""
    a = a + a.T

    def step(carry: Any, _: Any) -> Any:
        v, before, beta = carry
        w = a @ v - beta * before
        alpha = w @ v
        w = w - alpha * v
        beta = B.np.sqrt((w**2).sum())
        return (w / beta, v, beta), B.np.stack([alpha, beta])

    v = v / B.np.sqrt((v**2).sum())
    _, rows = B.scan(step, (v, v * 0, B.np.zeros(())), None, 8)
    return rows, B.np.linalg.eigvalsh(B.np.diag(rows[:, 0]) + B.np.diag(rows[:-1, 1], 1) + B.np.diag(rows[:-1, 1], -1))


@program(lambda r: [r.normal(size=(12, 12)) + 4 * np.eye(12), r.normal(size=12)], (0, 1))
def elimination_by_loops(B: Any, a: Any, b: Any) -> Any:
    """Gaussian elimination written by hand."""
    rows = np.arange(12)

    def step(m: Any, k: Any) -> Any:
        pivot = m[k]
        factor = m[:, k] / pivot[k]
        keep = B.eq(rows, k)
        m = B.np.where(keep[:, None], m / pivot[k], m - factor[:, None] * pivot[None, :])
        return m, pivot[k]

    m, pivots = B.scan(step, B.np.concatenate([a, b[:, None]], axis=1), rows)
    return (m[:, -1] ** 2).sum() + B.np.log(B.np.abs(pivots)).sum(), m[:, -1]


@program(lambda r: [r.normal(size=(30, 10))], (0,))
def gram_schmidt(B: Any, a: Any) -> Any:
    cols: list = []
    for k in range(10):
        v = a[:, k]
        for q in cols:
            v = v - (q @ v) * q
        cols.append(v / B.np.sqrt((v**2).sum()))
    q = B.np.stack(cols, axis=1)
    return (q[:5] ** 3).sum(), q.T @ a


@program(lambda r: [np.linspace(0.5, 1.5, 200), r.normal(size=200)], (0,))
def roots_by_newton(B: Any, a: Any, x: Any) -> Any:
    def step(x: Any, _: Any) -> Any:
        f, g = x**3 + a * x - 1, 3 * x**2 + a
        return x - f / g, B.np.abs(f).max()

    x, worst = B.scan(step, x, None, 30)
    return (x**2).sum(), worst


@program(lambda r: [r.normal(size=(500,)), np.array([0.1, 0.5, 0.9])])
def projection_on_simplex(B: Any, v: Any, level: Any) -> Any:
    u = B.np.sort(v)[::-1]
    sums = B.np.cumsum(u)
    k = np.arange(1, 501)
    rho = (u + (1 - sums) / k > 0).sum()
    shift = (1 - sums[rho - 1]) / rho
    return B.np.maximum(v + shift, 0), B.np.quantile(v, level), rho


@program(lambda r: [np.sort(r.normal(size=150)) + r.normal(size=150) * 0.3])
def isotonic_regression(B: Any, y: Any) -> Any:
    """The largest mean to the left of the smallest mean to the right."""
    sums = B.np.concatenate([B.np.zeros(1), B.np.cumsum(y)])
    n = np.arange(151)
    mean = (sums[None, 1:] - sums[:-1, None]) / np.maximum(n[None, 1:] - n[:-1, None], 1)
    mean = B.np.where(n[None, 1:] > n[:-1, None], mean, np.inf)

    def left(best: Any, row: Any) -> Any:
        low = row.min()
        best = B.np.maximum(best, low)
        return best, best

    def ends(m: Any) -> Any:
        def back(low: Any, c: Any) -> Any:
            low = B.np.minimum(low, c)
            return low, low

        _, out = B.scan(back, B.np.full((150,), np.inf), m.T[::-1])
        return out[::-1].T

    low = ends(mean)
    fit = B.np.where(n[None, 1:] > n[:-1, None], low, -np.inf).max(axis=0)
    _, running = B.scan(left, B.np.full((), -np.inf), mean)
    return fit, running


@program(lambda r: [r.normal(size=(90, 4)), r.normal(size=90), np.zeros(4)], (2,))
def quantile_regression(B: Any, x: Any, y: Any, w: Any) -> Any:
    def step(w: Any, k: Any) -> Any:
        e = y - x @ w
        g = -(x * B.np.where(e > 0, 0.8, -0.2)[:, None]).mean(axis=0)
        return w - 0.5 / B.np.sqrt(k) * g, B.np.maximum(0.8 * e, -0.2 * e).mean()

    w, losses = B.scan(step, w, np.arange(1.0, 101.0))
    return losses[-1] + (w**2).sum(), losses


# ---------------------------------------------------------------------- statistics and finance
@program(lambda r: [r.normal(size=(120, 2)), np.array([0.9, 0.1, -1.0, -0.5])], (1,))
def smoother(B: Any, y: Any, p: Any) -> Any:
    """A Kalman filter with a backward pass over what it kept."""
    a = B.np.stack([B.np.stack([p[0], p[1]]), B.np.stack([-p[1], p[0]])])
    q, r = B.np.exp(p[2]) * B.np.eye(2), B.np.exp(p[3]) * B.np.eye(2)

    def step(carry: Any, obs: Any) -> Any:
        m, c = carry
        mp, cp = a @ m, a @ c @ a.T + q
        gain = B.np.linalg.solve(cp + r, cp).T
        m, c = mp + gain @ (obs - mp), cp - gain @ cp
        return (m, c), B.np.concatenate([m[:, None], c, mp[:, None], cp], axis=1)

    _, kept = B.scan(step, (B.np.zeros(2), B.np.eye(2)), y)

    def back(carry: Any, row: Any) -> Any:
        ms, mp, cp = carry
        g = B.np.linalg.solve(cp, a @ row[:, 1:3]).T
        ms = row[:, 0] + g @ (ms - mp)
        return (ms, row[:, 3], row[:, 4:]), ms

    last = kept[-1]
    _, smooth = B.scan(back, (last[:, 0], last[:, 3], last[:, 4:]), kept[:-1][::-1])
    return ((smooth - y[:-1][::-1]) ** 2).mean(), smooth


@program(lambda r: [r.normal(size=(300, 2)) + 2 * r.integers(0, 2, (300, 1)), r.normal(size=(3, 2))])
def mixture_by_em(B: Any, x: Any, mean: Any) -> Any:
    def step(carry: Any, _: Any) -> Any:
        mean, var, weight = carry
        d = (x[:, None, :] - mean) ** 2 / var
        logp = -0.5 * (d + B.np.log(2 * np.pi * var)).sum(axis=2) + B.np.log(weight)
        total = B.logsumexp(logp, 1, True)
        r = B.np.exp(logp - total)
        n = r.sum(axis=0)
        mean = (r.T @ x) / n[:, None]
        var = (r[:, :, None] * (x[:, None, :] - mean) ** 2).sum(axis=0) / n[:, None] + 1e-3
        return (mean, var, n / 300), total.sum()

    return B.scan(step, (mean, B.np.ones((3, 2)), B.np.ones(3) / 3), None, 25)


@program(lambda r: [np.array([100.0, 0.25, 0.04, 98.0])], (0,))
def option_on_a_lattice(B: Any, p: Any) -> Any:
    """An American put on a binomial tree of 200 steps."""
    n, dt = 200, 1 / 200
    up = B.np.exp(p[1] * np.sqrt(dt))
    q = (B.np.exp(p[2] * dt) - 1 / up) / (up - 1 / up)
    places = np.arange(n + 1)

    def price(t: Any) -> Any:
        return p[0] * B.np.exp(p[1] * np.sqrt(dt) * (2.0 * places - t))

    def back(v: Any, t: Any) -> Any:
        held = B.np.exp(-p[2] * dt) * (q * B.np.concatenate([v[1:], v[-1:]]) + (1 - q) * v)
        v = B.np.maximum(held, p[3] - price(t))
        return v, v[0]

    v, path = B.scan(back, B.np.maximum(p[3] - price(n * 1.0), 0), np.arange(n - 1.0, -1.0, -1.0))
    return v[0], path


@program(lambda r: [np.exp(np.cumsum(r.normal(size=(20, 400)) * 0.1, axis=0))])
def exercise_by_regression(B: Any, paths: Any) -> Any:
    """Longstaff and Schwartz: exercise now, or what a polynomial says of the future."""

    def back(cash: Any, s: Any) -> Any:
        gain = B.np.maximum(1.05 - s, 0)
        inside = (gain > 0).astype("float64")
        f = B.np.stack([s * 0 + 1, s, s * s], axis=1)
        m = (f * inside[:, None]).T @ f + 1e-6 * B.np.eye(3)
        c = f @ B.np.linalg.solve(m, f.T @ (inside * cash))
        cash = 0.99 * B.np.where((gain > c) & (gain > 0), gain, cash)
        return cash, cash.mean()

    return B.scan(back, B.np.maximum(1.05 - paths[-1], 0), paths[:-1][::-1])


@program(lambda r: [np.array([0.4, 0.1, 0.02]), r.random(100)], (0,))
def epidemic(B: Any, p: Any, seen: Any) -> Any:
    def step(carry: Any, y: Any) -> Any:
        s, i, r = carry
        new, well, lost = p[0] * s * i, p[1] * i, p[2] * r
        return (s - new + lost, i + new - well, r + well - lost), (i - y) ** 2

    (s, i, r), errors = B.scan(step, (B.np.full((), 0.99), B.np.full((), 0.01), B.np.zeros(())), seen)
    return errors.mean(), s, i, r
