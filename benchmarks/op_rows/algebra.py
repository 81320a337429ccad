"""Rows of products, linear algebra and Fourier transforms."""

from .table import op

COMPLEX = ("complex128", "complex64")
# ---------------------------------------------------------------------- products
P = {"family": "product", "grad": True}
op("dot matmul", "x:f[n,k] y:f[k,m]", torch="x @ y", flops="2*n*m*k", **P)
op("matmul (transposed)", "x:f[k,n] y:f[k,m]", "x.T @ y", flops="2*n*m*k", **P)
op("matmul (vector)", "x:f[n,k] y:f[k]", "x @ y", flops="2*n*k", family="matrix", grad=True)
op("matmul (vector first)", "x:f[n] y:f[n,m]", "x @ y", flops="2*n*m", family="matrix", grad=True)
op("matmul (batch)", "x:f[b,n,k] y:f[b,k,m]", "x @ y", family="batch", flops="2*b*n*m*k", grad=True)
op(
    "matmul (bias, relu)",
    "x:f[n,k] y:f[k,m] z:f[m]",
    "T.maximum(x @ y + z, 0)",
    torch="torch.relu(x @ y + z)",
    flops="2*n*m*k",
    **P,
)
op("dot (vectors)", "x:f[n] y:f[n]", "T.dot(x, y)", family="vector", grad=True)
op("tensordot", "x:f[b,n,k] y:f[n,k,m]", "T.tensordot(x, y, 2)", family="cube", flops="2*b*n*k*m", grad=True)
op(
    "batched_dot",
    "x:f[b,n,k] y:f[b,k,m]",
    numpy="x @ y",
    jax="x @ y",
    torch="torch.bmm(x, y)",
    family="batch",
    flops="2*b*n*m*k",
    grad=True,
)
op("batched_tensordot", "x:f[b,n,k] y:f[b,k,m]", "T.batched_tensordot(x, y, 1)", numpy="x @ y", jax="x @ y", torch="torch.bmm(x, y)",
   family="batch", flops="2*b*n*m*k")  # fmt: skip
op("outer", "x:f[n] y:f[m]", grad=True)
op("inner", "x:f[n,k] y:f[m,k]", flops="2*n*m*k", **P)
op("vdot", "x:f[n] y:f[n]", family="vector", grad=True)
op("vecdot", "x y", torch="torch.linalg.vecdot(x, y)", grad=True)
op(
    "matvec",
    "x:f[b,n,k] y:f[b,k]",
    family="batch",
    numpy="(x @ y[..., None])[..., 0]",
    jax="(x @ y[..., None])[..., 0]",
    torch="torch.einsum('bnk,bk->bn', x, y)",
    flops="2*b*n*k",
    grad=True,
)
op(
    "vecmat",
    "y:f[b,k] x:f[b,k,m]",
    "T.vecmat(y, x)",
    family="batch",
    numpy="(y[:, None] @ x)[:, 0]",
    jax="(y[:, None] @ x)[:, 0]",
    torch="torch.einsum('bk,bkm->bm', y, x)",
    flops="2*b*k*m",
    grad=True,
)
op("kron", "x:f[k,k] y:f[n,m]", grad=True)
op("cross", "x:f[n,3] y:f[n,3]", torch="torch.linalg.cross(x, y)", grad=True)
op("einsum", "x:f[b,n,k] y:f[b,m,k]", "T.einsum('bnk,bmk->nm', x, y)", family="cube", flops="2*b*n*m*k", grad=True,
   numpy="np.einsum('bnk,bmk->nm', x, y, optimize=True)")  # fmt: skip
op("einsum (three)", "x:f[n,k] y:f[k,m] z:f[m]", "T.einsum('nk,km,m->n', x, y, z)", family="product",
   numpy="np.einsum('nk,km,m->n', x, y, z, optimize=True)", grad=True)  # fmt: skip
op("correlate", "x:f[n] y:f[k]", "T.correlate(x, y)", family="vector", sizes=("small", "middle"), torch=None,
   flops="2*n*k")  # fmt: skip
op(
    "convolve",
    "x:f[n] y:f[k]",
    "T.convolve(x, y)",
    family="vector",
    sizes=("small", "middle"),
    torch=None,
    flops="2*n*k",
)

