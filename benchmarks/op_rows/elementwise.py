"""Rows of element-wise functions and reductions."""

from .table import op

INT = ("int64",)
MIDDLE = ("small", "middle")

# ---------------------------------------------------------------------- one argument
op("exp expm1 sin cos tanh sinh cosh arctan exp2 square sigmoid erf arcsinh sqr", grad=True)
op("arcsin arccos arctanh erfinv tan", "x:u[n,m]", grad=True)
op("arccosh", "x:o[n,m]", grad=True)
op("negative abs abs_ softplus sinc", grad=True, torch="T.NAME(x)")
op("sign sgn floor ceil trunc fix rint isnan isinf isfinite signbit isposinf isneginf")
op("round round_half_to_even", text="T.NAME(x)", numpy="np.round(x)", jax="jnp.round(x)", torch="torch.round(x)")
op("iround", text="T.iround(x)", numpy="np.rint(x).astype('int64')", jax="jnp.rint(x).astype('int64')",
   torch="torch.round(x).to(torch.int64)")  # fmt: skip
op("deg2rad rad2deg", grad=True)
op("positive", torch="T.owned(x)")
op("nan_to_num")
op("real imag", "x:c[n,m]", view=True)
op("conj angle", "x:c[n,m]", torch="T.NAME(x) + 0")
op("logical_not", "x:b[n,m]")
op("invert", "x:i[n,m]<100", dtypes=INT, torch="torch.bitwise_not(x)")
op("erfc erfcx gamma gammaln digamma", "x:p[n,m]", family="costly", grad=True)
op(
    "spence",
    "x:p[n,m]",
    numpy="scipy.special.spence(x)",
    jax="jax.scipy.special.spence(x)",
    torch=None,
    unlike=True,
    grad=True,
)  # JAX's slope: NaN at 1.2
op("erfcinv", "x:q[n,m]", family="costly", torch=None)
op("j0 j1 i0 i1 i0e i1e", "x:p[n,m]", family="costly", grad=True)
op("log1mexp", "x:p[n,m]", "T.log1mexp(-x)", numpy="np.log(-np.expm1(-x))", jax="jnp.log1p(-jnp.exp(-x))",
   torch="torch.log1p(-torch.exp(-x))", grad=True)  # fmt: skip
op("gammainc gammaincc", "x:p[n,m] y:p[n,m]", family="costly")
op("polygamma", "y:p[n,m]", "T.polygamma(1, y)", family="costly")
op("jv iv", "y:p[n,m]", "T.NAME(2.5, y)", family="costly", jax=None, torch=None)
op(
    "cast",
    text="T.cast(x, 'float16')",
    numpy="x.astype('float16')",
    jax="x.astype('float16')",
    torch="x.to(torch.float16)",
)
op(
    "cast (to whole numbers)",
    text="T.cast(x, 'int32')",
    numpy="x.astype('int32')",
    jax="x.astype('int32')",
    torch="x.to(torch.int32)",
)

# ---------------------------------------------------------------------- two and three arguments
op("add subtract multiply maximum minimum fmax fmin hypot arctan2 logaddexp logaddexp2 copysign", "x y", grad=True)
op("true_divide", "x y:p[n,m]", "x / y", grad=True)
op("add (row)", "x y:f[m]", "x + y", grad=True)
op("add (column)", "x y:f[n,1]", "x + y", grad=True)
op("add (whole numbers)", "x:i[n,m]<9 y:i[n,m]<9", "x + y", dtypes=INT)
op("less less_equal greater greater_equal equal not_equal", "x y")
op("logical_and logical_or logical_xor", "x:b[n,m] y:b[n,m]")
op("bitwise_and bitwise_or bitwise_xor", "x:i[n,m]<99 y:i[n,m]<99", dtypes=INT)
op("gcd lcm", "x:i[n,m]<99 y:i[n,m]<99", dtypes=INT, torch="torch.NAME(x, y)")
op("bitwise_count", "x:i[n,m]<99", dtypes=INT, jax="jnp.bitwise_count(x)", torch=None)
op("ldexp", "x i:i[n,m]<30", torch="torch.ldexp(x, i)", grad=True)
op("frexp", torch="list(torch.frexp(x))")
op("modf", torch="[torch.frac(x), torch.trunc(x)]")
op("left_shift right_shift", "x:i[n,m]<99 y:i[n,m]<8", dtypes=INT, torch="torch.bitwise_NAME(x, y)")
op("floor_divide mod fmod", "x y:p[n,m]", torch="T.NAME(x, y)")
op("floor_divide (whole numbers)", "x:i[n,m]<99 y:i[n,m]<8", "x // (y + 1)", dtypes=INT)
op("mod (whole numbers)", "x:i[n,m]<99 y:i[n,m]<8", "x % (y + 1)", dtypes=INT)
op("heaviside nextafter", "x y:p[n,m]")
op("power", "x:p[n,m] y:p[n,m]", "x ** y", grad=True)
op("power (3)", "x", "x ** 3", grad=True)
op("fma", "x y z", "T.fma(x, y, z)", numpy="x * y + z", jax="x * y + z", torch="torch.addcmul(z, x, y)", grad=True)
op("isclose", "x y")
op("allclose", "x y", "T.allclose(x, x + 1e-9 * y)")
op(
    "switch where",
    "c:b[n,m] x y",
    numpy="np.where(c, x, y)",
    jax="jnp.where(c, x, y)",
    torch="torch.where(c, x, y)",
    grad=True,
)
op("clip", text="T.clip(x, -1, 1)", grad=True)
op("complex", "x y", numpy="x + 1j * y", jax="jax.lax.complex(x, y)", torch="torch.complex(x, y)")
op("multiply (complex)", "x:c[n,m] y:c[n,m]", "x * y")

