"""Rows of what programs are made of: expressions of several functions, as users write them."""

from .table import op

G = {"grad": True}
op("composite: 2x + 3y - z", "x y z", "2 * x + 3 * y - z", **G)
op("composite: heavy", "x", "T.tanh(x) * T.exp(-x * x) + T.log1p(T.abs(x))", **G)
op("composite: normalised rows", "x", "(x - T.mean(x, axis=1)[:, None]) / (T.std(x, axis=1)[:, None] + 1e-5)",
   torch="(x - x.mean(1)[:, None]) / (x.std(1, correction=0)[:, None] + 1e-5)", unlike=True, **G)  # fmt: skip
op("composite: layer norm", "x g:f[m] h:f[m]", "(x - T.mean(x, axis=1)[:, None]) / T.sqrt(T.var(x, axis=1)[:, None] + 1e-5) * g + h",
   torch="F.layer_norm(x, g.shape, g, h)", **G)  # fmt: skip
op("composite: batch norm", "x g:f[m] h:f[m]", "(x - T.mean(x, axis=0)) / T.sqrt(T.var(x, axis=0) + 1e-5) * g + h",
   torch="F.batch_norm(x, None, None, g, h, True)", **G)  # fmt: skip
op(
    "composite: sum of exp",
    "x",
    "T.sum(T.exp(x - T.max(x, axis=1)[:, None]), axis=1)",
    torch="torch.exp(x - torch.amax(x, 1)[:, None]).sum(1)",
    **G,
)
op("composite: log where positive", "x", "T.where(x > 0, T.log(x), 0.0)", **G)
op("composite: choice by one number", "x", "T.where(x[0, 0] > 9, T.exp(x), T.sin(x))", **G)
op("composite: masked mean", "x c:b[n,m]", "T.sum(T.where(c, x, 0), axis=1) / (T.sum(c, axis=1) + 1)", **G)
op("composite: masked softmax", "x c:b[n,m]", "T.softmax(T.where(c, x, -1e9), axis=1)", **G)
op("composite: sum over a mask", "x c:b[n,m]", "T.sum(x * c)", **G)
op("composite: embedding and mean", "x i:i[n,k]<n", "T.mean(x[i], axis=1)", family="costly", **G)
op("composite: group sums", "x i:i[n]<k", "T.inc_subtensor(T.zeros((k, m), x.dtype)[i], x)", jax="jnp.zeros((k, m), x.dtype).at[i].add(x)",
   torch="torch.zeros((k, m), dtype=x.dtype).index_add(0, i, x)", numpy="T.written(np.zeros((k, m), x.dtype), lambda o: np.add.at(o, i, x))", **G)  # fmt: skip
op("composite: moving average", "x:f[n]", "(x[4:] + x[3:-1] + x[2:-2] + x[1:-3] + x[:-4]) / 5", family="vector", **G)
op("composite: differences squared", "x", "T.sum(T.square(x[1:] - x[:-1]))", **G)
op(
    "composite: heat step",
    "x",
    "x[1:-1, 1:-1] + 0.1 * (x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2] - 4 * x[1:-1, 1:-1])",
    **G,
)
op(
    "composite: pairwise distances",
    "x:f[n,k] y:f[m,k]",
    "T.sum(T.square(x[:, None] - y[None]), axis=2)",
    family="costly",
    **G,
)
op(
    "composite: gaussian kernel",
    "x:f[n,k] y:f[m,k]",
    "T.exp(-0.5 * T.sum(T.square(x[:, None] - y[None]), axis=2))",
    family="costly",
    **G,
)
op("composite: attention", "q:f[b,t,d] k:f[b,t,d] v:f[b,t,d]", "T.softmax(q @ T.swapaxes(k, 1, 2) / 8, axis=-1) @ v", family="attention",
   torch="F.scaled_dot_product_attention(q, k, v, scale=0.125)", flops="4*b*t*t*d", **G)  # fmt: skip
op("composite: feed forward", "x:f[t,d] w:f[d,f] u:f[f,d]", "T.maximum(x @ w, 0) @ u", torch="torch.relu(x @ w) @ u", family="attention",
   flops="4*t*d*f", **G)  # fmt: skip
op("composite: LSTM cell", "x:f[t,d] h:f[t,d] c:f[t,d] w:f[d,4,d] u:f[d,4,d]",
   "T.sigmoid(x @ w[:, 0] + h @ u[:, 0]) * c + T.sigmoid(x @ w[:, 1] + h @ u[:, 1]) * T.tanh(x @ w[:, 2] + h @ u[:, 2])",
   family="attention", flops="12*t*d*d", **G)  # fmt: skip
op("composite: logistic loss", "x:f[n,m] w:f[m] y:b[n]", "T.mean(T.softplus((1 - 2 * y) * (x @ w)))", numpy="np.mean(np.logaddexp(0, (1.0 - 2 * y) * (x @ w)))",
   jax="jnp.mean(jax.nn.softplus((1 - 2 * y) * (x @ w)))", torch="F.softplus((1 - 2 * y.to(x.dtype)) * (x @ w)).mean()", **G)  # fmt: skip
op(
    "composite: cross-entropy",
    "x i:i[n]<m",
    "-T.mean(T.log_softmax(x, axis=1)[T.arange(n), i])",
    torch="F.cross_entropy(x, i)",
    **G,
)
op("composite: normal log-density", "x m:f[n,m] s:p[n,m]", "T.sum(-0.5 * T.square((x - m) / s) - T.log(s))", **G)
op("composite: multivariate normal", "x:h[n,n] y:f[n]",
   "-0.5 * T.sum(T.square(T.linalg.solve_triangular(T.linalg.cholesky(x), y[:, None], lower=True))) - T.sum(T.log(T.diagonal(T.linalg.cholesky(x))))",
   family="square", torch="-0.5 * torch.square(torch.linalg.solve_triangular(torch.linalg.cholesky(x), y[:, None], upper=False)).sum()"
   " - torch.log(torch.diagonal(torch.linalg.cholesky(x))).sum()", unlike=True, **G)  # fmt: skip
op(
    "composite: Lotka-Volterra step",
    "x:p[n] y:p[n]",
    "[x + 0.01 * (x - 0.5 * x * y), y + 0.01 * (0.25 * x * y - y)]",
    family="steps",
    **G,
)
op("composite: RK4 of a pendulum", "x:f[n] y:f[n]",
   "[x + 0.01 * (y - 0.005 * T.sin(x)), y - 0.01 / 6 * (T.sin(x) + 4 * T.sin(x + 0.005 * y) + T.sin(x + 0.01 * y))]", family="steps", **G)  # fmt: skip
op(
    "composite: running maximum of sums",
    "x",
    "T.max(T.cumsum(x, axis=1), axis=1)",
    torch="torch.amax(torch.cumsum(x, 1), 1)",
    **G,
)
op(
    "composite: standard scores clipped",
    "x",
    "T.clip((x - T.mean(x)) / T.std(x), -3, 3)",
    torch="torch.clip((x - x.mean()) / x.std(correction=0), -3, 3)",
    unlike=True,
    **G,
)
op("composite: polynomial", "x", "1 + x * (0.5 + x * (0.25 + x * (0.125 + x * 0.0625)))", **G)
op("composite: power spectrum", "x:f[b,n]", "T.square(T.abs(T.fft.rfft(x)))", family="transform")