# ---------------------------------------------------------------------- T.linalg
L = {"family": "square"}
op(
    "linalg.inv linalg.matrix_inverse",
    "x:w[n,n]",
    numpy="np.linalg.inv(x)",
    jax="jnp.linalg.inv(x)",
    torch="torch.linalg.inv(x)",
    grad=True,
    **L,
)
op("linalg.inv (batch)", "x:w[b,n,n]", "T.linalg.inv(x)", family="batch", grad=True)
op("linalg.det", "x:w[n,n]", grad=True, **L)
op("linalg.det (batch)", "x:w[b,n,n]", "T.linalg.det(x)", family="batch", grad=True)
op("linalg.slogdet", "x:w[n,n]", "list(T.linalg.slogdet(x))", grad=True, **L)
op("linalg.pinv", "x:w[n,m]", **L)
SCIPYS = {"family": "square", "torch": None, "dtypes": ("float64",)}
op(
    "linalg.lu",
    "x:w[n,n]",
    "T.linalg.lu(x)[1]",
    numpy="scipy.linalg.lu(x)[1]",
    jax="jax.scipy.linalg.lu(x)[1]",
    **SCIPYS,
)
op("linalg.lu_factor", "x:w[n,n]", "T.linalg.lu_factor(x)[0]", numpy="scipy.linalg.lu_factor(x)[0]",
   jax="jax.scipy.linalg.lu_factor(x)[0]", grad=True, **SCIPYS)  # fmt: skip
op("linalg.lu_solve", "x:w[n,n] y:f[n,m]", "T.linalg.lu_solve(T.linalg.lu_factor(x), y)",
   numpy="scipy.linalg.lu_solve(scipy.linalg.lu_factor(x), y)",
   jax="jax.scipy.linalg.lu_solve(jax.scipy.linalg.lu_factor(x), y)", **SCIPYS)  # fmt: skip
op("linalg.pivot_to_permutation", "x:w[n,n]", "T.linalg.pivot_to_permutation(T.linalg.lu_factor(x)[1])",
   numpy="scipy.linalg.lu(x, p_indices=True)[0]", jax=None, **SCIPYS)  # fmt: skip
op(
    "linalg.polar",
    "x:w[n,n]",
    "T.linalg.polar(x)[0]",
    numpy="scipy.linalg.polar(x)[0]",
    jax="jax.scipy.linalg.polar(x)[0]",
    **SCIPYS,
)
op(
    "linalg.schur",
    "x:h[n,n]",
    "T.linalg.schur(T.tril(x))[0]",
    numpy="scipy.linalg.schur(np.tril(x))[0]",
    jax=None,
    unchecked=True,
    **SCIPYS,
)
op("linalg.solve_sylvester", "x:h[n,n] y:h[n,n]", "T.linalg.solve_sylvester(x, x, y)",
   numpy="scipy.linalg.solve_sylvester(x, x, y)", jax=None, grad=True, **SCIPYS)  # fmt: skip
op("linalg.solve_continuous_lyapunov", "x:h[n,n] y:h[n,n]", "T.linalg.solve_continuous_lyapunov(x, y)",
   numpy="scipy.linalg.solve_continuous_lyapunov(x, y)", jax=None, **SCIPYS)  # fmt: skip
op("linalg.solve_discrete_lyapunov", "x:h[n,n] y:h[n,n]", "T.linalg.solve_discrete_lyapunov(x, y)",
   numpy="scipy.linalg.solve_discrete_lyapunov(x, y)", jax=None, **SCIPYS)  # fmt: skip
op("linalg.matrix_dot", "x:w[n,n]", "T.linalg.matrix_dot(x, x, x)", numpy="x @ x @ x", jax="x @ x @ x", **SCIPYS)
for name in ("toeplitz", "hankel", "circulant", "companion"):
    op(f"linalg.{name}", "x:o[n]", f"T.linalg.{name}(x)", numpy=f"scipy.linalg.{name}(x)",
       jax="jax.scipy.linalg.toeplitz(x)" if name == "toeplitz" else None, grad=True, **SCIPYS)  # fmt: skip
