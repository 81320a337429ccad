"""Programs whose steps are the work: decoding and sampling, learning to act, lattices, splitting and games."""

from typing import Any

import numpy as np
from program_texts import program


# ---------------------------------------------------------------------- models that go step by step
@program(lambda r: [r.normal(size=16), *[r.normal(size=(16, 16)) * 0.3 for _ in range(4)]], (1, 4), rtol=1e-6)
def decoding_with_a_cache(B: Any, first: Any, q: Any, k: Any, v: Any, out: Any) -> Any:
    """Each token attends to those before it, whose keys and values are kept."""

    def step(carry: Any, row: Any) -> Any:
        x, keys, values = carry
        here = B.eq(B.np.arange(48), row)[:, None]
        keys, values = B.np.where(here, x @ k, keys), B.np.where(here, x @ v, values)
        scores = B.np.where(B.np.arange(48) <= row, keys @ (x @ q) / 4, -1e9)
        w = B.np.exp(scores - scores.max())
        new = B.np.tanh(x + (w / w.sum()) @ values @ out)
        return (new, keys, values), new

    empty = B.np.zeros((48, 16))
    _, xs = B.scan(step, (first, empty, empty), np.arange(48))
    return (xs**2).sum(), xs[-1]


@program(lambda r: [r.normal(size=(128, 16)), -np.exp(r.normal(size=(16, 8))), r.normal(size=(16, 8)),
                    r.normal(size=(16, 8)), r.normal(size=16)], (1, 2, 4))  # fmt: skip
def selective_state_space(B: Any, x: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """What a state keeps depends on the input: steps of a length that it chooses."""

    def step(h: Any, row: Any) -> Any:
        dt = B.np.log(1 + B.np.exp(row * d))[:, None]
        h = B.np.exp(dt * a) * h + dt * (row @ b) * row[:, None]
        return h, (h * (row @ c)).sum(axis=1)

    _, y = B.scan(step, B.np.zeros((16, 8)), x)
    return (y**2).mean(), y[-1]


@program(lambda r: [r.normal(size=(64, 16)), r.normal(size=(16, 6)), r.normal(size=(6, 16, 24)) * 0.3,
                    r.normal(size=(6, 24, 16)) * 0.3], (1, 2))  # fmt: skip
def mixture_of_experts(B: Any, x: Any, gate: Any, up: Any, down: Any) -> Any:
    """Each row goes to the two experts whose scores are highest, weighed by these."""
    scores = x @ gate
    best = scores.max(axis=1)[:, None]
    second = B.np.where(scores < best, scores, -1e9).max(axis=1)[:, None]
    w = B.np.where(scores >= second, B.np.exp(scores - best), 0.0)
    w = w / w.sum(axis=1)[:, None]
    y = B.np.maximum(x[None] @ up, 0) @ down
    y = (y * w.T[:, :, None]).sum(axis=0)
    return ((y - x) ** 2).mean(), w.mean(axis=0)


@program(lambda r: [r.normal(size=(64, 2)), r.normal(size=(40, 64, 2)), r.normal(size=(3, 32)) * 0.5,
                    r.normal(size=(32, 2)) * 0.3], (2, 3))  # fmt: skip
def sampling_by_diffusion(B: Any, x: Any, noise: Any, w1: Any, w2: Any) -> Any:
    """Noise is taken away in forty steps, each of which adds a little anew."""
    beta = np.linspace(1e-3, 0.1, 40)[::-1].copy()
    kept = np.cumprod(1 - beta[::-1])[::-1].copy()

    def step(x: Any, row: Any) -> Any:
        n, t = row[:, :2], row[0, 2:]
        guess = B.np.tanh(x @ w1[:2] + t[1] * w1[2]) @ w2
        x = (x - t[0] / B.np.sqrt(1 - t[1]) * guess) / B.np.sqrt(1 - t[0]) + B.np.sqrt(t[0]) * n
        return x, (x**2).mean()

    times = np.broadcast_to(np.stack([beta, kept], axis=1)[:, None], (40, 64, 2))
    x, sizes = B.scan(step, x, B.np.concatenate([noise, times], axis=2))
    return (x**2).sum(), sizes


# ---------------------------------------------------------------------- learning to act
@program(lambda r: [r.uniform(size=(4, 50, 50)) ** 8, r.normal(size=(50, 4))], (1,))
def value_iteration(B: Any, moves: Any, reward: Any) -> Any:
    moves = moves / moves.sum(axis=2)[:, :, None]

    def step(v: Any, _: Any) -> Any:
        new = (reward + 0.95 * (moves @ v).T).max(axis=1)
        return new, B.np.abs(new - v).max()

    v, errors = B.scan(step, B.np.zeros(50), None, 200)
    return v.mean(), errors


@program(lambda r: [r.normal(size=(12, 4)) * 0.1, r.uniform(size=(300, 8)), r.uniform(size=(12, 4))])
def learning_by_rewards(B: Any, theta: Any, draws: Any, pays: Any) -> Any:
    """Eight walkers on a ring choose by a softmax and are paid; each step moves what they choose by."""

    def step(carry: Any, u: Any) -> Any:
        theta, at, base = carry
        e = B.np.exp(theta[at])
        p = e / e.sum(axis=1)[:, None]
        chosen = (B.np.cumsum(p, axis=1) < u[:, None]).sum(axis=1)
        pay = pays[at, chosen]
        here = B.np.where(B.eq(B.np.arange(4), chosen[:, None]), 1.0, 0.0) - p
        theta = theta + 0.1 * B.add_at((12, 4), at, (pay - base)[:, None] * here)
        return (theta, (at + chosen - 1) % 12, 0.9 * base + 0.1 * pay.mean()), pay.mean()

    (theta, _, base), paid = B.scan(step, (theta, np.arange(8), B.np.zeros(())), draws)
    return theta, base, paid[-50:].mean()


@program(lambda r: [np.array([0.5, 0.4, 0.3, 0.2]), r.normal(size=(20, 2))], (0,))
def arm_that_reaches(B: Any, lengths: Any, targets: Any) -> Any:
    """Angles of four joints, by damped least squares, for twenty targets."""
    targets = 0.4 * B.np.tanh(targets)

    def step(q: Any, _: Any) -> Any:
        angles = B.np.cumsum(q, axis=1)
        xs, ys = lengths * B.np.cos(angles), lengths * B.np.sin(angles)
        wrong = targets - B.np.stack([xs.sum(axis=1), ys.sum(axis=1)], axis=1)
        j = B.np.stack([-B.np.cumsum(ys[:, ::-1], axis=1)[:, ::-1], B.np.cumsum(xs[:, ::-1], axis=1)[:, ::-1]], axis=1)
        m = j @ B.np.swapaxes(j, 1, 2) + 0.01 * np.eye(2)
        q = q + (B.np.linalg.solve(m, wrong[:, :, None]) * j).sum(axis=1)
        return q, (wrong**2).sum()

    q, errors = B.scan(step, np.full((20, 4), 0.3), None, 30)
    return (q**2).sum(), errors


# ---------------------------------------------------------------------- lattices and splitting
@program(lambda r: [r.uniform(size=(48, 48)) * 0.1, np.array(0.6)], (1,))
def lattice_of_fluid(B: Any, bump: Any, tau: Any) -> Any:
    """Lattice Boltzmann: nine densities that stream to neighbours and relax."""
    ways = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]
    weights = [4 / 9, *[1 / 9] * 4, *[1 / 36] * 4]

    def step(f: Any, _: Any) -> Any:
        f = B.np.stack([B.np.roll(f[k], way, (0, 1)) for k, way in enumerate(ways)])
        rho = f.sum(axis=0)
        u = sum(way[0] * f[k] for k, way in enumerate(ways) if way[0]) / rho
        v = sum(way[1] * f[k] for k, way in enumerate(ways) if way[1]) / rho
        speed = 1.5 * (u**2 + v**2)
        along = [3 * (way[0] * u + way[1] * v) for way in ways]
        rest = B.np.stack([w * rho * (1 + a + 0.5 * a**2 - speed) for w, a in zip(weights, along)])
        return f - (f - rest) / tau, speed.max()

    f, speeds = B.scan(step, B.np.stack([w * (1 + bump) for w in weights]), None, 40)
    return (f[1] ** 2).sum(), speeds


