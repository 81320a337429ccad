"""Rows of random draws, of T.nnet and T.signal, and of sparse matrices."""

from .table import op

# ---------------------------------------------------------------------- random draws: `r` is the library's generator
D = {"family": "draws", "dtypes": ("float64",), "unchecked": True}


def draw(name: str, text: str, operands: str = "g:f[1]", **more) -> None:
    """A draw of (n, m) numbers; `r` is a stream of ours, a Generator of NumPy, jax.random of a key, torch's functions."""
    op(f"random.{name}", operands, f"r.{text}", **D | more)


SHAPE = "torch.empty((n, m), dtype=torch.float64)"
draw(
    "uniform",
    "uniform(0.0, 1.0, (n, m))",
    jax="J.uniform(key, (n, m))",
    torch="torch.rand((n, m), dtype=torch.float64)",
)
draw("random", "random((n, m))", jax="J.uniform(key, (n, m))", torch="torch.rand((n, m), dtype=torch.float64)")
draw(
    "normal", "normal(0.0, 1.0, (n, m))", jax="J.normal(key, (n, m))", torch="torch.randn((n, m), dtype=torch.float64)"
)
draw(
    "standard_normal",
    "standard_normal((n, m))",
    jax="J.normal(key, (n, m))",
    torch="torch.randn((n, m), dtype=torch.float64)",
)
draw("exponential", "exponential(1.0, (n, m))", jax="J.exponential(key, (n, m))", torch=f"{SHAPE}.exponential_()")
draw(
    "standard_exponential",
    "standard_exponential((n, m))",
    jax="J.exponential(key, (n, m))",
    torch=f"{SHAPE}.exponential_()",
)
draw("lognormal", "lognormal(0.0, 1.0, (n, m))", jax="jnp.exp(J.normal(key, (n, m)))", torch=f"{SHAPE}.log_normal_()")
draw("truncated_normal", "truncated_normal(0.0, 1.0, (n, m))", numpy="np.clip(r.normal(size=(n, m)), -2, 2)",
     jax="J.truncated_normal(key, -2, 2, (n, m))", torch=f"torch.nn.init.trunc_normal_({SHAPE})")  # fmt: skip
