"""More programs of many fields: decoding, control, images, numbers, and training inside a loop."""

from typing import Any

import numpy as np
from program_texts import program


# ---------------------------------------------------------------------- decoding and control
@program(lambda r: [r.normal(size=(16, 16)), r.normal(size=(300, 16))])
def viterbi(B: Any, trans: Any, emissions: Any) -> Any:
    def forward(score: Any, e: Any) -> Any:
        paths = score[:, None] + trans
        return paths.max(axis=0) + e, B.np.argmax(paths, axis=0)

    last, back = B.scan(forward, emissions[0], emissions[1:])
    state = B.np.argmax(last, axis=0)

    def trace(s: Any, b: Any) -> Any:
        return b[s], s

    first, states = B.scan(trace, state, back[::-1])
    return states[::-1], first, last.max()


@program(
    lambda r: [
        r.normal(size=(64, 12)),
        r.normal(size=(12, 64)) * 0.2,
        r.normal(size=(64, 4)) * 0.2,
        r.integers(0, 4, 64),
        r.normal(size=64),
        r.normal(size=64),
    ],
    (1, 2),
)
def clipped_policy(B: Any, s: Any, w: Any, out: Any, action: Any, advantage: Any, old: Any) -> Any:
    logits = B.np.tanh(s @ w) @ out
    logp = logits - B.logsumexp(logits, 1, True)
    chosen = B.take_along(logp, action[:, None], 1)[:, 0]
    ratio = B.np.exp(chosen - old)
    gain = B.np.minimum(ratio * advantage, B.np.clip(ratio, 0.8, 1.2) * advantage)
    return -(gain - 0.01 * (B.np.exp(logp) * logp).sum(axis=1)).mean()


@program(lambda r: [r.normal(size=(1000, 16)), np.full((), 0.99)])
def discounted_returns(B: Any, rewards: Any, gamma: Any) -> Any:
    def step(g: Any, r: Any) -> Any:
        g = r + gamma * g
        return g, g

    _, back = B.scan(step, B.np.zeros(16), rewards[::-1])
    returns = back[::-1]
    return (returns - returns.mean()) / (returns.std() + 1e-8)


@program(lambda r: [r.normal(size=(4, 4)) * 0.4, r.normal(size=(4, 2)), np.eye(4), np.eye(2)], (0, 1))
def linear_quadratic_regulator(B: Any, a: Any, b: Any, q: Any, r: Any) -> Any:
    def step(p: Any, _: Any) -> Any:
        gain = B.np.linalg.solve(r + b.T @ p @ b, b.T @ p @ a)
        p = q + a.T @ p @ (a - b @ gain)
        return p, gain[0, 0]

    p, _ = B.scan(step, q, None, 50)
    return B.np.trace(p)


# ---------------------------------------------------------------------- images
@program(lambda r: [r.random((120, 160)), np.array([0.3, 5.0, -3.0])], (0, 1))
def rotated_image(B: Any, image: Any, p: Any) -> Any:
    y, x = np.mgrid[0:120, 0:160] * 1.0
    c, s = B.np.cos(p[0]), B.np.sin(p[0])
    u = B.np.clip(c * (x - 80) - s * (y - 60) + 80 + p[1], 0, 158.999)
    v = B.np.clip(s * (x - 80) + c * (y - 60) + 60 + p[2], 0, 118.999)
    i, j = B.np.floor(v), B.np.floor(u)
    a, b = v - i, u - j
    i, j = i.astype("int64"), j.astype("int64")
    above = (1 - b) * image[i, j] + b * image[i, j + 1]
    out = (1 - a) * above + a * ((1 - b) * image[i + 1, j] + b * image[i + 1, j + 1])
    return (out**2).mean()