@program(lambda r: [r.normal(size=(80, 120)), r.normal(size=80), np.array(0.1)], (1,))
def sparse_signal_by_splitting(B: Any, a: Any, y: Any, penalty: Any) -> Any:
    """The lasso by ADMM: one matrix for all steps."""
    m = a.T @ a + np.eye(120)

    def step(carry: Any, _: Any) -> Any:
        z, u = carry
        x = B.np.linalg.solve(m, a.T @ y + z - u)
        z = B.np.sign(x + u) * B.np.maximum(B.np.abs(x + u) - penalty, 0)
        return (z, u + x - z), B.np.abs(x - z).max()

    (z, _), gaps = B.scan(step, (np.zeros(120), np.zeros(120)), None, 100)
    return (z**2).sum(), gaps


@program(lambda r: [r.normal(size=100), np.array(0.2)], (0, 1))
def implicit_diffusion(B: Any, start: Any, rate: Any) -> Any:
    """Crank and Nicolson's steps with a source that depends on the values."""
    second = np.eye(100, k=1) + np.eye(100, k=-1) - 2 * np.eye(100)
    ahead, behind = np.eye(100) - rate * second, np.eye(100) + rate * second

    def step(u: Any, _: Any) -> Any:
        u = B.np.linalg.solve(ahead, behind @ u + 0.01 * u * (1 - u))
        return u, u.max()

    u, highest = B.scan(step, start, None, 100)
    return (u**2).sum(), highest