draw("laplace", "laplace(0.0, 1.0, (n, m))", jax="J.laplace(key, (n, m))", torch=None)
draw("logistic", "logistic(0.0, 1.0, (n, m))", jax="J.logistic(key, (n, m))", torch=None)
draw("gumbel", "gumbel(0.0, 1.0, (n, m))", jax="J.gumbel(key, (n, m))", torch=None)
draw(
    "cauchy",
    "cauchy(0.0, 1.0, (n, m))",
    numpy="r.standard_cauchy((n, m))",
    jax="J.cauchy(key, (n, m))",
    torch=f"{SHAPE}.cauchy_()",
)
draw(
    "weibull",
    "weibull(2.0, 1.0, (n, m))",
    numpy="r.weibull(2.0, (n, m))",
    jax="J.weibull_min(key, 1.0, 2.0, (n, m))",
    torch=None,
)
draw("triangular", "triangular(0.0, 0.5, 1.0, (n, m))", jax="J.triangular(key, 0.0, 0.5, 1.0, (n, m))", torch=None)
GAMMAS = "torch._standard_gamma(torch.full((n, m), {}, dtype=torch.float64))"
draw("gamma", "gamma(2.5, 1.0, (n, m))", jax="J.gamma(key, 2.5, (n, m))", torch=GAMMAS.format(2.5))
draw("gamma (below one)", "gamma(0.3, 1.0, (n, m))", jax="J.gamma(key, 0.3, (n, m))", torch=GAMMAS.format(0.3))
draw("gamma (shapes)", "gamma(a, 1.0, (n, m))", "a:p[n,m]", jax="J.gamma(key, a)", torch="torch._standard_gamma(a)")
draw("standard_gamma", "standard_gamma(2.5, (n, m))", jax="J.gamma(key, 2.5, (n, m))", torch=GAMMAS.format(2.5))
draw("chisquare", "chisquare(3.0, (n, m))", jax="J.chisquare(key, 3.0, (n, m))", torch=None)
draw("standard_t", "standard_t(4.0, (n, m))", jax="J.t(key, 4.0, (n, m))", torch=None)
draw("beta", "beta(2.0, 3.0, (n, m))", jax="J.beta(key, 2.0, 3.0, (n, m))", torch=None)
draw(
    "dirichlet",
    "dirichlet(a, (n,))",
    "a:p[k]",
    jax="J.dirichlet(key, a, (n,))",
    torch="torch._sample_dirichlet(a.expand(n, k))",
)
draw(
    "multivariate_normal",
    "multivariate_normal(a, h, (n,))",
    "a:f[k] h:h[k,k]",
    jax="J.multivariate_normal(key, a, h, (n,))",
    torch=None,
)
draw(
    "poisson",
    "poisson(4.0, (n, m))",
    jax="J.poisson(key, 4.0, (n, m))",
    torch="torch.poisson(torch.full((n, m), 4.0, dtype=torch.float64))",
)
draw(
    "poisson (large)",
    "poisson(400.0, (n, m))",
    jax="J.poisson(key, 400.0, (n, m))",
    torch="torch.poisson(torch.full((n, m), 400.0, dtype=torch.float64))",
)
draw("poisson (rates)", "poisson(a, (n, m))", "a:p[n,m]", jax="J.poisson(key, a)", torch="torch.poisson(a)")
draw(
    "bernoulli",
    "bernoulli(0.3, (n, m))",
    numpy="r.random((n, m)) < 0.3",
    jax="J.bernoulli(key, 0.3, (n, m))",
    torch=f"{SHAPE}.bernoulli_(0.3)",
)
draw("binomial", "binomial(10, 0.3, (n, m))", jax="J.binomial(key, 10, 0.3, (n, m))",
     torch="torch.binomial(torch.full((n, m), 10.0, dtype=torch.float64), torch.full((n, m), 0.3, dtype=torch.float64))")  # fmt: skip
draw("binomial (large)", "binomial(1000, 0.3, (n, m))", jax="J.binomial(key, 1000, 0.3, (n, m))", torch=None)
draw("negative_binomial", "negative_binomial(5, 0.4, (n, m))", jax=None, torch=None)
draw("geometric", "geometric(0.3, (n, m))", jax="J.geometric(key, 0.3, (n, m))", torch=f"{SHAPE}.geometric_(0.3)")
draw(
    "integers", "integers(0, 100, (n, m))", jax="J.randint(key, (n, m), 0, 100)", torch="torch.randint(0, 100, (n, m))"
)
draw("random_integers", "random_integers(0, 100, (n, m))", numpy="r.integers(0, 101, (n, m))", jax="J.randint(key, (n, m), 0, 101)",
     torch="torch.randint(0, 101, (n, m))")  # fmt: skip
draw("choice", "choice(a, (n,))", "a:f[m]", jax="J.choice(key, a, (n,))", torch="a[torch.randint(0, m, (n,))]")
draw(
    "choice (weights)",
    "choice(a, (n,), p=p)",
    "a:f[m] p:r[m]",
    jax="J.choice(key, a, (n,), p=p)",
    torch="a[torch.multinomial(p, n, True)]",
)
draw(
    "choice (without replacement)",
    "choice(a, (k,), replace=False)",
    "a:f[m]",
    jax="J.choice(key, a, (k,), replace=False)",
    torch="a[torch.randperm(m)[:k]]",
)
draw("multinomial", "multinomial(10, p, (n,))", "p:r[k]", jax="J.multinomial(key, 10, p, shape=(n, k))",
     torch="torch.zeros((n, k)).scatter_add(1, torch.multinomial(p.expand(n, k), 10, True), torch.ones((n, 10)))")  # fmt: skip
