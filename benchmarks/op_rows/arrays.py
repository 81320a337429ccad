"""Rows of shapes, of arrays made, joined and taken apart, of elements by index, of sorting and searching."""

from .table import op

INT = ("int64",)
MIDDLE = ("small", "middle")
FREE = {
    "sizes": MIDDLE,
    "dtypes": ("float64",),
    "view": True,
}  # nothing is computed: what is seen is the call, or a copy

# ---------------------------------------------------------------------- shapes
op("ravel flatten flipud fliplr atleast_1d atleast_2d atleast_3d", text="T.NAME(x)", **FREE)
op("matrix_transpose", text="T.matrix_transpose(x)", torch="x.mT", **FREE)
op("transpose", text="T.transpose(x)", torch="x.T", **FREE)
op("transpose (times 2)", text="x.T * 2")
op("transpose (plus itself)", "x:f[n,n]", "x + x.T")
op("transpose (slice)", text="x.T[1:]", view=True)
op(
    "dimshuffle",
    "x:f[n,m]",
    "T.dimshuffle(x, 1, 'x', 0)",
    numpy="x.T[:, None]",
    jax="x.T[:, None]",
    torch="x.T[:, None]",
    **FREE,
)
op("swapaxes moveaxis", text="T.NAME(x, 0, 1)", **FREE)
op("rollaxis", text="T.rollaxis(x, 1)", torch="x.T", **FREE)
op("expand_dims", text="T.expand_dims(x, 0)", torch="x[None]", **FREE)
op("shape_padaxis", text="T.shape_padaxis(x, 0)", numpy="x[None]", jax="x[None]", torch="x[None]", **FREE)
op("shape_padleft", text="T.shape_padleft(x)", numpy="x[None]", jax="x[None]", torch="x[None]", **FREE)
op("shape_padright", text="T.shape_padright(x)", numpy="x[..., None]", jax="x[..., None]", torch="x[..., None]", **FREE)
op("squeeze", "x:f[1,n,m]", "T.squeeze(x[:1], axis=0)", **FREE)
op("reshape", text="T.reshape(x, (-1,))", **FREE)
op("size ndim shape", text="T.NAME(x) + T.zeros((1,))", torch=None, numpy="np.NAME(x) + np.zeros(1)", jax=None, **FREE)
op("shape_i", text="T.shape_i(x, 0)", numpy="x.shape[0]", jax=None, torch=None, **FREE)
op(
    "broadcast_shape",
    "x y",
    "T.broadcast_shape(x, y)",
    numpy="np.broadcast_shapes(x.shape, y.shape)",
    jax=None,
    torch=None,
    **FREE,
)
op("specify_shape", text="T.specify_shape(x, None, None)", numpy="x", jax="x", torch="x", **FREE)
op("addbroadcast", "x:f[1,m]", "T.addbroadcast(x, 0)", numpy="x", jax="x", torch="x", **FREE)
op("patternbroadcast", "x:f[1,m]", "T.patternbroadcast(x, (True, False))", numpy="x", jax="x", torch="x", **FREE)
op("unbroadcast", "x:f[1,m]", "T.unbroadcast(x, 0)", numpy="x", jax="x", torch="x", **FREE)
op("as_tensor asarray", text="T.NAME(x)", numpy="x", jax="x", torch="x", **FREE)
op("astype", text="T.astype(x, 'float16')", numpy="x.astype('float16')", jax="x.astype('float16')", torch="x.half()")
op("assume", text="T.assume(x, positive=True)", numpy="x", jax="x", torch="x", **FREE)
op(
    "assert_op",
    text="T.assert_op(x, T.all(x < 99))",
    numpy="x if (x < 99).all() else None",
    jax=None,
    torch=None,
    **FREE,
)
# A copy by np.array() keeps the order of strides: columns of one number each, where all others write rows.
op(
    "broadcast_to",
    "x:f[m]",
    "T.broadcast_to(x, (n, m))",
    numpy="np.broadcast_to(x, (n, m)).copy()",
    torch="T.broadcast_to(x, (n, m)).clone()",
)
op("broadcast_arrays", "x:f[n,1] y:f[m]", "T.broadcast_arrays(x, y)", torch="torch.broadcast_tensors(x, y)", **FREE)
op("flip", text="T.flip(x, 0)", view=True, torch="torch.flip(x, (0,))")
op("roll", text="T.roll(x, 3, axis=1)", torch="torch.roll(x, 3, 1)", grad=True)
op("rot90", text="T.rot90(x)", view=True)