op(
    "linalg.solve_circulant",
    "x:f[n] y:f[n]",
    "T.linalg.solve_circulant(x, y)",
    numpy="scipy.linalg.solve_circulant(x, y)",
    jax=None,
    torch=None,
    family="vector",
    grad=True,
)
V = {"family": "vector", "grad": True, "torch": None}
op("linalg.solve_banded", "x:d[3,n] y:f[n]", "T.linalg.solve_banded((1, 1), x, y)",
   numpy="scipy.linalg.solve_banded((1, 1), x, y)", jax="jax.lax.linalg.tridiagonal_solve(jnp.pad(x[2, :-1], (1, 0)), "
   "x[1], jnp.pad(x[0, 1:], (0, 1)), y[:, None])[:, 0]", **V)  # fmt: skip
op("linalg.solve_banded (five)", "x:d[5,n] y:f[n]", "T.linalg.solve_banded((2, 2), x, y)",
   numpy="scipy.linalg.solve_banded((2, 2), x, y)", jax=None, **V)  # fmt: skip
op("linalg.solve_banded (matrix)", "x:d[5,n] y:f[n,8]", "T.linalg.solve_banded((2, 2), x, y)",
   numpy="scipy.linalg.solve_banded((2, 2), x, y)", jax=None, **V | {"sizes": ("small", "middle")})  # fmt: skip
op("linalg.solveh_banded", "x:d[5,n] y:f[n]", "T.linalg.solveh_banded(x[:3], y)",
   numpy="scipy.linalg.solveh_banded(x[:3], y)", jax=None, **V)  # fmt: skip
op("linalg.solve_toeplitz", "x:o[n] y:f[n]", "T.linalg.solve_toeplitz(x / T.square(1 + T.arange(n)), y)",
   numpy="scipy.linalg.solve_toeplitz(x / np.square(1 + np.arange(n)), y)", jax=None, **V | {"family": "matrix"})  # fmt: skip
op("linalg.matmul_toeplitz", "x:f[n] y:f[n]", numpy="scipy.linalg.matmul_toeplitz(x, y)", jax=None, **V)
op("linalg.cholesky", "x:h[n,n]", grad=True, **L)
op("linalg.cholesky (batch)", "x:h[b,n,n]", "T.linalg.cholesky(x)", family="batch", grad=True)
op(
    "linalg.cho_solve",
    "x:t[n,n] y:f[n,m]",
    "T.linalg.cho_solve((x, True), y)",
    torch="torch.cholesky_solve(y, x)",
    grad=True,
    unlike=True,
    **L,
)
op("linalg.solve", "x:w[n,n] y:f[n,m]", grad=True, **L)
op("linalg.solve (batch)", "x:w[b,n,n] y:f[b,n,m]", "T.linalg.solve(x, y)", family="batch", grad=True)
op("linalg.solve_triangular", "x:t[n,n] y:f[n,m]", "T.linalg.solve_triangular(x, y, lower=True)",
   torch="torch.linalg.solve_triangular(x, y, upper=False)", grad=True, **L)  # fmt: skip
op("linalg.lstsq", "x:w[n,m] y:f[n,m]", "T.linalg.lstsq(x, y)[0]", numpy="np.linalg.lstsq(x, y, rcond=None)[0]",
   torch="torch.linalg.lstsq(x, y)[0]", **L)  # fmt: skip