draw("permutation", "permutation(n * m)", jax="J.permutation(key, n * m)", torch="torch.randperm(n * m)")
draw("permuted", "permuted(x, axis=1)", "x", jax="J.permutation(key, x, 1, independent=True)", torch=None)

# ---------------------------------------------------------------------- T.nnet and T.signal
A = {"grad": True, "torch": "F.PLAIN(x)"}


def net(names: str, operands: str = "x", text: str = "", **more) -> None:
    """Functions of T.nnet; PLAIN in a peer's text is the name without its namespace."""
    for name in [names] if "(" in names else names.split():
        plain = name.partition(" (")[0]
        said = {who: t and t.replace("PLAIN", plain) for who, t in more.items() if who in ("numpy", "jax", "torch")}
        op(f"nnet.{name}", operands, text, **more | said)


net("relu", numpy="np.maximum(x, 0)", **A)
net("leaky_relu relu6 elu selu silu", numpy=None, **A)
net("gelu", numpy="x * scipy.special.ndtr(x)", jax="jax.nn.gelu(x, False)", torch="F.gelu(x)", grad=True)
net("swish", jax="jax.nn.silu(x)", torch="F.silu(x)", numpy="x * scipy.special.expit(x)", grad=True)
net("softsign", numpy="x / (1 + np.abs(x))", jax="jax.nn.soft_sign(x)", torch="F.softsign(x)", grad=True)
net("log_sigmoid", numpy="-np.logaddexp(0, -x)", jax="jax.nn.log_sigmoid(x)", torch="F.logsigmoid(x)", grad=True)
net("hard_sigmoid ultra_fast_sigmoid", numpy="np.clip(0.2 * x + 0.5, 0, 1)", jax="jnp.clip(0.2 * x + 0.5, 0, 1)",
    torch="torch.clip(0.2 * x + 0.5, 0, 1)", unchecked=True)  # fmt: skip
net(
    "softmax log_softmax",
    numpy="scipy.special.PLAIN(x, axis=-1)",
    jax="jax.nn.PLAIN(x)",
    torch="F.PLAIN(x, -1)",
    grad=True,
)
net(
    "softmax_with_bias",
    "x h:f[m]",
    numpy="scipy.special.softmax(x + h, axis=-1)",
    jax="jax.nn.softmax(x + h)",
    torch="F.softmax(x + h, -1)",
    grad=True,
)
net("binary_crossentropy", "x:q[n,m] y:q[n,m]", numpy="-(y * np.log(x) + (1 - y) * np.log1p(-x))",
    jax="-(y * jnp.log(x) + (1 - y) * jnp.log1p(-x))", torch="F.binary_cross_entropy(x, y, reduction='none')", grad=True)  # fmt: skip
net("sigmoid_binary_crossentropy", "x y:q[n,m]", numpy="y * np.logaddexp(0, -x) + (1 - y) * np.logaddexp(0, x)",
    jax="y * jax.nn.softplus(-x) + (1 - y) * jax.nn.softplus(x)", torch="F.binary_cross_entropy_with_logits(x, y, reduction='none')", grad=True)  # fmt: skip
net("categorical_crossentropy", "x:r[n,m] y:r[n,m]", numpy="-(y * np.log(x)).sum(-1)", jax="-(y * jnp.log(x)).sum(-1)",
    torch="-(y * torch.log(x)).sum(-1)", grad=True)  # fmt: skip
ONE_HOT = {"numpy": "-scipy.special.log_softmax(x, axis=1)[np.arange(n), i]", "jax": "-jax.nn.log_softmax(x)[jnp.arange(n), i]",
           "torch": "F.cross_entropy(x, i, reduction='none')"}  # fmt: skip
net("crossentropy_categorical_1hot", "x:r[n,m] i:i[n]<m", numpy="-np.log(x[np.arange(n), i])", jax="-jnp.log(x[jnp.arange(n), i])",
    torch="-torch.log(x[torch.arange(n), i])", grad=True)  # fmt: skip