# ---------------------------------------------------------------------- arrays made
op("zeros_like ones_like", text="T.NAME(x)")
op("empty_like", text="T.empty_like(x)", unchecked=True)
op("full_like", text="T.full_like(x, 3)")
op(
    "zeros ones",
    "x:f[k]",
    "T.NAME((n, m))",
    sizes=MIDDLE,
    dtypes=("float64",),
    torch="torch.NAME((n, m), dtype=torch.float64)",
)
op("empty", "x:f[k]", "T.empty((n, m), 'float64')", sizes=MIDDLE, dtypes=("float64",), unchecked=True,
   torch="torch.empty((n, m), dtype=torch.float64)")  # fmt: skip
op(
    "full",
    "x:f[k]",
    "T.full((n, m), x[0])",
    jax="jnp.full((n, m), x[0])",
    torch="x[0].expand(n, m) + 0",
    dtypes=("float64",),
)
op("alloc", "x:f[m]", "T.alloc(x, n, m)", numpy="np.broadcast_to(x, (n, m)).copy()", jax="jnp.broadcast_to(x, (n, m))",
   torch="x.expand(n, m).clone()")  # fmt: skip
op("arange", "x:f[k]", "T.arange(n) * x[0]", family="vector", dtypes=("float64",))
op("linspace", "x:f[k]", "T.linspace(x[0], x[1], n)", family="vector", dtypes=("float64",), torch=None)
op("logspace", "x:u[k]", "T.logspace(x[0], x[1], n)", family="vector", dtypes=("float64",), torch=None)
op("geomspace", "x:p[k]", "T.geomspace(x[0], x[1], n)", family="vector", dtypes=("float64",), torch=None)
op(
    "meshgrid",
    "x:f[n] y:f[m]",
    "T.meshgrid(x, y)",
    view=True,
    torch="torch.meshgrid(x, y, indexing='xy')",
    dtypes=("float64",),
)
op("eye", "x:f[k]", "T.eye(n, m) * x[0]", dtypes=("float64",))
op(
    "tri",
    "x:f[k]",
    "T.tri(n, m) * x[0]",
    dtypes=("float64",),
    torch="torch.tril(torch.ones(n, m, dtype=x.dtype)) * x[0]",
)
op("identity", "x:f[k]", "T.identity(n) * x[0]", dtypes=("float64",), torch="torch.eye(n, dtype=x.dtype) * x[0]")
op(
    "identity_like",
    "x:f[n,n]",
    numpy="np.identity(len(x))",
    jax="jnp.identity(len(x))",
    torch="torch.eye(len(x), dtype=x.dtype)",
    dtypes=("float64",),
)
op("tril triu", text="T.NAME(x)", grad=True)
op("diag", "x:f[n]", "T.diag(x)", grad=True)
op("diag (of a matrix)", text="T.diag(x)", grad=True)
op("diagonal", text="T.diagonal(x)", **FREE)
op(
    "extract_diag",
    text="T.extract_diag(x)",
    numpy="np.diagonal(x)",
    jax="jnp.diagonal(x)",
    torch="torch.diagonal(x)",
    **FREE,
)
op("trace", text="T.trace(x)", grad=True, sizes=MIDDLE)
op("fill_diagonal", text="T.fill_diagonal(x, 2.0)", numpy="T.filled_diagonal(x, 2.0)", jax="jnp.fill_diagonal(x, 2.0, inplace=False)",
   torch="x.clone().fill_diagonal_(2.0)")  # fmt: skip

