"""Rows of NumPy's lesser names, and of the layers and losses that PyTorch has under the same names."""

from .others import net
from .table import op

V = {"family": "vector"}
MIDDLE = ("small", "middle")
op("append", "x y", "T.append(x, y, 0)", jax="jnp.append(x, y, 0)", torch="torch.cat([x, y])", grad=True)
op("array_equal", "x y", torch="torch.equal(x, y)")
op("array_equiv", "x y", torch=None)
op("diagflat", "y:f[k]", "T.diagflat(y)", torch="torch.diagflat(y)", grad=True)
op("fabs", torch="torch.abs(x)", grad=True)
op("float_power", "x:q[n,m] y", torch="torch.pow(x, y)", grad=True)
op("indices", "y:f[k]", "T.indices((n, m))", numpy="np.indices((n, m))", jax="jnp.indices((n, m))", torch=None)
op("isreal iscomplex", torch=None)
op("spacing", numpy="np.spacing(x)", torch=None)
op("trim_zeros", "y:f[n]", "T.trim_zeros(y)", torch=None, **V)
op("resize", text="T.resize(x, (m, n))", torch=None, grad=True)
op("place", "x b:b[n,m] y:f[k]", "T.place(x, b, y)", numpy="T.written(x, lambda o: np.place(o, b, y))",
   jax="jnp.place(x, b, y, inplace=False)", torch=None)  # fmt: skip
op(
    "putmask",
    "x b:b[n,m] y:f[k]",
    "T.putmask(x, b, y)",
    numpy="T.written(x, lambda o: np.putmask(o, b, y))",
    jax=None,
    torch=None,
)
op("put", "x:f[n] i:i[m]<n y:f[m]", "T.put(x, i, y)", numpy="T.written(x, lambda o: np.put(o, i, y))",
   jax="jnp.put(x, i, y, inplace=False)", torch="x.put(i, y)", unchecked=True, **V)  # fmt: skip
op("tril_indices triu_indices", "y:f[k]", "T.NAME(k)[0] + T.cast(y[0], 'int64')", numpy="np.NAME(k)[0] + np.int64(y[0])",
   jax="jnp.NAME(k)[0] + y[0].astype('int64')", torch=None, sizes=("small",))  # fmt: skip
op("tril_indices_from triu_indices_from", "x:f[k,k]", "T.NAME(x)[0]", numpy="np.NAME(x)[0]", jax=None,
   torch=None, sizes=("small",))  # fmt: skip
op(
    "diag_indices_from",
    "x:f[k,k]",
    "T.diag_indices_from(x)[0]",
    numpy="np.diag_indices_from(x)[0]",
    jax=None,
    torch=None,
)
op("diag_indices", "y:f[k]", "T.diag_indices(k)[0] + T.cast(y[0], 'int64')", numpy="np.diag_indices(k)[0] + np.int64(y[0])",
   jax=None, torch=None, sizes=("small",))  # fmt: skip
op(
    "ix_",
    "x i:i[k]<n j:i[k]<m",
    "x[T.ix_(i, j)]",
    numpy="x[np.ix_(i, j)]",
    jax="x[jnp.ix_(i, j)]",
    torch="x[i[:, None], j]",
)
op("divmod", "x:i[n,m]<m y:i[n,m]<m", "T.divmod(x, y + 1)[0]", numpy="np.divmod(x, y + 1)[0]", jax="jnp.divmod(x, y + 1)[0]",
   torch="torch.div(x, y + 1, rounding_mode='floor')", dtypes=("int64",))  # fmt: skip
op("sort_complex", "x:f[n]", "T.sort_complex(x)", jax=None, torch=None, sizes=MIDDLE, **V)
op("apply_over_axes", "x", "T.apply_over_axes(T.max, x, [0, 1])", numpy="np.apply_over_axes(np.max, x, [0, 1])",
   jax="jnp.apply_over_axes(jnp.max, x, [0, 1])", torch="torch.amax(x, (0, 1), keepdim=True)")  # fmt: skip
op("histogram2d", "x:f[n] y:f[n]", "T.histogram2d(x, y, 10)[0]", torch=None, jax="jnp.histogram2d(x, y, 10)[0]",
   sizes=MIDDLE, dtypes=("float64",), **V)  # fmt: skip