net("crossentropy_softmax_1hot", "x i:i[n]<m", "T.nnet.crossentropy_softmax_1hot(x, i)[0]", **ONE_HOT, grad=True)
net("crossentropy_softmax_1hot_with_bias crossentropy_softmax_argmax_1hot_with_bias", "x h:f[m] i:i[n]<m", "T.NAME(x, h, i)[0]",
    numpy="-scipy.special.log_softmax(x + h, axis=1)[np.arange(n), i]", jax="-jax.nn.log_softmax(x + h)[jnp.arange(n), i]",
    torch="F.cross_entropy(x + h, i, reduction='none')")  # fmt: skip
net("crossentropy_softmax_max_and_argmax_1hot", "x i:i[n]<m", "T.NAME(x, i)[0]", **ONE_HOT)
net("h_softmax", "x g:f[m,k] h:f[k] u:f[k,m,k] v:f[k,k]", "T.nnet.h_softmax(x, n, k * k, k, k, g, h, u, v)",
    numpy="(scipy.special.softmax(x @ g + h, 1)[:, :, None] * scipy.special.softmax(np.einsum('nm,cmk->nck', x, u) + v, 2)).reshape(n, -1)",
    jax="(jax.nn.softmax(x @ g + h)[:, :, None] * jax.nn.softmax(jnp.einsum('nm,cmk->nck', x, u) + v)).reshape(n, -1)",
    torch="(F.softmax(x @ g + h, 1)[:, :, None] * F.softmax(torch.einsum('nm,cmk->nck', x, u) + v, 2)).reshape(n, -1)")  # fmt: skip
net("confusion_matrix", "i:i[n]<k j:i[n]<k", "T.nnet.confusion_matrix(i, j)[0]", dtypes=("int64",), family="vector",
    numpy="(lambda v: np.bincount(np.searchsorted(v, i) * len(v) + np.searchsorted(v, j), minlength=len(v) ** 2).reshape(len(v), -1))"
    "(np.unique(np.concatenate([i, j])))",
    jax=None, torch="(lambda v: torch.bincount(torch.searchsorted(v, i) * len(v) + torch.searchsorted(v, j), minlength=len(v) ** 2)"
    ".reshape(len(v), -1))(torch.unique(torch.cat([i, j])))")  # fmt: skip
net(
    "mse_loss",
    "x y:f[n,m]",
    numpy="np.mean(np.square(x - y))",
    jax="jnp.mean(jnp.square(x - y))",
    torch="F.mse_loss(x, y)",
    grad=True,
)
net(
    "l1_loss",
    "x y:f[n,m]",
    numpy="np.mean(np.abs(x - y))",
    jax="jnp.mean(jnp.abs(x - y))",
    torch="F.l1_loss(x, y)",
    grad=True,
)
net(
    "huber_loss smooth_l1_loss",
    "x y:f[n,m]",
    numpy="np.mean(scipy.special.huber(1, x - y))",
    jax=None,
    torch="F.PLAIN(x, y)",
    grad=True,
)
net("cross_entropy", "x i:i[n]<m", numpy="-np.mean(scipy.special.log_softmax(x, axis=1)[np.arange(n), i])",
    jax="-jnp.mean(jax.nn.log_softmax(x)[jnp.arange(n), i])", torch="F.cross_entropy(x, i)", grad=True)  # fmt: skip
net(
    "kl_div",
    "x y:p[n,m]",
    numpy="np.mean(y * np.log(y) - y * x)",
    jax="jnp.mean(y * jnp.log(y) - y * x)",
    torch="F.kl_div(x, y)",
    grad=True,
)
net("cosine_similarity", "x y:f[n,m]", numpy="(x * y).sum(1) / np.sqrt((x * x).sum(1) * (y * y).sum(1))",
    jax="(x * y).sum(1) / jnp.sqrt((x * x).sum(1) * (y * y).sum(1))", torch="F.cosine_similarity(x, y)", grad=True)  # fmt: skip
