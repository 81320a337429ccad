"""Rows of statistics, of arrays put together from blocks, of bits, of normalization, of beta and logit."""

from .table import op

MIDDLE = ("small", "middle")
F64 = {"dtypes": ("float64",)}

# ---------------------------------------------------------------------- statistics
op("nansum nanmean", grad=True)
op("nanmax nanmin nanprod nanvar nanstd nancumsum nancumprod nanmedian nanargmax nanargmin", torch=None)
op(
    "nanquantile",
    text="T.nanquantile(x, 0.3, axis=1)",
    jax="jnp.nanquantile(x, 0.3, axis=1)",
    torch="torch.nanquantile(x, 0.3, dim=1)",
)
op("nanpercentile", text="T.nanpercentile(x, 30.0, axis=1)", torch="torch.nanquantile(x, 0.3, dim=1)")
op(
    "quantile",
    text="T.quantile(x, 0.3, axis=1)",
    jax="jnp.quantile(x, 0.3, axis=1)",
    torch="torch.quantile(x, 0.3, dim=1)",
)
op("percentile", text="T.percentile(x, 30.0, axis=1)", torch="torch.quantile(x, 0.3, dim=1)")
op("histogram_bin_edges", "x:f[n]", "T.histogram_bin_edges(x, 10)", torch=None, family="vector", **F64)
op("cumulative_sum cumulative_prod", "x:f[n]", "T.NAME(x, include_initial=True)", torch=None, family="vector")
op("histogram", "x:f[n]", "T.histogram(x, 10)[0]", torch=None, jax="jnp.histogram(x, 10)[0]", family="vector", **F64)
op("corrcoef", torch="torch.corrcoef(x)", family="costly")
op("gradient", "x:f[n]", "T.gradient(x)", torch="torch.gradient(x)[0]", family="vector", grad=True)
op("trapezoid", text="T.trapezoid(x, axis=1)", torch="torch.trapezoid(x, dim=1)", grad=True)
op("isin", "x:i[n]<m y:i[m]<m", "T.isin(x, y)", family="vector", dtypes=("int64",), sizes=MIDDLE)
SETS = {"family": "vector", "dtypes": ("int64",), "sizes": MIDDLE, "jax": None, "torch": None}
op("union1d intersect1d setdiff1d setxor1d", "x:i[n]<m y:i[m]<m", "T.NAME(x, y)", **SETS)
op("lexsort", "x:i[n]<k y:f[n]", "T.lexsort([y, x])", family="vector", torch=None, dtypes=("float64",), sizes=MIDDLE)
op("piecewise", "x", "T.piecewise(x, [x > 1, x > 0], [T.sqr, 3.0, 1.0])",
   numpy="np.piecewise(x, [x > 1, x > 0], [np.square, 3.0, 1.0])",
   jax="jnp.where(x > 0, 3.0, jnp.where(x > 1, jnp.square(x), 1.0))",
   torch="torch.where(x > 0, 3.0, torch.where(x > 1, x * x, 1.0))", grad=True)  # fmt: skip
op("select", "x y", "T.select([x > 1, x > 0], [y, x], 0.0)", jax="jnp.select([x > 1, x > 0], [y, x], 0.0)",
   torch="torch.where(x > 1, y, torch.where(x > 0, x, 0.0))", grad=True)  # fmt: skip
op("vander", "x:u[n]", "T.vander(x, 4)", torch="torch.flip(torch.vander(x, 4), (1,))", family="vector", sizes=MIDDLE)

# ---------------------------------------------------------------------- polynomials
op("polyval", "p:f[5] x:f[n]", "T.polyval(p, x)", torch=None, family="vector", grad=True)
op("polyfit", "x:u[n] y:f[n]", "T.polyfit(x, y, 3)", torch=None, family="vector", sizes=MIDDLE, grad=True, **F64)
op("roots", "p:f[8]", "T.roots(p)", torch=None, jax="jnp.roots(p, strip_zeros=False)", family="vector", **F64)
op("polyder polyint", "p:f[m]", "T.NAME(p)", torch=None, family="vector", grad=True)
op("polyadd polysub", "p:f[m] q:f[n]", "T.NAME(p, q)", torch=None, family="vector", sizes=MIDDLE)
op("polymul", "p:f[m] q:f[n]", "T.polymul(p, q)", torch=None, family="vector", sizes=MIDDLE, grad=True)

# ---------------------------------------------------------------------- blocks and bits
op(
    "block",
    "x y",
    "T.block([[x, y], [y, x]])",
    torch="torch.cat([torch.cat([x, y], 1), torch.cat([y, x], 1)])",
    grad=True,
)
op("linalg.block_diag", "x y", numpy="scipy.linalg.block_diag(x, y)", jax="jax.scipy.linalg.block_diag(x, y)",
   torch="torch.block_diag(x, y)", sizes=MIDDLE)  # fmt: skip