op("histogramdd", "x:f[n] y:f[n]", "T.histogramdd([x, y], 10)[0]", numpy="np.histogramdd([x, y], 10)[0]", torch=None,
   jax="jnp.histogramdd([x, y], 10)[0]", sizes=MIDDLE, dtypes=("float64",), **V)  # fmt: skip
op("poly", "z:f[8]", "T.poly(z)", torch=None, dtypes=("float64",), **V)
op("polydiv", "p:f[m] q:q[8]", "T.polydiv(p, q)[0]", numpy="np.polydiv(p, q)[0]", jax="jnp.polydiv(p, q)[0]", torch=None,
   sizes=MIDDLE, dtypes=("float64",), **V)  # fmt: skip
op("linalg.tensorsolve", "x:f[k,k] y:f[k]", "T.linalg.tensorsolve(x + k * T.eye(k, dtype=x.dtype), y)",
   numpy="np.linalg.tensorsolve(x + k * np.eye(k, dtype=x.dtype), y)", jax="jnp.linalg.tensorsolve(x + k * jnp.eye(k, dtype=x.dtype), y)",
   torch="torch.linalg.tensorsolve(x + k * torch.eye(k, dtype=x.dtype), y)")  # fmt: skip

L = {"numpy": None, "jax": None, "grad": True}
net("celu hardshrink softshrink tanhshrink", torch="F.PLAIN(x)", **L)
net("threshold", "x", "T.nnet.threshold(x, 0.1, 20.0)", torch="F.threshold(x, 0.1, 20.0)", **L)
net("prelu", "x h:f[m]", torch="F.prelu(x, h)", **L)
net("normalize", "x", torch="F.normalize(x)", unlike=True, **L)  # the cost is the number of rows
net("pairwise_distance", "x y", torch="F.pairwise_distance(x, y)", **L)
net("embedding", "i:i[n]<m x:f[m,k]", torch="F.embedding(i, x)", **L)
net("gaussian_nll_loss", "x y z:q[n,m]", torch="F.gaussian_nll_loss(x, y, z)", **L)
net("poisson_nll_loss", "x y:q[n,m]", torch="F.poisson_nll_loss(x, y)", **L)
net("soft_margin_loss", "x", "T.nnet.soft_margin_loss(x, 1.0)", torch="F.soft_margin_loss(x, torch.ones_like(x))", **L)
net(
    "hinge_embedding_loss",
    "x",
    "T.nnet.hinge_embedding_loss(x, 1.0)",
    torch="F.hinge_embedding_loss(x, torch.ones_like(x))",
    **L,
)
net(
    "margin_ranking_loss",
    "x y",
    "T.nnet.margin_ranking_loss(x, y, 1.0)",
    torch="F.margin_ranking_loss(x, y, torch.ones_like(x))",
    **L,
)
net("cosine_embedding_loss", "x y", "T.nnet.cosine_embedding_loss(x, y, T.ones(x.shape[0]))",
    torch="F.cosine_embedding_loss(x, y, torch.ones(n))", **L)  # fmt: skip
net("triplet_margin_loss", "x y z", torch="F.triplet_margin_loss(x, y, z)", **L)
net("multi_margin_loss", "x i:i[n]<m", torch="F.multi_margin_loss(x, i)", **L)
net("multilabel_soft_margin_loss", "x y:q[n,m]", torch="F.multilabel_soft_margin_loss(x, y)", **L)
I = {"family": "images", **L}
net("group_norm", "x:f[b,c,n,n]", "T.nnet.group_norm(x, 1)", torch="F.group_norm(x, 1)", unlike=True, **I)
net("instance_norm", "x:f[b,c,n,n]", torch="F.instance_norm(x)", unlike=True, **I)
net("pixel_shuffle", "x:f[b,4,n,n]", "T.nnet.pixel_shuffle(x, 2)", torch="F.pixel_shuffle(x, 2)", **I)
net("pixel_unshuffle", "x:f[b,c,n,n]", "T.nnet.pixel_unshuffle(x, 2)", torch="F.pixel_unshuffle(x, 2)", **I)