net("layer_norm", numpy="(x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)", jax="jax.nn.standardize(x)",
    torch="F.layer_norm(x, (m,))", grad=True, unlike=True)  # fmt: skip
net("rms_norm", numpy="x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-6)", jax="x / jnp.sqrt((x * x).mean(1, keepdims=True) + 1e-6)",
    torch="F.rms_norm(x, (m,), eps=1e-6)", grad=True, unlike=True)  # fmt: skip
net("glu", numpy="x[:, :m // 2] * scipy.special.expit(x[:, m // 2:])", jax="jax.nn.glu(x)", torch="F.glu(x)", grad=True)
net("mish", numpy="x * np.tanh(np.logaddexp(0, x))", jax="jax.nn.mish(x)", torch="F.mish(x)", grad=True)
net("hard_swish", numpy="x * np.clip(x + 3, 0, 6) / 6", jax="jax.nn.hard_swish(x)", torch="F.hardswish(x)", grad=True)
net("hard_tanh", numpy="np.clip(x, -1, 1)", jax="jax.nn.hard_tanh(x)", torch="F.hardtanh(x)", grad=True)
net("scaled_dot_product_attention", "q:f[b,t,d] k:f[b,t,d] v:f[b,t,d]", "T.nnet.scaled_dot_product_attention(q, k, v)", family="attention",
    numpy="scipy.special.softmax(q @ k.swapaxes(1, 2) / np.sqrt(d), axis=-1) @ v", jax="jax.nn.softmax(q @ k.swapaxes(1, 2) / d ** 0.5) @ v",
    torch="F.scaled_dot_product_attention(q, k, v)", flops="4*b*t*t*d", grad=True)  # fmt: skip
FLIPPED = "[:, :, ::-1, ::-1]"
I = {
    "family": "images",
    "numpy": None,
    "dtypes": ("float32", "float64"),
    "grad": True,
    "flops": "2*b*f*c*w*w*(n-w+1)**2",
}
net(
    "conv2d",
    "x:f[b,c,n,n] y:f[f,c,w,w]",
    "T.nnet.conv2d(x, y, filter_flip=False)",
    jax="jax.lax.conv(x, y, (1, 1), 'VALID')",
    torch="F.conv2d(x, y)",
    **I,
)
net("conv2d (half)", "x:f[b,c,n,n] y:f[f,c,w,w]", "T.nnet.conv2d(x, y, border_mode='half', filter_flip=False)",
    jax="jax.lax.conv(x, y, (1, 1), 'SAME')", torch="F.conv2d(x, y, padding=1)", **I)  # fmt: skip
net("conv1d", "x:f[b,c,n] y:f[f,c,w]", "T.nnet.conv1d(x, y, filter_flip=False)", jax="jax.lax.conv(x, y, (1,), 'VALID')", torch="F.conv1d(x, y)",
    **I | {"family": "signals", "flops": "2*b*f*c*w*(n-w+1)"})  # fmt: skip
net("conv3d", "x:f[b,c,n,n,n] y:f[f,c,w,w,w]", "T.nnet.conv3d(x, y, filter_flip=False)", jax="jax.lax.conv(x, y, (1, 1, 1), 'VALID')",
    torch="F.conv3d(x, y)", **I | {"family": "volumes", "flops": "2*b*f*c*w**3*(n-w+1)**3"})  # fmt: skip
net("conv2d_transpose conv2d_grad_wrt_inputs", "y:f[b,f,n,n] v:f[f,c,w,w]", "T.NAME(y, v, (b, c, n + w - 1, n + w - 1), filter_flip=False)",
    torch="F.conv_transpose2d(y, v)", jax=None, **{k: v for k, v in I.items() if k not in ("grad", "flops")})  # fmt: skip
net("conv2d_grad_wrt_weights", "x:f[b,c,n,n] y:f[b,f,n,n]", "T.NAME(x[:, :, :, :], y[:, :, 2:, 2:], (f, c, 3, 3), filter_flip=False)",
    torch="torch.nn.grad.conv2d_weight(x, (f, c, 3, 3), y[:, :, 2:, 2:])", jax=None, **{k: v for k, v in I.items() if k not in ("grad", "flops")})  # fmt: skip