# ---------------------------------------------------------------------- joined and taken apart
op("concatenate", "x y", "T.concatenate([x, y], axis=1)", torch="torch.cat([x, y], 1)", grad=True)
op("concatenate (rows)", "x y", "T.concatenate([x, y], axis=0)", torch="torch.cat([x, y], 0)", grad=True)
op(
    "join",
    "x y",
    "T.join(0, x, y)",
    numpy="np.concatenate([x, y])",
    jax="jnp.concatenate([x, y])",
    torch="torch.cat([x, y])",
)
op("stack", "x y", "T.stack([x, y], axis=0)", grad=True)
op("stack (last)", "x y", "T.stack([x, y], axis=-1)", torch="torch.stack([x, y], -1)", grad=True)
op("vstack hstack dstack column_stack", "x y", "T.NAME([x, y])")
op(
    "unstack",
    "x:f[3,n]",
    "list(T.unstack(x))",
    numpy="list(x)",
    jax="list(x)",
    torch="list(torch.unbind(x))",
    sizes=MIDDLE,
)
op(
    "split",
    "x:f[n,3,m]",
    "T.split(T.reshape(x, (n * 3, m)), 3)",
    torch="torch.split(x.reshape(n * 3, m), n)",
    sizes=MIDDLE,
    view=True,
)
op("array_split", "x", "T.array_split(x, 2)", torch="torch.tensor_split(x, 2)", sizes=MIDDLE, view=True)
op("vsplit", "x:f[n,2,m]", "T.vsplit(T.reshape(x, (n * 2, m)), 2)", sizes=MIDDLE, view=True)
op("hsplit", "x:f[n,m,2]", "T.hsplit(T.reshape(x, (n, m * 2)), 2)", sizes=MIDDLE, view=True)
op("dsplit", "x:f[2,m,4]", "T.dsplit(x, 2)", sizes=MIDDLE, view=True)
op("tile", "x:f[n,m]", "T.tile(x, (2, 2))", grad=True)
op("repeat", text="T.repeat(x, 2, axis=1)", torch="torch.repeat_interleave(x, 2, 1)", grad=True)
op("repeat (each)", "x i:i[n]<4", "T.repeat(x, i, axis=0)", torch="torch.repeat_interleave(x, i, 0)", jax=None)
op("pad", text="T.pad(x, ((2, 2), (2, 2)), 'constant')", torch="F.pad(x, (2, 2, 2, 2))", grad=True)
op(
    "pad (reflect)",
    text="T.pad(x, ((2, 2), (2, 2)), 'reflect')",
    torch="F.pad(x[None], (2, 2, 2, 2), 'reflect')[0]",
    grad=True,
)

# ---------------------------------------------------------------------- elements by index
INC = {
    "jax": "x.at[1:].add(y[1:])",
    "torch": "T.written(x, lambda o: o[1:].add_(y[1:]))",
    "numpy": "T.written(x, lambda o: o[1:].__iadd__(y[1:]))",
}
SET = {"jax": "x.at[:, 1:].set(y[:, 1:])", "torch": "T.written(x, lambda o: o[:, 1:].copy_(y[:, 1:]))",
       "numpy": "T.written(x, lambda o: o.__setitem__((slice(None), slice(1, None)), y[:, 1:]))"}  # fmt: skip
op(
    "inc_subtensor",
    "x y",
    "T.inc_subtensor(x[1:], y[1:])",
    grad=True,
    **{**INC, "torch": "torch.cat([x[:1], x[1:] + y[1:]])"},
)
op("set_subtensor", "x y", "T.set_subtensor(x[:, 1:], y[:, 1:])", **SET)
op("inc_subtensor (rows by index)", "x i:i[n]<n y", "T.inc_subtensor(x[i], y)", jax="x.at[i].add(y)", torch="x.index_add(0, i, y)",
   numpy="T.written(x, lambda o: np.add.at(o, i, y))", grad=True)  # fmt: skip
op("set_subtensor (mask)", "x c:b[n,m]", "T.set_subtensor(x[c], 0.0)", jax="jnp.where(c, 0, x)", torch="x.masked_fill(c, 0)",
   numpy="np.where(c, 0, x)")  # fmt: skip
