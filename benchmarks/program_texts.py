"""Programs of many fields, each written once for termgraph and for JAX: what programs.py times.

A program is a function of `B` (what the two spell differently) and of arrays; `PROGRAMS` has it by name with its
arguments, and with the places of those that gradients of its first result are wanted of.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Program(NamedTuple):
    """A function of B and the arrays that `inputs` makes; `wrt`: gradients by these arguments are results, too."""

    run: Callable
    inputs: Callable[[np.random.Generator], list[np.ndarray]]
    wrt: tuple[int, ...] = ()
    rtol: float = 1e-6


PROGRAMS: dict[str, Program] = {}


def program(inputs: Callable, wrt: tuple[int, ...] = (), rtol: float = 1e-6) -> Callable:
    def note(run: Callable) -> Callable:
        PROGRAMS[run.__name__.replace("_", " ")] = Program(run, inputs, wrt, rtol)
        return run

    return note


# ---------------------------------------------------------------------- statistics
@program(lambda r: [r.normal(size=(300, 3)), r.normal(size=300), np.array([0.1, 0.2, -1.0])], (2,))
def gaussian_process(B: Any, x: Any, y: Any, theta: Any) -> Any:
    scale, length, noise = B.np.exp(theta[0]), B.np.exp(theta[1]), B.np.exp(theta[2])
    d = ((x[:, None, :] - x[None, :, :]) ** 2).sum(axis=-1)
    k = scale * B.np.exp(-0.5 * d / length) + noise * B.np.eye(300)
    low = B.np.linalg.cholesky(k)
    z = B.solve_triangular(low, y)
    return 0.5 * (z**2).sum() + B.np.log(B.np.diagonal(low)).sum() + 150 * np.log(2 * np.pi)


@program(lambda r: [r.normal(size=(400, 2)), r.normal(size=(2, 2)) * 0.1 + np.eye(2), np.array([0.5, -0.3])], (1, 2))
def kalman_filter(B: Any, y: Any, a: Any, logs: Any) -> Any:
    q, r = B.np.exp(logs[0]) * B.np.eye(2), B.np.exp(logs[1]) * B.np.eye(2)

    def step(carry: Any, obs: Any) -> Any:
        m, p, ll = carry
        m, p = a @ m, a @ p @ a.T + q
        s = p + r
        v = obs - m
        gain = B.np.linalg.solve(s, p).T
        ll = ll - 0.5 * (v @ B.np.linalg.solve(s, v) + B.np.log(B.np.linalg.det(s)))
        return (m + gain @ v, p - gain @ p, ll), m

    (_, _, ll), _ = B.scan(step, (B.np.zeros(2), B.np.eye(2), B.np.zeros(())), y)
    return ll


@program(lambda r: [r.normal(size=(20, 20)), r.normal(size=(500, 20))], (0, 1))
def hidden_markov_model(B: Any, logits: Any, emissions: Any) -> Any:
    trans = logits - B.logsumexp(logits, 1, True)

    def step(alpha: Any, e: Any) -> Any:
        alpha = B.logsumexp(alpha[:, None] + trans, 0, False) + e
        return alpha, alpha

    last, _ = B.scan(step, B.np.zeros(20), emissions)
    return B.logsumexp(last, 0, False)


@program(
    lambda r: [
        r.normal(size=(1000, 10)),
        (r.normal(size=1000) > 0).astype(float),
        r.normal(size=10) * 0.1,
        r.normal(size=(20, 10)),
    ]
)
def hamiltonian_monte_carlo(B: Any, x: Any, y: Any, w: Any, momenta: Any) -> Any:
    def energy_gradient(w: Any) -> Any:
        return x.T @ (1 / (1 + B.np.exp(-(x @ w))) - y) + w

    def leap(carry: Any, _: Any) -> Any:
        q, p = carry
        p = p - 0.005 * energy_gradient(q)
        q = q + 0.01 * p
        return (q, p - 0.005 * energy_gradient(q)), q[0]

    def sample(q: Any, p: Any) -> Any:
        (q, p), _ = B.scan(leap, (q, p), None, 10)
        return q, q

    last, path = B.scan(sample, w, momenta)
    return last, path.mean(axis=0)


@program(lambda r: [r.normal(size=(2000, 8)), r.normal(size=(5, 8))])
def k_means(B: Any, x: Any, centers: Any) -> Any:
    def step(c: Any, _: Any) -> Any:
        d = ((x[:, None, :] - c[None, :, :]) ** 2).sum(axis=2)
        one = B.eq(B.np.argmin(d, axis=1)[:, None], B.np.arange(5)[None, :]).astype("float64")
        c = (one.T @ x) / B.np.maximum(one.sum(axis=0), 1)[:, None]
        return c, d.min(axis=1).sum()

    return B.scan(step, centers, None, 15)


@program(lambda r: [r.normal(size=(3000, 4)), r.normal(size=(3, 4)), np.zeros(3), np.zeros((3, 4))], (1, 2, 3))
def gaussian_mixture(B: Any, x: Any, mean: Any, weight: Any, logs: Any) -> Any:
    z = (x[:, None, :] - mean) / B.np.exp(logs)
    parts = -0.5 * (z**2).sum(axis=2) - logs.sum(axis=1) + weight - B.logsumexp(weight, 0, False)
    return B.logsumexp(parts, 1, False).sum()


@program(lambda r: [r.normal(size=(100_000,)), np.array([100.0, 0.2, 0.03])], (1,))
def option_by_monte_carlo(B: Any, z: Any, p: Any) -> Any:
    s = p[0] * B.np.exp((p[2] - 0.5 * p[1] ** 2) + p[1] * z)
    return (B.np.exp(-p[2]) * B.np.maximum(s - 105.0, 0)).mean()


@program(lambda r: [r.random((200, 200)), np.full(200, 1 / 200), np.full(200, 1 / 200)], (0,))
def sinkhorn(B: Any, cost: Any, a: Any, b: Any) -> Any:
    k = B.np.exp(-cost / 0.1)

    def step(u: Any, _: Any) -> Any:
        v = b / (k.T @ u)
        return a / (k @ v), v[0]

    u, _ = B.scan(step, B.np.ones(200), None, 50)
    v = b / (k.T @ u)
    return (u[:, None] * k * v * cost).sum()


# ---------------------------------------------------------------------- physics
@program(lambda r: [r.normal(size=(40, 3)), r.normal(size=(40, 3)) * 0.1, np.abs(r.normal(size=40))], (0,))
def bodies(B: Any, x: Any, v: Any, m: Any) -> Any:
    def force(x: Any) -> Any:
        d = x[None, :, :] - x[:, None, :]
        return (d * (((d**2).sum(axis=2) + 0.1) ** -1.5 * m[None, :])[:, :, None]).sum(axis=1)

    def step(carry: Any, _: Any) -> Any:
        x, v = carry
        v = v + 0.01 * force(x)
        return (x + 0.01 * v, v), (v**2).sum()

    (x, v), e = B.scan(step, (x, v), None, 100)
    return (x**2).sum() + e.mean()


@program(lambda r: [r.random((128, 128))], (0,))
def heat_equation(B: Any, u: Any) -> Any:
    def step(u: Any, _: Any) -> Any:
        lap = B.np.roll(u, 1, 0) + B.np.roll(u, -1, 0) + B.np.roll(u, 1, 1) + B.np.roll(u, -1, 1) - 4 * u
        return u + 0.1 * lap, u.mean()

    u, _ = B.scan(step, u, None, 100)
    return (u**2).sum()


@program(lambda r: [(r.random((256, 256)) > 0.6).astype("int32")])
def game_of_life(B: Any, g: Any) -> Any:
    def step(g: Any, _: Any) -> Any:
        rows = g + B.np.roll(g, 1, 0) + B.np.roll(g, -1, 0)
        n = rows + B.np.roll(rows, 1, 1) + B.np.roll(rows, -1, 1) - g
        g = (B.eq(n, 3) | (B.eq(g, 1) & B.eq(n, 2))).astype("int32")
        return g, g.sum()

    return B.scan(step, g, None, 50)


@program(lambda r: [r.normal(size=(64, 64))])
def vorticity_by_fft(B: Any, w: Any) -> Any:
    k = np.fft.fftfreq(64, 1 / 64)
    kx, ky = k[:, None], k[None, :33]
    k2 = kx**2 + ky**2
    inverse = np.where(k2 == 0, 0, -1 / np.where(k2 == 0, 1, k2))

    def step(f: Any, _: Any) -> Any:
        psi = inverse * f
        u, v = B.np.fft.irfft2(1j * ky * psi), B.np.fft.irfft2(-1j * kx * psi)
        wx, wy = B.np.fft.irfft2(1j * kx * f), B.np.fft.irfft2(1j * ky * f)
        f = (f - 0.001 * B.np.fft.rfft2(u * wx + v * wy)) / (1 + 0.001 * k2)
        return f, (B.np.abs(f) ** 2).sum()

    f, energy = B.scan(step, B.np.fft.rfft2(w), None, 20)
    return B.np.fft.irfft2(f), energy


@program(lambda r: [r.normal(size=(3,)), np.array([10.0, 28.0, 8 / 3])], (0, 1), 1e-4)
def lorenz_by_runge_kutta(B: Any, x: Any, p: Any) -> Any:
    def rate(s: Any) -> Any:
        return B.np.stack([p[0] * (s[1] - s[0]), s[0] * (p[1] - s[2]) - s[1], s[0] * s[1] - p[2] * s[2]])

    def step(s: Any, _: Any) -> Any:
        a = rate(s)
        b = rate(s + 0.005 * a)
        c = rate(s + 0.005 * b)
        d = rate(s + 0.01 * c)
        s = s + 0.01 / 6 * (a + 2 * b + 2 * c + d)
        return s, s[0]

    last, path = B.scan(step, x, None, 300)
    return (last**2).sum() + path.mean()


@program(lambda r: [np.linspace(-2, 0.6, 300), np.linspace(-1.2, 1.2, 200)])
def mandelbrot(B: Any, re: Any, im: Any) -> Any:
    c = re[None, :] + 1j * im[:, None]

    def step(carry: Any, _: Any) -> Any:
        z, n = carry
        inside = z.real**2 + z.imag**2 < 4
        return (B.np.where(inside, z * z + c, z), n + inside), inside.sum()

    (_, n), _ = B.scan(step, (c * 0, B.np.zeros((200, 300), dtype="int64")), None, 50)
    return n


@program(lambda r: [r.integers(0, 2, (64, 64)) * 2.0 - 1, r.random((100, 64, 64))])
def ising_checkerboard(B: Any, s: Any, draws: Any) -> Any:
    black = (np.add.outer(np.arange(64), np.arange(64)) % 2).astype(float)

    def step(s: Any, u: Any) -> Any:
        for mask in (black, 1 - black):
            h = B.np.roll(s, 1, 0) + B.np.roll(s, -1, 0) + B.np.roll(s, 1, 1) + B.np.roll(s, -1, 1)
            flip = (u < B.np.exp(-0.8 * s * h)) & (mask > 0)
            s = B.np.where(flip, -s, s)
        return s, s.mean()

    return B.scan(step, s, draws)


@program(lambda r: [r.normal(size=(60, 80, 3))])
def ray_marching(B: Any, d: Any) -> Any:
    d = d / B.np.sqrt((d**2).sum(axis=-1, keepdims=True))

    def distance(p: Any) -> Any:
        ball = B.np.sqrt(((p - np.array([0.0, 0, 3])) ** 2).sum(axis=-1)) - 1
        return B.np.minimum(ball, p[..., 1] + 1.0)

    def step(t: Any, _: Any) -> Any:
        return t + distance(t[..., None] * d), t.mean()

    t, _ = B.scan(step, B.np.zeros((60, 80)), None, 40)
    return B.np.where(t < 20, 1 / (1 + t), 0.0)


# ---------------------------------------------------------------------- learning
@program(lambda r: [r.normal(size=(64, 20)), r.normal(size=(20, 32)) * 0.2, r.normal(size=(32, 1)) * 0.2], (1, 2))
def gradients_of_each_example(B: Any, x: Any, w: Any, v: Any) -> Any:
    def one(row: Any) -> Any:
        return (B.np.tanh(row @ w) @ v).sum() ** 2

    return B.np.sqrt(B.vmap(one)(x) + 1).sum()


@program(lambda r: [r.integers(0, 500, (2000, 2)), r.normal(size=(500, 16)), r.normal(size=(16, 16)) * 0.2], (1, 2))
def messages_on_a_graph(B: Any, edges: Any, h: Any, w: Any) -> Any:
    for _ in range(2):
        sent = (h @ w)[edges[:, 0]]
        h = B.np.tanh(h + B.add_at((500, 16), edges[:, 1], sent))
    return (h**2).sum()


@program(
    lambda r: [
        r.integers(0, 1000, 512),
        r.integers(0, 800, 512),
        r.normal(size=512),
        r.normal(size=(1000, 20)),
        r.normal(size=(800, 20)),
    ],
    (3, 4),
)
def matrix_factors(B: Any, i: Any, j: Any, y: Any, u: Any, v: Any) -> Any:
    return (((u[i] * v[j]).sum(axis=1) - y) ** 2).mean() + 0.01 * ((u[i] ** 2).mean() + (v[j] ** 2).mean())


@program(lambda r: [r.normal(size=(4, 32, 64)), r.normal(size=(64, 192)) * 0.1, r.normal(size=(64, 64)) * 0.1], (1, 2))
def causal_attention(B: Any, x: Any, w: Any, o: Any) -> Any:
    q, k, v = (B.np.transpose((x @ w[:, i * 64 : i * 64 + 64]).reshape((4, 32, 4, 16)), (0, 2, 1, 3)) for i in range(3))
    s = q @ B.np.swapaxes(k, 2, 3) / 4.0
    s = B.np.where(np.tril(np.ones((32, 32), bool)), s, -1e9)
    a = B.np.exp(s - B.logsumexp(s, 3, True)) @ v
    return ((B.np.transpose(a, (0, 2, 1, 3)).reshape((4, 32, 64)) @ o) ** 2).mean()


@program(
    lambda r: [
        r.normal(size=(256, 64)),
        r.normal(size=(256, 8)),
        *(r.normal(size=s) * 0.1 for s in ((64, 100), (100, 16), (8, 100), (100, 64))),
    ],
    (2, 3, 4, 5),
)
def variational_autoencoder(B: Any, x: Any, noise: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    code = B.np.tanh(x @ a) @ b
    mean, logs = code[:, :8], code[:, 8:]
    z = mean + B.np.exp(0.5 * logs) * noise
    back = B.np.tanh(z @ c) @ d
    kl = -0.5 * (1 + logs - mean**2 - B.np.exp(logs)).sum(axis=1)
    return (((back - x) ** 2).sum(axis=1) + kl).mean()


@program(
    lambda r: [
        r.integers(0, 200, (64, 40)),
        r.normal(size=(200, 32)) * 0.1,
        r.normal(size=(64, 128)) * 0.1,
        r.normal(size=(32, 200)) * 0.1,
    ],
    (1, 2, 3),
)
def letters_by_lstm(B: Any, words: Any, e: Any, w: Any, out: Any) -> Any:
    def step(carry: Any, x: Any) -> Any:
        h, c = carry
        z = B.np.concatenate([x, h], axis=1) @ w
        i, f, o = (1 / (1 + B.np.exp(-z[:, k : k + 32])) for k in (0, 32, 64))
        c = f * c + i * B.np.tanh(z[:, 96:])
        h = o * B.np.tanh(c)
        return (h, c), h

    x = B.np.transpose(e[words], (1, 0, 2))
    _, h = B.scan(step, (B.np.zeros((64, 32)), B.np.zeros((64, 32))), x[:-1])
    logits = h @ out
    logp = logits - B.logsumexp(logits, 2, True)
    return -B.take_along(logp, B.np.transpose(words)[1:][:, :, None], 2).mean()


@program(
    lambda r: [
        r.normal(size=(128, 16)),
        r.normal(size=(16, 8)),
        r.normal(size=(8, 16, 32)) * 0.2,
        r.normal(size=(8, 32, 16)) * 0.2,
    ],
    (1, 2, 3),
)
def mixture_of_experts(B: Any, x: Any, gate: Any, a: Any, b: Any) -> Any:
    score = x @ gate
    top = B.np.sort(score, axis=1)[:, -2:-1]
    p = B.np.exp(score - B.logsumexp(score, 1, True)) * (score >= top)
    h = B.np.maximum(B.np.einsum("bi,eih->ebh", x, a), 0)
    y = B.np.einsum("ebh,eho,be->bo", h, b, p)
    return ((y - x) ** 2).mean()


@program(
    lambda r: [r.normal(size=(64, 10)), *(r.normal(size=s) * 0.1 for s in ((5, 32), (32, 10), (5, 32), (32, 10)))],
    (1, 2, 3, 4),
)
def coupling_flow(B: Any, x: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    left, right, log_det = x[:, :5], x[:, 5:], 0
    for one, two in ((a, b), (c, d)):
        st = B.np.tanh(left @ one) @ two
        right = right * B.np.exp(st[:, :5]) + st[:, 5:]
        log_det = log_det + st[:, :5].sum(axis=1)
        left, right = right, left
    return -(log_det - 0.5 * (left**2).sum(axis=1) - 0.5 * (right**2).sum(axis=1)).mean()


# ---------------------------------------------------------------------- algorithms and signals
@program(lambda r: [r.integers(0, 4, 80), r.integers(0, 4, 90)])
def smith_waterman(B: Any, a: Any, b: Any) -> Any:
    def row(before: Any, letter: Any) -> Any:
        match = B.np.where(B.eq(b, letter), 2.0, -1.0)

        def cell(left: Any, x: Any) -> Any:
            here = B.np.maximum(B.np.maximum(x[0] + x[1], x[2] - 1), B.np.maximum(left - 1, 0.0))
            return here, here

        x = B.np.stack([before[:-1], match, before[1:]], axis=1)
        _, here = B.scan(cell, B.np.zeros(()), x)
        now = B.np.concatenate([B.np.zeros(1), here])
        return now, here.max()

    _, best = B.scan(row, B.np.zeros(91), a)
    return best.max(), best


@program(lambda r: [r.normal(size=(60, 60)), r.normal(size=60)], (0, 1))
def conjugate_gradients(B: Any, m: Any, b: Any) -> Any:
    a = m @ m.T + 60 * B.np.eye(60)

    def step(carry: Any, _: Any) -> Any:
        x, r, p = carry
        ap = a @ p
        alpha = (r @ r) / (p @ ap)
        x, new = x + alpha * p, r - alpha * ap
        return (x, new, new + (new @ new) / (r @ r) * p), new[0]

    (x, _, _), _ = B.scan(step, (b * 0, b, b), None, 15)
    return x @ x


@program(lambda r: [r.normal(size=20_000)])
def spectrogram(B: Any, x: Any) -> Any:
    places = np.arange(0, 20_000 - 512, 128)[:, None] + np.arange(512)
    f = B.np.fft.rfft(x[places] * np.hanning(512), axis=1)
    return B.np.log(B.np.abs(f) ** 2 + 1e-9)


@program(lambda r: [r.random((200, 300)), np.array([1.5])], (1,))
def blur_and_edges(B: Any, image: Any, width: Any) -> Any:
    w = B.np.exp(-0.5 * (np.arange(-4, 5) / width[0]) ** 2)
    w = w / w.sum()
    rows = sum(w[i] * image[i : 192 + i, :] for i in range(9))
    both = sum(w[i] * rows[:, i : 292 + i] for i in range(9))
    gx = both[1:-1, 2:] - both[1:-1, :-2]
    gy = both[2:, 1:-1] - both[:-2, 1:-1]
    return B.np.sqrt(gx**2 + gy**2 + 1e-6).mean()


@program(lambda r: [r.normal(size=(500, 30))])
def principal_components(B: Any, x: Any) -> Any:
    x = x - x.mean(axis=0)
    values = B.np.linalg.eigvalsh(x.T @ x / 499)
    return values, (x**2).sum(axis=1)


@program(
    lambda r: [
        np.linspace(0, 4, 200),
        np.exp(-np.linspace(0, 4, 200)) + r.normal(size=200) * 0.01,
        np.array([0.8, 0.7, 0.1]),
    ]
)
def levenberg_marquardt(B: Any, t: Any, y: Any, p: Any) -> Any:
    def step(p: Any, _: Any) -> Any:
        e = B.np.exp(-p[1] * t)
        r = p[0] * e + p[2] - y
        j = B.np.stack([e, -p[0] * t * e, B.np.ones(200)], axis=1)
        p = p - B.np.linalg.solve(j.T @ j + 1e-3 * B.np.eye(3), j.T @ r)
        return p, (r**2).sum()

    return B.scan(step, p, None, 20)


@program(lambda r: [r.normal(size=5000), np.array([0.1, 0.85, 0.05])], (1,))
def garch_likelihood(B: Any, x: Any, p: Any) -> Any:
    def step(v: Any, e: Any) -> Any:
        v = p[2] + p[0] * e**2 + p[1] * v
        return v, v

    _, v = B.scan(step, B.np.ones(()), x)
    return (B.np.log(v[:-1]) + x[1:] ** 2 / v[:-1]).sum()


@program(lambda r: [r.integers(0, 50, 20_000), r.normal(size=20_000)])
def group_statistics(B: Any, g: Any, x: Any) -> Any:
    n = B.np.bincount(g, minlength=50, length=50) if B.name == "jax" else B.np.bincount(g, minlength=50)
    mean = B.add_at((50,), g, x) / n
    return mean, B.add_at((50,), g, (x - mean[g]) ** 2) / n


@program(lambda r: [r.normal(size=(100, 100)), r.random(100)])
def page_rank(B: Any, m: Any, x: Any) -> Any:
    p = B.np.abs(m)
    p = p / p.sum(axis=0)

    def step(x: Any, _: Any) -> Any:
        x = 0.85 * (p @ x) + 0.15 / 100
        return x / x.sum(), 0.0 * x[0]

    return B.scan(step, x, None, 60)[0]