VOLUMES = {"family": "volumes", "numpy": None, "jax": None, "dtypes": ("float32", "float64")}
op("nnet.conv3d_grad_wrt_inputs", "y:f[b,f,n,n,n] v:f[f,c,w,w,w]",
   "T.nnet.conv3d_grad_wrt_inputs(y, v, (b, c, n + w - 1, n + w - 1, n + w - 1), filter_flip=False)", torch="F.conv_transpose3d(y, v)", **VOLUMES)  # fmt: skip
op("nnet.conv3d_grad_wrt_weights", "x:f[b,c,n,n,n] y:f[b,f,n,n,n]",
   "T.nnet.conv3d_grad_wrt_weights(x, y[:, :, 2:, 2:, 2:], (f, c, 3, 3, 3), filter_flip=False)",
   torch="torch.nn.grad.conv3d_weight(x, (f, c, 3, 3, 3), y[:, :, 2:, 2:, 2:])", **VOLUMES)  # fmt: skip
op("nnet.separable_conv3d", "x:f[b,c,n,n,n] y:f[c,1,w,w,w] v:f[f,c,1,1,1]", "T.nnet.separable_conv3d(x, y, v, c, filter_flip=False)",
   torch="F.conv3d(F.conv3d(x, y, groups=c), v)", **VOLUMES)  # fmt: skip
IMAGES = VOLUMES | {"family": "images"}
op("nnet.separable_conv2d", "x:f[b,c,n,n] y:f[c,1,w,w] v:f[f,c,1,1]", "T.nnet.separable_conv2d(x, y, v, c, filter_flip=False)",
   torch="F.conv2d(F.conv2d(x, y, groups=c), v)", **IMAGES)  # fmt: skip
op("nnet.causal_conv1d", "x:f[b,c,n] y:f[f,c,w]", "T.nnet.causal_conv1d(x, y, (f, c, w), filter_flip=False)",
   torch="F.conv1d(F.pad(x, (w - 1, 0)), y)", **VOLUMES | {"family": "signals"})  # fmt: skip
op("nnet.bilinear_upsampling", "x:f[b,c,n,n]", "T.nnet.bilinear_upsampling(x, 2)", unchecked=True,  # PyTorch's lie elsewhere
   torch="F.interpolate(x, scale_factor=2, mode='bilinear')", **IMAGES)  # fmt: skip
op("nnet.frac_bilinear_upsampling", "x:f[b,c,n,n]", "T.nnet.frac_bilinear_upsampling(x, (3, 2))", unchecked=True,
   torch="F.interpolate(x, scale_factor=1.5, mode='bilinear')", **IMAGES)  # fmt: skip
op("nnet.images2neibs", "x:f[b,c,n,n]", "T.nnet.images2neibs(x, (2, 2))", torch="x.reshape(b, c, n // 2, 2, n // 2, 2).permute(0, 1, 2, 4, 3, 5).reshape(-1, 4)",
   **IMAGES | {"numpy": "x.reshape(b, c, n // 2, 2, n // 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(-1, 4)"})  # fmt: skip
op("nnet.neibs2images", "x:f[b,c,n,n]", "T.nnet.neibs2images(x.reshape((-1, 4)), (2, 2), (b, c, n, n))",
   torch="x.reshape(b, c, n // 2, n // 2, 2, 2).permute(0, 1, 2, 4, 3, 5).reshape(b, c, n, n)",
   **IMAGES | {"numpy": "x.reshape(b, c, n // 2, n // 2, 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(b, c, n, n)"})  # fmt: skip
op("nnet.ctc_loss", "x:f[t,b,d] i:i[b,2]<d", "T.nnet.ctc_loss(x, i % (d - 1) + 1)", family="attention", numpy=None, jax=None, grad=True,
   torch="F.ctc_loss(torch.log_softmax(x, -1), i % (d - 1) + 1, (t,) * b, (2,) * b, reduction='none')")  # fmt: skip