op("index (row)", "x", "x[1]", view=True, sizes=MIDDLE)
op("index (column)", "x", "x[:, 1] * 2")
op("index (rows)", "x i:i[n]<n", "x[i]", grad=True)
op("index (columns)", "x i:i[m]<m", "x[:, i]", grad=True)
op("index (pairs)", "x i:i[n]<n j:i[n]<m", "x[i, j]", grad=True)
op("index (mask)", "x c:b[n,m]", "x[c]", jax=None)
op("index (mask, sum)", "x", "x[x > 0].sum()", jax="jnp.where(x > 0, x, 0).sum()")
op("index (stride)", "x", "x[::2, ::3] + 1", grad=True)
op("index (window)", "x", "x[1:-1, 1:-1] + x[:-2, 1:-1] + x[2:, 1:-1]", grad=True)
op("take", "x i:i[n]<n", "T.take(x, i, axis=0)", torch="torch.index_select(x, 0, i)", grad=True)
op("take_along_axis", "x i:i[n,m]<m", "T.take_along_axis(x, i, axis=1)", torch="torch.gather(x, 1, i)", grad=True)
op("put_along_axis", "x i:i[n,1]<m y:f[n,1]", "T.put_along_axis(x, i, y, axis=1)", torch="x.scatter(1, i, y)",
   numpy="T.written(x, lambda o: np.put_along_axis(o, i, y, 1))", jax="jnp.put_along_axis(x, i, y, 1, inplace=False)")  # fmt: skip
op("nonzero", "x:b[n,m]", "list(T.nonzero(x))", torch="list(torch.nonzero(x, as_tuple=True))", jax=None)
op("flatnonzero", "x:b[n,m]", torch="torch.nonzero(x.ravel())[:, 0]", jax=None)
op("argwhere", "x:b[n,m]", jax=None)
op("nonzero_values", "c:b[n,m] x", "T.nonzero_values(T.switch(c, x, 0))", numpy="T.nonzero_of(np.where(c, x, 0))", jax=None,
   torch="T.nonzero_of(torch.where(c, x, 0))")  # fmt: skip
op("compress", "c:b[n] x", "T.compress(c, x, axis=0)", torch="x[c]", jax=None)
op("extract", "c:b[n,m] x", "T.extract(c, x)", torch="x[c]", jax=None)
op(
    "choose",
    "i:i[n,m]<3 x y z",
    "T.choose(i, [x, y, z])",
    jax="jnp.choose(i, [x, y, z], mode='clip')",
    torch="torch.where(i == 0, x, torch.where(i == 1, y, z))",
)

# ---------------------------------------------------------------------- order, sets, counts
op("sort", text="T.sort(x, axis=1)", torch="torch.sort(x, 1)[0]", grad=True)
op("sort (columns)", text="T.sort(x, axis=0)", torch="torch.sort(x, 0)[0]")
op("sort (vector)", "x:f[n]", "T.sort(x)", torch="torch.sort(x)[0]", family="vector", sizes=MIDDLE)
op("argsort", text="T.argsort(x, axis=1)")
op("argsort (columns)", text="T.argsort(x, axis=0)", sizes=MIDDLE)
TOP = {
    "jax": "jax.lax.top_k(x, k)[0]",
    "torch": "torch.topk(x, k, 1)[0]",
    "numpy": "-np.sort(np.partition(-x, k - 1, axis=1)[:, :k], axis=1)",
}
op("topk", text="T.topk(x, k, axis=1)", **TOP)
op("argtopk", text="T.argtopk(x, k, axis=1)", jax="jax.lax.top_k(x, k)[1]", torch="torch.topk(x, k, 1)[1]",
   numpy="np.argpartition(-x, k - 1, axis=1)[:, :k]", unchecked=True)  # fmt: skip