@program(lambda r: [r.random((100, 100))])
def total_variation_denoising(B: Any, noisy: Any) -> Any:
    def grad(u: Any) -> Any:
        dx = B.np.concatenate([u[1:] - u[:-1], B.np.zeros((1, 100))], axis=0)
        dy = B.np.concatenate([u[:, 1:] - u[:, :-1], B.np.zeros((100, 1))], axis=1)
        return dx, dy

    def div(px: Any, py: Any) -> Any:
        a = B.np.concatenate([px[:1], px[1:-1] - px[:-2], -px[-2:-1]], axis=0)
        b = B.np.concatenate([py[:, :1], py[:, 1:-1] - py[:, :-2], -py[:, -2:-1]], axis=1)
        return a + b

    def step(carry: Any, _: Any) -> Any:
        px, py = carry
        gx, gy = grad(div(px, py) - noisy / 0.1)
        norm = 1 + 0.25 * B.np.sqrt(gx**2 + gy**2)
        return ((px + 0.25 * gx) / norm, (py + 0.25 * gy) / norm), gx[0, 0]

    (px, py), _ = B.scan(step, (noisy * 0, noisy * 0), None, 40)
    return noisy - 0.1 * div(px, py)


@program(lambda r: [r.random((64, 64, 3)), r.normal(size=(8, 3))])
def palette(B: Any, image: Any, colours: Any) -> Any:
    flat = image.reshape((4096, 3))
    d = ((flat[:, None, :] - colours) ** 2).sum(axis=2)
    return colours[B.np.argmin(d, axis=1)].reshape((64, 64, 3)), d.min(axis=1).mean()


# ---------------------------------------------------------------------- numbers and signals
@program(lambda r: [r.normal(size=20_000), np.array([0.2, 0.3, 0.2]), np.array([-0.5, 0.1])], (1, 2))
def recursive_filter(B: Any, x: Any, b: Any, a: Any) -> Any:
    def step(carry: Any, x: Any) -> Any:
        s, t = carry
        y = b[0] * x + s
        return (b[1] * x - a[0] * y + t, b[2] * x - a[1] * y), y

    _, y = B.scan(step, (B.np.zeros(()), B.np.zeros(())), x)
    return (y**2).mean()


@program(lambda r: [np.where(r.random((60, 60)) < 0.1, r.random((60, 60)), 1e3)])
def shortest_paths(B: Any, d: Any) -> Any:
    def step(d: Any, k: Any) -> Any:
        d = B.np.minimum(d, d[:, k][:, None] + d[k][None, :])
        return d, d[0, 0]

    return B.scan(step, d, np.arange(60))[0]


@program(lambda r: [r.normal(size=(40, 40)) * 0.1], (0,))
def exponential_of_a_matrix(B: Any, a: Any) -> Any:
    a = a / 16
    term, total = B.np.eye(40), B.np.eye(40)
    for k in range(1, 10):
        term = term @ a / k
        total = total + term
    for _ in range(4):
        total = total @ total
    return (total**2).sum()


@program(lambda r: [np.linspace(-1.5, 1.5, 150), np.linspace(-1.5, 1.5, 150)])
def newton_fractal(B: Any, re: Any, im: Any) -> Any:
    z = re[None, :] + 1j * im[:, None]

    def step(z: Any, _: Any) -> Any:
        return z - (z**3 - 1) / (3 * z**2 + 1e-12), z[0, 0].real

    z, _ = B.scan(step, z, None, 20)
    return B.np.argmin(B.np.abs(z[:, :, None] - np.exp(2j * np.pi * np.arange(3) / 3)), axis=2)


@program(lambda r: [r.normal(size=2000), r.normal(size=2000) + 0.3], (0, 1))
def transport_on_a_line(B: Any, x: Any, y: Any) -> Any:
    return B.np.abs(B.np.sort(x) - B.np.sort(y)).mean()


@program(lambda r: [r.normal(size=(200, 50)), r.integers(0, 200, (300, 200))])
def bootstrap(B: Any, x: Any, places: Any) -> Any:
    means = x[places].mean(axis=1)
    low, high = B.np.quantile(means, 0.025, axis=0), B.np.quantile(means, 0.975, axis=0)
    return low, high, means.std(axis=0)


@program(lambda r: [r.normal(size=(2000,)), np.sort(r.normal(size=50)), r.normal(size=50)], (2,))
def table_lookup(B: Any, x: Any, xs: Any, ys: Any) -> Any:
    i = B.np.clip(B.np.searchsorted(xs, x), 1, 49)
    t = (x - xs[i - 1]) / (xs[i] - xs[i - 1])
    return (B.np.tanh(ys[i - 1] + t * (ys[i] - ys[i - 1])) ** 2).sum()