op("packbits", "x:b[n,8]", "T.packbits(x)", torch=None, family="vector", dtypes=("int64",), sizes=MIDDLE)
op("unpackbits", "x:i[n]<100", "T.unpackbits(T.cast(x, 'uint8'))", numpy="np.unpackbits(x.astype('uint8'))",
   jax="jnp.unpackbits(x.astype('uint8'))", torch=None, family="vector", dtypes=("int64",), sizes=MIDDLE)  # fmt: skip

# ---------------------------------------------------------------------- special functions, roots of matrices
op(
    "betainc",
    "x:p[n,m] y:p[n,m] z:q[n,m]",
    "T.betainc(x, y, z)",
    torch=None,
    jax="jax.scipy.special.betainc(x, y, z)",
    **F64,
)
SCIPYS = {"family": "costly", "torch": None, **F64}
op("ive kv kve zeta expn", "y:p[n,m]", "T.NAME(2.0, y)", numpy="scipy.special.NAME(2.0, y)", jax=None, **SCIPYS)
op("kn", "y:p[n,m]", "T.kn(2, y)", jax=None, **SCIPYS)
op("gammaincinv gammainccinv", "y:q[n,m]", "T.NAME(2.5, y)", numpy="scipy.special.NAME(2.5, y)", jax=None, **SCIPYS)
op(
    "betaincinv",
    "y:q[n,m]",
    "T.betaincinv(2.5, 1.5, y)",
    numpy="scipy.special.betaincinv(2.5, 1.5, y)",
    jax=None,
    **SCIPYS,
)
op("hyp1f1", "y:f[n,m]", "T.hyp1f1(1.5, 2.5, y)", numpy="scipy.special.hyp1f1(1.5, 2.5, y)",
   jax="jax.scipy.special.hyp1f1(1.5, 2.5, y)", **SCIPYS)  # fmt: skip
op("hyp2f1", "y:q[n,m]", "T.hyp2f1(1.5, 2.0, 2.5, y)", numpy="scipy.special.hyp2f1(1.5, 2.0, 2.5, y)",
   jax="jax.scipy.special.hyp2f1(1.5, 2.0, 2.5, y)", **SCIPYS)  # fmt: skip
for name, shapes in {
    "norm": "",
    "gumbel_r": "",
    "t": ", 3.5",
    "gamma": ", 2.5",
    "expon": "",
    "truncnorm": ", -0.5, 2.5",
}.items():
    text = f"stats.{name}.logpdf(x{shapes}, scale=1.5)"
    op(
        f"stats.{name} (logpdf)",
        "x:p[n,m]",
        f"T.{text}",
        numpy=f"scipy.{text}",
        jax=f"jax.scipy.{text}",
        grad=True,
        **SCIPYS,
    )
op("ndimage.map_coordinates", "x:f[n,m] y:q[2,n]", "T.ndimage.map_coordinates(x, 90 * y, 1, 'nearest')", grad=True, family="costly",
   numpy="scipy.ndimage.map_coordinates(x, 90 * y, order=1, mode='nearest')", torch=None, dtypes=("float64",),
   jax="jax.scipy.ndimage.map_coordinates(x, list(90 * y), 1, 'nearest')")  # fmt: skip


MOVED = {"family": "costly", "torch": None, "jax": None}
for arguments in ("shift(x, 0.3, mode='nearest', order=1)", "zoom(x, 1.3, order=1)", "rotate(x, 30, order=1)",
                  "affine_transform(x, [[0.9, -0.4], [0.35, 1.1]], 0.3, order=1)"):  # fmt: skip
    name = arguments.partition("(")[0]
    op(f"ndimage.{name}", "x:f[n,m]", f"T.ndimage.{arguments}", numpy=f"scipy.ndimage.{arguments}", grad=True, **MOVED)


def neighbours(names: str, arguments: str, **more) -> None:
    """Filters of T.ndimage, which neither JAX nor PyTorch has."""
    for name in names.split():
        text = f"ndimage.{name.partition(' (')[0]}({arguments})"
        op(f"ndimage.{name}", "x", f"T.{text}", numpy=f"scipy.{text}", jax=None, torch=None, **more)