op(
    "topk_and_argtopk",
    text="T.topk_and_argtopk(x, k, axis=1)",
    jax="jax.lax.top_k(x, k)",
    torch="torch.topk(x, k, 1)",
    numpy=None,
)
op("searchsorted", "e:s[m] x:f[n]", "T.searchsorted(e, x)", family="vector")
op("digitize", "e:s[m] x:f[n]", "T.digitize(x, e)", family="vector", torch="torch.bucketize(x, e, right=True)")
op("interp", "x:u[n] e:s[m] v:f[m]", "T.interp(x, e, v)", family="vector", torch=None, grad=True)
op("bincount", "i:i[n]<m", "T.bincount(i)", family="vector", dtypes=INT, jax="jnp.bincount(i, length=m)")
op("bincount (weights)", "i:i[n]<m x:f[n]", "T.bincount(i, x)", family="vector", jax="jnp.bincount(i, x, length=m)")
SEGMENTS = {"segment_sum": ("add", "0", "sum"), "segment_prod": ("multiply", "1", "prod"),
            "segment_max": ("maximum", "-np.inf", "amax"), "segment_min": ("minimum", "np.inf", "amin")}  # fmt: skip
for name, (ufunc, start, reduce) in SEGMENTS.items():
    for operands, what, shape, ids in (
        ("x:f[n] i:i[n]<m", "", "m", "i"),
        ("x:f[n,k] i:i[n]<k", " (rows)", "(k, k)", "i[:, None].expand(n, k)"),
    ):
        count = shape.strip("()").partition(",")[0]
        op(f"{name}{what}", operands, f"T.{name}(x, i, {count})", family="matrix" if what else "vector",
           numpy=f"(lambda out: (np.{ufunc}.at(out, i, x), out)[1])(np.full({shape}, {start}, x.dtype))",
           jax=f"jax.ops.{name}(x, i, {count})", grad=True, unlike=name == "segment_prod",
           torch=f"torch.full({shape if what else '(m,)'}, {start.replace('np.', 'torch.')}, dtype=x.dtype).scatter_reduce(0, {ids}, x, '{reduce}')")  # fmt: skip
op("unique", "x:i[n]<k", "T.unique(x)", family="vector", dtypes=INT, jax=None)
op("unique_values", "x:i[n]<k", numpy="np.sort(np.unique_values(x))", family="vector", dtypes=INT, jax=None, torch=None)
op("unique_counts unique_inverse unique_all", "x:i[n]<k", family="vector", dtypes=INT, jax=None, torch=None)
op("one_hot to_one_hot", "i:i[n]<k", "T.NAME(i, k)", family="matrix", dtypes=INT, numpy="np.eye(k)[i]", jax="jax.nn.one_hot(i, k)",
   torch="F.one_hot(i, k).to(torch.float64)")  # fmt: skip
op("diff", text="T.diff(x, axis=1)", torch="torch.diff(x, dim=1)", grad=True)
op("ediff1d", "x:f[n]", "T.ediff1d(x)", family="vector", torch="torch.diff(x)")
op("unravel_index", "i:i[n]<n", "T.unravel_index(i, (10, n))", family="vector", dtypes=INT)
op("ravel_multi_index", "i:i[n]<m j:i[n]<m", "T.ravel_multi_index((i, j), (m, m))", family="vector", dtypes=INT, torch="i * m + j",
   jax="i * m + j")  # fmt: skip

# ---------------------------------------------------------------------- put in and taken out, windows, phases
op("insert", text="T.insert(x, 3, 7.0, axis=1)", torch=None, grad=True)
op("delete", text="T.delete(x, 3, axis=1)", torch=None, grad=True)
op("partition", text="T.partition(x, k, axis=1)", torch=None, unchecked=True)  # the rest is in an order of its own
op("argpartition", text="T.argpartition(x, k, axis=1)", torch=None, unchecked=True)
op("hanning hamming blackman bartlett", "x:f[n]", "x * T.NAME(n)", family="vector", torch=None)
op("kaiser", "x:f[n]", "x * T.kaiser(n, 8.6)", family="vector", torch=None)
op("unwrap", "x:f[n]", "T.unwrap(10 * x)", family="vector", torch=None, grad=True)