@program(lambda r: [r.normal(size=(500, 3, 3)), r.normal(size=(500, 3))], (0, 1))
def many_small_systems(B: Any, a: Any, b: Any) -> Any:
    m = a @ B.np.swapaxes(a, 1, 2) + B.np.eye(3)
    x = B.np.linalg.solve(m, b[:, :, None])[:, :, 0]
    return (x**2).sum() + B.np.log(B.np.linalg.det(m)).sum()


@program(lambda r: [r.normal(size=(8, 20, 8)), r.normal(size=(8, 8))], (0,))
def tensor_train(B: Any, cores: Any, x: Any) -> Any:
    out = B.np.einsum("ab,bnc->anc", x, cores)
    for _ in range(3):
        out = B.np.einsum("anc,cmd->anmd", out[:, :, :], cores).mean(axis=1)
    return (out**2).sum()


# ---------------------------------------------------------------------- training and many at once
@program(lambda r: [r.normal(size=(100, 5)), r.normal(size=100), r.normal(size=5) * 0.1])
def adam_in_a_loop(B: Any, x: Any, y: Any, w: Any) -> Any:
    def step(carry: Any, t: Any) -> Any:
        w, m, v = carry
        e = B.np.tanh(x @ w) - y
        g = x.T @ (e * (1 - B.np.tanh(x @ w) ** 2)) / 50
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        w = w - 0.01 * (m / (1 - 0.9**t)) / (B.np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        return (w, m, v), (e**2).mean()

    (w, _, _), losses = B.scan(step, (w, w * 0, w * 0), np.arange(1.0, 201.0))
    return w, losses


@program(lambda r: [r.normal(size=(30, 6)), r.normal(size=(4, 6, 6)) * 0.3, r.normal(size=(50, 6))])
def networks_side_by_side(B: Any, x: Any, ws: Any, query: Any) -> Any:
    def one(w: Any) -> Any:
        h = B.np.tanh(x @ w)
        p = B.np.linalg.solve(h.T @ h + B.np.eye(6), h.T @ x)
        return B.np.tanh(query @ w) @ p

    each = B.vmap(one)(ws)
    return each.mean(axis=0), each.std(axis=0)


@program(lambda r: [r.normal(size=(20, 2)), r.normal(size=(20, 2)) * 0.1])
def flock(B: Any, x: Any, v: Any) -> Any:
    def step(carry: Any, _: Any) -> Any:
        x, v = carry
        d = x[None, :, :] - x[:, None, :]
        r2 = (d**2).sum(axis=2)
        near = ((r2 < 1.0) & (r2 > 0)).astype("float64")
        n = B.np.maximum(near.sum(axis=1), 1)[:, None]
        pull = (near[:, :, None] * d).sum(axis=1) / n
        push = -(near[:, :, None] * d / (r2 + 1e-2)[:, :, None]).sum(axis=1)
        align = (near @ v) / n - v
        v = v + 0.01 * pull + 0.002 * push + 0.05 * align
        v = v / B.np.maximum(1, B.np.sqrt((v**2).sum(axis=1, keepdims=True)) / 0.2)
        return (x + v, v), x.mean()

    return B.scan(step, (x, v), None, 200)


# ---------------------------------------------------------------------- numbers of few bits
@program(lambda r: [r.normal(size=(64, 128)).astype("float32"), r.normal(size=(128, 96)).astype("float32")], (), 1e-4)
def product_of_eight_bits(B: Any, x: Any, w: Any) -> Any:
    """A layer's product in whole numbers, and how far it is from the product itself."""
    by_row, by_column = B.np.abs(x).max(axis=1)[:, None] / 127, B.np.abs(w).max(axis=0) / 127
    small, weights = B.np.round(x / by_row).astype("int8"), B.np.round(w / by_column).astype("int8")
    total = small.astype("int32") @ weights.astype("int32")
    y = total.astype("float32") * by_row * by_column
    return y, total, B.np.abs(y - x @ w).max()