neighbours("gaussian_filter gaussian_laplace", "x, 1.5", grad=True)
neighbours("gaussian_filter1d gaussian_gradient_magnitude", "x, 1.5")
neighbours("uniform_filter uniform_filter1d", "x, 5", grad=True)
neighbours("correlate1d convolve1d", "x, [1.0, 2.0, 4.0, 0.5, -1.0]")
neighbours("correlate convolve", "x, [[1.0, 2.0, 0.5], [-1.0, 4.0, 2.0], [0.5, 1.0, 2.0]]", grad=True)
neighbours("sobel prewitt laplace", "x")
neighbours("maximum_filter minimum_filter maximum_filter1d minimum_filter1d", "x, 5")
op("lambertw", "x:p[n,m]", numpy="scipy.special.lambertw(x).real", jax=None, grad=True, **SCIPYS)
op("factorial loggamma", "x:p[n,m]", numpy="scipy.special.NAME(x)", jax=None, grad=True, **SCIPYS)
op("tri_gamma", "x:p[n,m]", numpy="scipy.special.polygamma(1, x)", jax="jax.scipy.special.polygamma(1, x)", **SCIPYS)
op("sici", "x:p[n,m]", numpy="list(scipy.special.sici(x))", jax="list(jax.scipy.special.sici(x))", grad=True, **SCIPYS)
op(
    "boxcox boxcox1p comb",
    "x:p[n,m] y:q[n,m]",
    "T.NAME(x, y)",
    numpy="scipy.special.NAME(x, y)",
    jax=None,
    grad=True,
    **SCIPYS,
)
op(
    "chi2sf",
    "x:p[n,m] y:p[n,m]",
    numpy="scipy.special.chdtrc(y, x)",
    jax="jax.scipy.special.gammaincc(y / 2, x / 2)",
    **SCIPYS,
)
op("gammal gammau", "x:p[n,m] y:p[n,m]", jax=None, numpy=None, **SCIPYS)
op("inverse_permutation", "x:i[n]<n", "T.inverse_permutation(T.argsort(x))", numpy="np.argsort(np.argsort(x))",
   jax="jnp.argsort(jnp.argsort(x))", torch="torch.argsort(torch.argsort(x))", family="vector", dtypes=("int64",), unchecked=True)  # fmt: skip
op("betaln", "x:p[n,m] y:p[n,m]", "T.betaln(x, y)", torch=None, grad=True, **F64)
op("logit", "x:q[n,m]", grad=True)
for name in ("ndtr", "log_ndtr", "ndtri", "entr"):
    op(name, "x:q[n,m]", numpy=f"scipy.special.{name}(x)", jax=f"jax.scipy.special.{name}(x)",
       torch=f"torch.special.{name}(x)", grad=True)  # fmt: skip
op("rel_entr", "x:q[n,m] y:q[n,m]", numpy="scipy.special.rel_entr(x, y)", jax="jax.scipy.special.rel_entr(x, y)",
   torch=None, grad=True)  # fmt: skip
op("multigammaln", "x:p[n,m]", "T.multigammaln(x + 2, 3)", numpy="scipy.special.multigammaln(x + 2, 3)",
   jax="jax.scipy.special.multigammaln(x + 2, 3)", torch="torch.special.multigammaln(x + 2, 3)", grad=True, **F64)  # fmt: skip
op(
    "linalg.sqrtm",
    "x:h[n,n]",
    numpy="scipy.linalg.sqrtm(x)",
    jax=None,
    torch=None,
    family="square",
    sizes=MIDDLE,
    **F64,
)
op("linalg.cho_factor", "x:h[n,n]", "T.linalg.cho_factor(x)[0]", numpy="np.triu(scipy.linalg.cho_factor(x)[0])",
   jax=None, torch=None, family="square", unchecked=True, **F64)  # fmt: skip

# ---------------------------------------------------------------------- normalization
N = {"family": "images", "numpy": None, "jax": None}
op("nnet.batch_normalization", "x:f[b,c,n,n] g:p[c] h:f[c] m:f[c] s:p[c]",
   "T.nnet.batch_normalization(x, *[T.dimshuffle(a, 'x', 0, 'x', 'x') for a in (g, h, m, s)])",
   torch="(x - m[:, None, None]) * (g / s)[:, None, None] + h[:, None, None]", grad=True, **N)  # fmt: skip
op("nnet.batch_normalization_train", "x:f[b,c,n,n] g:p[1,c,1,1] h:f[1,c,1,1]",
   "T.nnet.batch_normalization_train(x, g, h, 'spatial', 1e-4)[0]",
   torch="F.batch_norm(x, None, None, g.ravel(), h.ravel(), True, 0.1, 1e-4)", grad=True, **N)  # fmt: skip
op("nnet.batch_normalization_test", "x:f[b,c,n,n] g:p[1,c,1,1] h:f[1,c,1,1] m:f[1,c,1,1] v:p[1,c,1,1]",
   "T.nnet.batch_normalization_test(x, g, h, m, v, 'spatial', 1e-4)",
   torch="F.batch_norm(x, m.ravel(), v.ravel(), g.ravel(), h.ravel(), False, 0.1, 1e-4)", grad=True, **N)  # fmt: skip
op("nnet.local_response_normalization", "x:f[b,c,n,n]", "T.nnet.local_response_normalization(x, 5, 2.0, 1e-4, 0.75)",
   torch="F.local_response_norm(x, 5, 5e-4, 0.75, 2.0)", grad=True, **N)  # fmt: skip