# ---------------------------------------------------------------------- reductions
op("sum mean", grad=True)
op("sum (rows)", text="T.sum(x, axis=1)", grad=True)
op("sum (columns)", text="T.sum(x, axis=0)", grad=True)
op("mean (columns)", text="T.mean(x, axis=0)", grad=True)
op("sum (whole numbers)", "x:i[n,m]<99", "T.sum(x)", dtypes=INT)
op("sum (transposed)", text="T.sum(x.T, axis=1)")
op("prod", "x:o[n,m]", "T.prod(x * 0.4, axis=1)", grad=True)
op("var std", text="T.NAME(x, axis=1)", torch="torch.NAME(x, axis=1, correction=0)", grad=True)
op("var (columns)", text="T.var(x, axis=0)", torch="torch.var(x, axis=0, correction=0)", grad=True)
op("max min", text="T.NAME(x, axis=1)", torch="torch.aNAME(x, 1)", grad=True)
op("max (columns)", text="T.max(x, axis=0)", torch="torch.amax(x, 0)", grad=True)
op("max (all)", text="T.max(x)")
op("ptp", text="T.ptp(x, axis=1)", torch="torch.amax(x, 1) - torch.amin(x, 1)")
op("any all", "x:b[n,m]", "T.NAME(x, axis=1)")
op("any (comparison)", text="T.any(x > 9)")
op("count_nonzero", "x:b[n,m]", "T.count_nonzero(x, axis=1)")
op("argmax argmin", text="T.NAME(x, axis=1)")
op("argmax (columns)", text="T.argmax(x, axis=0)")
op("argmax (all)", text="T.argmax(x)")
op("max_and_argmax", text="T.max_and_argmax(x, axis=1)", numpy="[x.max(axis=1), x.argmax(axis=1)]",
   jax="[x.max(axis=1), x.argmax(axis=1)]", torch="list(torch.max(x, 1))")  # fmt: skip
op("cumsum cumprod", text="T.NAME(x, axis=1)", grad=True)
for name, ufunc in (("cummax", "maximum"), ("cummin", "minimum")):
    op(name, text=f"T.{name}(x, axis=1)", numpy=f"np.{ufunc}.accumulate(x, axis=1)", jax=f"jax.lax.{name}(x, axis=1)",
       torch=f"torch.{name}(x, 1)[0]", grad=True)  # fmt: skip
op("cummax (columns)", text="T.cummax(x, axis=0)", numpy="np.maximum.accumulate(x, axis=0)",
   jax="jax.lax.cummax(x, axis=0)", torch="torch.cummax(x, 0)[0]", grad=True)  # fmt: skip
op("cumsum (columns)", text="T.cumsum(x, axis=0)", grad=True)
op("logcumsumexp", text="T.logcumsumexp(x, axis=1)", numpy="np.logaddexp.accumulate(x, axis=1)",
   jax="jax.lax.cumlogsumexp(x, axis=1)", torch="torch.logcumsumexp(x, 1)", grad=True)  # fmt: skip
op("associative_scan", text="T.associative_scan(T.maximum, x)", numpy="np.maximum.accumulate(x, axis=0)",
   jax="jax.lax.associative_scan(jnp.maximum, x)", torch="torch.cummax(x, 0)[0]", grad=True)  # fmt: skip
op("cov", "x:f[k,n]", numpy="np.cov(x, dtype=x.dtype)", grad=True)
op("logsumexp", text="T.logsumexp(x, axis=1)", grad=True)
op("softmax log_softmax", text="T.NAME(x, axis=1)", grad=True)
op("softmax (columns)", text="T.softmax(x, axis=0)", grad=True)
op("median", text="T.median(x, axis=1)", torch=None)
op("average", "x y:p[m]", "T.average(x, axis=1, weights=y)", torch="(x @ y) / y.sum()", grad=True)
op("average (columns)", "x y:p[n]", "T.average(x, axis=0, weights=y)", torch="(y @ x) / y.sum()", grad=True)