for mode, remark in (("bilinear", ""), ("nearest", " (nearest)"), ("bicubic", " (bicubic)")):
    net(f"interpolate{remark}", "x:f[b,c,n,n]", f"T.nnet.interpolate(x, scale_factor=2, mode='{mode}')",
        torch=f"F.interpolate(x, scale_factor=2, mode='{mode}')", **I)  # fmt: skip
for spatial in (1, 2, 3):
    net(f"adaptive_avg_pool{spatial}d adaptive_max_pool{spatial}d", f"x:f[b,c{',n' * spatial}]", "T.NAME(x, 4)",
        torch="F.PLAIN(x, 4)", **I)  # fmt: skip
net(
    "adaptive_avg_pool2d (uneven)",
    "x:f[b,c,n,n]",
    "T.nnet.adaptive_avg_pool2d(x, 3)",
    torch="F.adaptive_avg_pool2d(x, 3)",
    **I,
)
net(
    "grid_sample",
    "x:f[b,c,n,n] y:f[b,n,n,2]",
    "T.nnet.grid_sample(x, y)",
    torch="F.grid_sample(x, y, align_corners=False)",
    **I,
)
net(
    "affine_grid",
    "y:f[b,2,3]",
    "T.nnet.affine_grid(y, (b, c, n, n))",
    torch="F.affine_grid(y, (b, c, n, n), align_corners=False)",
    **I,
)
net("unfold", "x:f[b,c,n,n]", "T.nnet.unfold(x, 3)", torch="F.unfold(x, 3)", **I)
net(
    "fold",
    "x:f[b,c,n,n]",
    "T.nnet.fold(T.nnet.unfold(x, 2), (n, n), 2)",
    torch="F.fold(F.unfold(x, 2), (n, n), 2)",
    **I,
)
net("channel_shuffle", "x:f[b,c,n,n]", "T.nnet.channel_shuffle(x, 2)", torch="torch.channel_shuffle(x, 2)", **I)
net("cdist", "x:f[n,k] y:f[m,k]", torch="torch.cdist(x, y, compute_mode='donot_use_mm_for_euclid_dist')", **L)
net("pdist", "x:f[n,k]", torch="F.pdist(x)", **L)
net("linear", "x:f[n,k] y:f[m,k] z:f[m]", torch="F.linear(x, y, z)", **L)
net("bilinear", "x:f[n,k] y:f[n,k] z:f[k,k,k]", torch="F.bilinear(x, y, z)", **L)
net("embedding_bag", "i:i[n,k]<m x:f[m,k]", torch="F.embedding_bag(i, x)", **L)
net("nll_loss", "x i:i[n]<m", torch="F.nll_loss(x, i)", **L)
net("softmin", "x", torch="F.softmin(x, -1)", **L)
net("rrelu", "x", torch="F.rrelu(x)", **L)
net("max_pool2d avg_pool2d", "x:f[b,c,n,n]", "T.NAME(x, 3, 2, 1)", torch="F.PLAIN(x, 3, 2, 1)", **I | {"unlike": True})
net("max_pool1d avg_pool1d", "x:f[b,c,n]", "T.NAME(x, 2)", torch="F.PLAIN(x, 2)", **I | {"unlike": True})
net("max_pool3d avg_pool3d", "x:f[b,c,8,8,8]", "T.NAME(x, 2)", torch="F.PLAIN(x, 2)", **I | {"unlike": True})
AROUND = "(1, 1, 3, 3), (1, 1, 2, 2), ((0, 0), (0, 0), (1, 1), (1, 1))"
for row, first, ours, jaxs, torchs in (
    ("", "-T.inf", "T.maximum", "max", "F.max_pool2d(x, 3, 2, 1)"),
    (" (sum)", "0.0", "T.add", "add", "F.avg_pool2d(x, 3, 2, 1, divisor_override=1)"),
    (" (product)", "1.0", "T.mul", "mul", None),
):
    theirs = f"jax.lax.reduce_window(x, {first.replace('T.', 'jnp.')}, jax.lax.{jaxs}, {AROUND})"
    net(f"reduce_window{row}", "x:f[b,c,n,n]", f"T.nnet.reduce_window(x, {first}, {ours}, {AROUND})",
        torch=torchs, **I | {"unlike": True, "jax": theirs})  # fmt: skip