POOL = {"family": "images", "numpy": None, "dtypes": ("float32", "float64"), "grad": True}
op(
    "signal.pool_2d",
    "x:f[b,c,n,n]",
    "T.signal.pool_2d(x, (2, 2), ignore_border=True)",
    jax=None,
    torch="F.max_pool2d(x, 2)",
    **POOL,
)
op("signal.pool_2d (mean)", "x:f[b,c,n,n]", "T.signal.pool_2d(x, (2, 2), ignore_border=True, mode='average_exc_pad')", jax=None,
   torch="F.avg_pool2d(x, 2)", **POOL)  # fmt: skip
op("signal.pool_2d (3 by 3, stride 2)", "x:f[b,c,n,n]", "T.signal.pool_2d(x, (3, 3), stride=(2, 2), ignore_border=True)", jax=None,
   torch="F.max_pool2d(x, 3, 2)", **POOL)  # fmt: skip
op("signal.pool_3d", "x:f[b,c,n,n,n]", "T.signal.pool_3d(x, (2, 2, 2), ignore_border=True)", jax=None, torch="F.max_pool3d(x, 2)",
   **POOL | {"family": "volumes"})  # fmt: skip

# ---------------------------------------------------------------------- sparse matrices: SciPy is the peer
S = {"family": "sparse", "dtypes": ("float64",), "jax": None, "torch": None}
op("sparse.abs sparse.neg sparse.conj sparse.ceil sparse.floor sparse.rint sparse.sgn sparse.trunc sparse.sqr sparse.sqrt sparse.expm1 sparse.log1p"
   " sparse.sin sparse.sinh sparse.tan sparse.tanh sparse.arcsin sparse.arcsinh sparse.arctan sparse.arctanh sparse.deg2rad sparse.rad2deg"
   " sparse.imag sparse.real", "s:csr[n,m]", "T.NAME(s)", numpy="T.NAME(s)", **S)  # fmt: skip
op("sparse.structured_exp sparse.structured_log sparse.structured_sigmoid", "s:csr[n,m]", **S)
op(
    "sparse.structured_add sparse.structured_maximum sparse.structured_minimum sparse.structured_pow",
    "s:csr[n,m]",
    "T.NAME(s, 2.0)",
    **S,
)
op("sparse.add sparse.sub sparse.mul sparse.multiply", "s:csr[n,m] t:csr[n,m]", **S)
op("sparse.add (transposed)", "s:csr[n,n]", "T.sparse.add(s, T.sparse.transpose(s))", numpy="s + s.T", **S)
op("sparse.mul (number)", "s:csr[n,m]", "T.sparse.mul(s, 2.0)", numpy="s * 2.0", **S)
op("sparse.true_div", "s:csr[n,m]", "T.sparse.true_div(s, 3.0)", numpy="s / 3.0", **S)
op(
    "sparse.dot sparse.true_dot sparse.structured_dot",
    "s:csr[n,m] y:f[m,k]",
    numpy="s @ y",
    flops="2*n*z*k",
    grad=True,
    **S,
)
op("sparse.dot (vector)", "s:csr[n,m] y:f[m]", "T.sparse.dot(s, y)", numpy="s @ y", flops="2*n*z", grad=True, **S)
op(
    "sparse.dot (transposed, vector)",
    "s:csr[n,m] y:f[n]",
    "T.sparse.dot(T.sparse.transpose(s), y)",
    numpy="s.T @ y",
    flops="2*n*z",
    **S,
)
op("sparse.dot (sparse)", "s:csr[n,m] t:csr[m,n]", "T.sparse.true_dot(s, t)", numpy="s @ t", flops="2*n*z*z", **S)
op("sparse.transpose", "s:csr[n,m]", numpy="s.T.copy()", **S)
op("sparse.sp_sum", "s:csr[n,m]", "T.sparse.sp_sum(s, 1)", numpy="np.asarray(s.sum(1)).ravel()", **S)
op("sparse.sp_sum (columns)", "s:csr[n,m]", "T.sparse.sp_sum(s, 0)", numpy="np.asarray(s.sum(0)).ravel()", **S)
op("sparse.diag", "s:csr[n,n]", numpy="s.diagonal()", **S)
op("sparse.square_diagonal", "y:f[n]", numpy="scipy.sparse.diags(y, format='csc')", **S)
op("sparse.clean", "s:csr[n,m]", numpy="T.cleaned(s)", **S)
op("sparse.remove0", "s:csr[n,m]", numpy="T.copied(s, 'eliminate_zeros')", **S)
op("sparse.ensure_sorted_indices", "s:csr[n,m]", numpy="T.copied(s, 'sort_indices')", **S)
op("sparse.sum_duplicates", "s:csr[n,m]", numpy="T.copied(s, 'sum_duplicates')", **S)
op("sparse.dense_from_sparse", "s:csr[n,m]", numpy="s.toarray()", **S | {"sizes": ("small", "middle")})
op("sparse.csr_from_csc", "s:csc[n,m]", numpy="s.tocsr()", **S)
op("sparse.csc_from_csr", "s:csr[n,m]", numpy="s.tocsc()", **S)
op("sparse.csr_from_dense sparse.csc_from_dense", "x:f[n,m]", "T.NAME(x * (x > 2))", numpy="scipy.sparse.csr_matrix(x * (x > 2))",
   **S | {"sizes": ("small", "middle")})  # fmt: skip