@program(lambda r: [r.integers(0, 40, size=(2000, 2)), r.integers(0, 2, size=2000) * 1.0, np.array(0.3)], (2,))
def ratings_of_players(B: Any, pairs: Any, won: Any, k: Any) -> Any:
    """Elo's ratings, game by game, and how well they foretold the games."""

    def step(carry: Any, row: Any) -> Any:
        rating, lost, t = carry
        p = 1 / (1 + B.np.exp(rating[row[1]] - rating[row[0]]))
        w = won[t]
        lost = lost - B.np.log(B.np.where(w > 0.5, p, 1 - p))
        change = k * (w - p)
        rating = rating + B.add_at((40,), row[0], change) - B.add_at((40,), row[1], change)
        return (rating, lost, t + 1), p

    (rating, lost, _), p = B.scan(step, (np.zeros(40), np.zeros(()), np.array(0)), pairs)
    return lost, rating, p.mean()


@program(lambda r: [r.uniform(size=(40, 3, 2)) * 64, r.uniform(size=40), r.uniform(size=(40, 3))], (2,))
def painted_triangles(B: Any, corners: Any, depth: Any, colours: Any) -> Any:
    """Triangles are drawn with a depth buffer and soft edges."""
    y, x = np.mgrid[:64, :64] + 0.5

    def step(carry: Any, row: Any) -> Any:
        image, near = carry
        (ax, ay, bx, by, cx, cy), z = [row[k] for k in range(6)], row[6]
        side = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        u = ((by - cy) * (x - cx) + (cx - bx) * (y - cy)) / side
        v = ((cy - ay) * (x - cx) + (ax - cx) * (y - cy)) / side
        inside = (u > 0) & (v > 0) & (u + v < 1) & (z < near)
        image = B.np.where(inside[:, :, None], row[7:] * (1 - z), image)
        return (image, B.np.where(inside, z, near)), inside.sum()

    rows = B.np.concatenate([corners.reshape((40, 6)), depth[:, None], colours], axis=1)
    start = (B.np.zeros((64, 64, 3)), B.np.ones((64, 64)))
    (image, near), painted = B.scan(step, start, rows)
    return (image**2).sum(), near.mean(), painted


@program(lambda r: [r.normal(size=(60, 100)), r.normal(size=60)])
def matching_pursuit(B: Any, a: Any, y: Any) -> Any:
    """Columns are chosen one by one, and all chosen are fitted anew."""
    a = a / B.np.sqrt((a**2).sum(axis=0))
    gram, seen = a.T @ a, a.T @ y

    def step(carry: Any, _: Any) -> Any:
        chosen, x = carry
        score = B.np.where(chosen > 0, -1.0, B.np.abs(seen - gram @ x))
        chosen = B.np.where(B.eq(B.np.arange(100), B.np.argmax(score)), 1.0, chosen)
        m = gram * chosen[:, None] * chosen + B.np.eye(100) * (1 - chosen)
        x = B.np.linalg.solve(m, seen * chosen)
        return (chosen, x), ((y - a @ x) ** 2).sum()

    (_, x), errors = B.scan(step, (np.zeros(100), np.zeros(100)), None, 12)
    return x, errors


@program(lambda r: [r.normal(size=60), r.normal(size=(60, 100)), r.uniform(size=60), np.array([0.9, -0.5, 0.3])], (3,))
def particle_filter(B: Any, y: Any, noise: Any, u: Any, theta: Any) -> Any:
    """Particles move, are weighed by what is observed, and drawn anew at equal distances."""
    n = 100

    def step(carry: Any, t: Any) -> Any:
        x, likelihood = carry
        x = theta[0] * x + B.np.exp(theta[1]) * noise[t]
        logs = -0.5 * ((y[t] - x) * B.np.exp(-theta[2])) ** 2 - theta[2]
        total = B.logsumexp(logs, 0, False)
        w = B.np.exp(logs - total)
        drawn = B.np.minimum(B.np.searchsorted(B.np.cumsum(w), (B.np.arange(n) + u[t]) / n), n - 1)
        return (x[drawn], likelihood + total - np.log(n)), (w * x).sum()

    (x, likelihood), means = B.scan(step, (B.np.zeros(n), B.np.zeros(())), np.arange(60))
    return likelihood, means, B.np.sort(x)


@program(lambda r: [r.normal(size=(80, 3)), np.sign(r.normal(size=80)), np.array([0.2, -0.1])], (2,))
def classes_by_gaussian_process(B: Any, x: Any, y: Any, theta: Any) -> Any:
    """Newton's steps to the mode of the posterior, and Laplace's approximation of the evidence there."""
    d = ((x[:, None] - x[None]) ** 2).sum(axis=-1)
    k = B.np.exp(theta[0] - 0.5 * d * B.np.exp(theta[1])) + 1e-6 * B.np.eye(80)

    def step(f: Any, _: Any) -> Any:
        chance = 1 / (1 + B.np.exp(-y * f))
        w = chance * (1 - chance)
        root, b = B.np.sqrt(w), w * f + y * (1 - chance)
        inner = B.np.eye(80) + root[:, None] * k * root[None]
        a = b - root * B.np.linalg.solve(inner, root * (k @ b))
        f = k @ a
        logs = -0.5 * (a * f).sum() - B.np.log1p(B.np.exp(-y * f)).sum()
        return f, logs - B.np.log(B.np.diagonal(B.np.linalg.cholesky(inner))).sum()

    f, evidence = B.scan(step, B.np.zeros(80), None, 8)
    return evidence[-1], f