op("linalg.eigvalsh", "x:h[n,n]", grad=True, unlike=True, **L)
op("linalg.eigh", "x:h[n,n]", "list(T.linalg.eigh(x))", unchecked=True, grad=True, **L)
op("linalg.eigh (batch)", "x:h[b,n,n]", "list(T.linalg.eigh(x))", unchecked=True, family="batch")
op("linalg.eig", "x:w[n,n]", "list(T.linalg.eig(x))", unchecked=True, sizes=("small", "middle"), **L)
op("linalg.eigvals", "x:w[n,n]", unchecked=True, sizes=("small", "middle"), **L)
op("linalg.svd", "x:w[n,m]", "list(T.linalg.svd(x, full_matrices=False))", unchecked=True, **L)
op("linalg.svdvals", "x:w[n,m]", **L)
op("linalg.qr", "x:w[n,m]", "list(T.linalg.qr(x))", unchecked=True, **L)
op(
    "linalg.expm",
    "x:w[n,n]",
    numpy="scipy.linalg.expm(x)",
    jax="jax.scipy.linalg.expm(x)",
    torch="torch.linalg.matrix_exp(x)",
    **L,
)
op("linalg.matrix_power", "x:w[n,n]", "T.linalg.matrix_power(x, 5)", grad=True, **L)
op("linalg.matrix_rank", "x:w[n,m]", sizes=("small", "middle"), **L)
op("linalg.cond", "x:w[n,n]", sizes=("small", "middle"), **L)
op("linalg.norm", "x", "T.linalg.norm(x)", grad=True)
op("linalg.norm (rows)", "x", "T.linalg.norm(x, axis=1)", torch="torch.linalg.vector_norm(x, dim=1)", grad=True)
op("linalg.vector_norm", "x", "T.linalg.vector_norm(x, axis=1)", torch="torch.linalg.vector_norm(x, dim=1)", grad=True)
op("linalg.matrix_norm", "x", "T.linalg.matrix_norm(x)", grad=True)
op("linalg.tensorinv", "x:w[n,n]", "T.linalg.tensorinv(T.reshape(x, (n, n)), ind=1)", **L)
op("linalg.cross", "x:f[n,3] y:f[n,3]")
op("linalg.kron", "x:f[k,k] y:f[n,m]", numpy="np.kron(x, y)", jax="jnp.kron(x, y)", torch="torch.kron(x, y)")
op("linalg.matmul", "x:f[n,k] y:f[k,m]", family="product", flops="2*n*m*k")
op(
    "linalg.multi_dot",
    "x:f[n,k] y:f[k,m] z:f[m,k]",
    "T.linalg.multi_dot([x, y, z])",
    grad=True,
    **L | {"family": "product"},
)
op("linalg.matrix_transpose linalg.diagonal", "x", text="T.NAME(x)", numpy="np.NAME(x)", jax="jnp.NAME(x)", torch=None, view=True,
   sizes=("small", "middle"), dtypes=("float64",))  # fmt: skip
op("linalg.outer", "x:f[n] y:f[m]", torch="torch.outer(x, y)")
op(
    "linalg.tensordot",
    "x:f[n,k] y:f[k,m]",
    torch="torch.tensordot(x, y, 1)",
    text="T.linalg.tensordot(x, y, axes=1)",
    family="product",
    flops="2*n*m*k",
)
op("linalg.vecdot", "x y")
op("linalg.trace", "x", torch="torch.trace(x)", sizes=("small", "middle"))

# ---------------------------------------------------------------------- T.fft
F = {"family": "transform", "unlike": True}  # gradients by complex operands are conjugates in JAX
op("fft.rfft", "x:f[b,n]", grad=True, **F)
op("fft.fft fft.ifft", "x:c[b,n]", "T.NAME(x)", grad=True, **F)
op("fft.fft (one)", "x:c[n]", "T.fft.fft(x)", **F)
op("fft.irfft", "x:c[b,n]", grad=True, **F)
op("fft.rfft (columns)", "x:f[n,b]", "T.fft.rfft(x, axis=0)", torch="torch.fft.rfft(x, dim=0)", **F)
op("fft.fft2 fft.ifft2 fft.fftn fft.ifftn", "x:c[n,n]", "T.NAME(x)", grad=True, **F)
op("fft.hfft", "x:c[b,n]", torch="torch.fft.hfft(x)", **F)
op("fft.ihfft", "x:f[b,n]", torch="torch.fft.ihfft(x)", **F)
op("fft.rfftn fft.rfft2", "x:f[n,n]", grad=True, **F)
op("fft.irfftn fft.irfft2", "x:c[n,n]", **F)
op("fft.dct fft.idct", "x:f[b,n]", torch=None, grad=True, **F)
op("fft.dst fft.idst", "x:f[b,n]", torch=None, jax=None, **F)
op("fft.dct (type 1)", "x:f[b,n]", "T.fft.dct(x, 1)", torch=None, jax=None, **F)
op("fft.dct (type 3)", "x:f[b,n]", "T.fft.dct(x, 3)", torch=None, jax=None, **F)
op("fft.dct (type 4)", "x:f[b,n]", "T.fft.dct(x, 4)", torch=None, jax=None, **F)
op("fft.dctn fft.idctn", "x:f[n,n]", torch=None, **F)
op("fft.dstn fft.idstn", "x:f[n,n]", torch=None, jax=None, **F)
op("fft.fftshift fft.ifftshift", "x", numpy="np.NAME(x)")
op("fft.fftfreq fft.rfftfreq", "x:f[n]", "T.NAME(n) * x[0]", family="vector", dtypes=("float64",))