op("sparse.cast", "s:csr[n,m]", "T.sparse.cast(s, 'float32')", numpy="s.astype('float32')", **S)
op("sparse.sp_zeros_like", "s:csr[n,m]", numpy="s * 0", **S)
op("sparse.sp_ones_like", "s:csr[n,m]", numpy="T.structured(s, np.ones_like)", **S)
op("sparse.row_scale", "s:csr[n,m] y:f[n]", numpy="scipy.sparse.diags(y) @ s", **S)
op("sparse.col_scale", "s:csr[n,m] y:f[m]", numpy="s @ scipy.sparse.diags(y)", **S)
op(
    "sparse.vstack sparse.hstack",
    "s:csr[n,m] t:csr[n,m]",
    "T.NAME([s, t], format='csr')",
    numpy="scipy.NAME([s, t], format='csr')",
    **S,
)
op(
    "sparse.sampling_dot",
    "s:csr[n,m] x:f[n,k] y:f[m,k]",
    "T.sparse.sampling_dot(x, y, s)",
    numpy="s.multiply(x @ y.T)",
    **S | {"sizes": ("small", "middle")},
)
op("sparse.get_item", "s:csr[n,m]", "s[1:, :]", numpy="s[1:, :]", **S)
op("sparse.get_item (column)", "s:csr[n,m]", "s[:, 1:5]", numpy="s[:, 1:5]", **S)
op("sparse.csm_data sparse.csm_indices sparse.csm_indptr", "s:csr[n,m]", numpy=None, **S | {"sizes": ("small",)})
op("sparse.csm_shape", "s:csr[n,m]", numpy="np.asarray(s.shape)", **S | {"sizes": ("small",)})
op("sparse.CSR", "s:csr[n,m]", "T.sparse.CSR(T.sparse.csm_data(s) * 2, T.sparse.csm_indices(s), T.sparse.csm_indptr(s), (n, m))",
   numpy="scipy.sparse.csr_matrix((s.data * 2, s.indices.copy(), s.indptr.copy()), shape=(n, m))", **S)  # fmt: skip
op("sparse.CSC", "s:csc[n,m]", "T.sparse.CSC(T.sparse.csm_data(s) * 2, T.sparse.csm_indices(s), T.sparse.csm_indptr(s), (n, m))",
   numpy="scipy.sparse.csc_matrix((s.data * 2, s.indices.copy(), s.indptr.copy()), shape=(n, m))", **S)  # fmt: skip