net("max_pool2d (places)", "x:f[b,c,n,n]", "T.nnet.max_pool2d(x, 2, return_indices=True)[1]",
    torch="F.max_pool2d(x, 2, return_indices=True)[1]", **I | {"grad": False})  # fmt: skip
net("lp_pool1d", "x:f[b,c,n]", "T.nnet.lp_pool1d(x, 2, 2)", torch="F.lp_pool1d(x, 2, 2)", **I)
net("lp_pool2d", "x:f[b,c,n,n]", "T.nnet.lp_pool2d(x, 2, 2)", torch="F.lp_pool2d(x, 2, 2)", **I)
net("lp_pool3d", "x:f[b,c,8,8,8]", "T.nnet.lp_pool3d(x, 2, 2)", torch="F.lp_pool3d(x, 2, 2)", **I)
net(
    "max_unpool2d",
    "x:f[b,c,n,n] i:i[b,c,n,n]<n",
    "T.nnet.max_unpool2d(x, i, 2)",
    torch="F.max_unpool2d(x, i, 2)",
    **I | {"unlike": True},
)
net(
    "max_unpool1d",
    "x:f[b,c,n] i:i[b,c,n]<n",
    "T.nnet.max_unpool1d(x, i, 2)",
    torch="F.max_unpool1d(x, i, 2)",
    **I | {"unlike": True},
)
net("max_unpool3d", "x:f[b,c,4,4,4] i:i[b,c,4,4,4]<n", "T.nnet.max_unpool3d(x, i, 2)", torch="F.max_unpool3d(x, i, 2)",
    **I | {"unlike": True})  # fmt: skip
net("fractional_max_pool2d", "x:f[b,c,n,n] u:q[b,c,2]", "T.nnet.fractional_max_pool2d(x, 2, 4, samples=u)",
    torch="F.fractional_max_pool2d(x, 2, 4, _random_samples=u)", **I | {"unlike": True})  # fmt: skip
net("fractional_max_pool3d", "x:f[b,c,8,8,8] u:q[b,c,3]", "T.nnet.fractional_max_pool3d(x, 2, 4, samples=u)",
    torch="F.fractional_max_pool3d(x, 2, 4, _random_samples=u)", **I | {"unlike": True})  # fmt: skip
ATTENTION = {"numpy": None, "grad": True, "family": "attention"}
net("multi_head_attention_forward", "x:f[t,b,64] y:f[192,64] z:f[64,64]",
    "T.nnet.multi_head_attention_forward(x, x, x, 64, 4, y, None, None, None, False, 0.0, z, None)[0]", jax=None,
    torch="F.multi_head_attention_forward(x, x, x, 64, 4, y, None, None, None, False, 0.0, z, None)[0]", **ATTENTION)  # fmt: skip
net("dot_product_attention", "x:f[b,t,4,d] y:f[b,t,4,d] z:f[b,t,4,d]", jax="jax.nn.dot_product_attention(x, y, z)",
    torch="F.scaled_dot_product_attention(x.swapaxes(1, 2), y.swapaxes(1, 2), z.swapaxes(1, 2)).swapaxes(1, 2)",
    unchecked=True, **ATTENTION)  # fmt: skip  # JAX multiplies float64 in float32
net("hardsigmoid", torch="F.hardsigmoid(x)", **L)
J = {"numpy": None, "torch": None, "grad": True}
net("squareplus sparse_plus sparse_sigmoid", jax="jax.nn.PLAIN(x)", **J)
net("standardize", jax="jax.nn.standardize(x)", unlike=True, **J)  # the gradient of its sum is rounding
net("logmeanexp", "x", "T.nnet.logmeanexp(x, -1)", jax="jax.nn.logmeanexp(x, -1)", **J)
net("binary_cross_entropy", "x:q[n,m] y:q[n,m]", torch="F.binary_cross_entropy(x, y)", **L)
net("binary_cross_entropy_with_logits", "x y:q[n,m]", torch="F.binary_cross_entropy_with_logits(x, y)", **L)
net("multilabel_margin_loss", "x:f[n,k] i:i[n,k]<k", torch="F.multilabel_margin_loss(x, i)", **L)
net("triplet_margin_with_distance_loss", "x y z:q[n,m]", torch="F.triplet_margin_with_distance_loss(x, y, z)", **L)
