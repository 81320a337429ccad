"""Names of PyTorch, JAX and NumPy that are not here, and what to write instead: for error messages."""

from importlib import import_module

_VALUE = "x.eval({...}) for the value; what compiled functions give are NumPy's arrays"
_CHANGED = "x = x + y, say: variables are not changed; for what is, tg.shared(value) and updates="
_STREAM = "T.random.RandomStream(seed).normal(size=shape), say"
_NOT_RECORDED = "nothing for it: gradients are what tg.grad(cost, x) makes, nothing is recorded"

METHODS = {
    "add_": _CHANGED, "at": "T.set_subtensor(x[i], v) or T.inc_subtensor(x[i], v)",
    "backward": "tg.grad(cost, variables)", "block_until_ready": "nothing for it: calls return when arrays are there",
    "bmm": "T.matmul(x, y)", "chunk": "T.array_split(x, n)", "clamp": "T.clip(x, low, high)", "copy_": _CHANGED,
    "cpu": _VALUE, "cuda": "the flag device, which says where functions run", "detach": "tg.disconnected_grad(x)",
    "dim": "x.ndim", "div_": _CHANGED, "double": 'x.astype("float64")', "expand": "T.broadcast_to(x, shape)",
    "fill_": _CHANGED, "float": 'x.astype("float32")', "gather": "T.take_along_axis(x, index, axis)",
    "grad": "tg.grad(cost, x)", "half": 'x.astype("float16")', "index_add": "T.inc_subtensor(x[index], values)",
    "index_select": "T.take(x, index, axis)", "int": 'x.astype("int32")', "item": _VALUE, "long": 'x.astype("int64")',
    "masked_fill": "T.where(mask, value, x)", "mm": "x @ y", "mul_": _CHANGED, "numpy": _VALUE,
    "permute": "T.transpose(x, axes)", "put": "T.put(x, index, values)", "requires_grad": _NOT_RECORDED,
    "requires_grad_": _NOT_RECORDED, "scatter": "T.put_along_axis(x, index, values, axis)",
    "scatter_add": "T.inc_subtensor(x[index], values)", "sub_": _CHANGED, "t": "x.T",
    "to": "x.astype(dtype); where functions run is the flag device", "tolist": _VALUE,
    "unsqueeze": "T.expand_dims(x, axis)", "view": "T.reshape(x, shape)", "zero_": _CHANGED,
}  # fmt: skip

_LOOP = "tg.loop(body, carry, length=n)"
_WHILE = "tg.loop(body, carry, length=most), whose body also returns tg.until(condition)"

FUNCTIONS = {
    **{name: text for name, text in METHODS.items() if text.startswith("T.") and not text.startswith(f"T.{name}(")},
    "addmm": "c + x @ y", "batch_norm": "T.nnet.batch_normalization_train(x, gamma, beta)",
    "broadcast_tensors": "T.broadcast_arrays(x, y)", "cat": "T.concatenate(arrays, axis)",
    "conv_transpose2d": "T.nnet.conv2d_transpose(x, filters, output_shape)",
    "convert_element_type": "x.astype(dtype)", "copy": "x: variables are not changed",
    "cosm1": "-2 * T.sin(x / 2) ** 2", "cumlogsumexp": "T.logcumsumexp(x)", "div": "x / y",
    "dynamic_slice": "x[i : i + n]",
    "dynamic_update_slice": "T.set_subtensor(x[i : i + n], values)", "erf_inv": "T.erfinv(x)", "exp10": "10.0**x",
    "fori_loop": _LOOP, "frac": "x - T.trunc(x)", "functional": "T.nnet", "igamma": "T.gammainc(a, x)",
    "igammac": "T.gammaincc(a, x)", "inverse": "T.linalg.inv(x)", "is_finite": "T.isfinite(x)",
    "kurtosis": "T.mean((x - T.mean(x)) ** 4) / T.var(x) ** 2 - 3",
    "isscalar": "x.ndim == 0", "lax": "tg.scan, tg.loop and tg.ifelse", "lerp": "a + w * (b - a)",
    "lgamma": "T.gammaln(x)", "local_response_norm": "T.nnet.local_response_normalization(x)",
    "logdet": "T.linalg.slogdet(x)[1]", "logistic": "T.sigmoid(x)", "manual_seed": _STREAM,
    "masked_select": "x[mask]", "matrix_exp": "T.linalg.expm(x)", "mm": "x @ y",
    "movedim": "T.moveaxis(x, source, destination)", "msort": "T.sort(x, axis=0)", "mv": "x @ v", "ne": "T.neq(x, y)",
    "nn": "T.nnet", "no_grad": _NOT_RECORDED, "numel": "x.size",
    "pearsonr": "T.corrcoef(x, y)[0, 1]", "pinverse": "T.linalg.pinv(x)", "rand": _STREAM,
    "randn": _STREAM, "rem": "T.fmod(x, y)", "repeat_interleave": "T.repeat(x, n, axis)", "rgamma": "1 / T.gamma(x)",
    "row_stack": "T.vstack(arrays)", "rsqrt": "1 / T.sqrt(x)",
    "select_n": "T.where(condition, b, a)", "skew": "T.mean((x - T.mean(x)) ** 3) / T.std(x) ** 3",
    "sliding_window_view": "x[..., T.arange(x.shape[-1] - k + 1)[:, None] + T.arange(k)]",
    "stop_gradient": "tg.disconnected_grad(x)", "swapdims": "T.swapaxes(x, i, j)",
    "take_along_dim": "T.take_along_axis(x, index, axis)", "tensor_split": "T.array_split(x, n, axis)",
    "top_k": "T.topk(x, k)", "trapz": "T.trapezoid(y, x)", "unbind": "T.unstack(x, axis=axis)",
    "upsample": "T.nnet.interpolate(x, size)", "var_mean": "T.var(x) and T.mean(x)", "while_loop": _WHILE,
    "zscore": "(x - T.mean(x, axis, keepdims=True)) / T.std(x, axis, keepdims=True)",
}  # fmt: skip

_OWN = "tg.OpFromGraph(inputs, outputs, grad_overrides=...), whose gradient is yours"

TOP = {
    "Tensor": "tg.Variable", "custom_gradient": _OWN, "custom_jvp": _OWN, "custom_vjp": _OWN,
    "cond": "tg.ifelse(condition, a, b)", "device_put": "tg.shared(value); where functions run is the flag device",
    "fori_loop": _LOOP, "jacfwd": "tg.jacobian(y, x)",
    "jacrev": "tg.jacobian(y, x)", "lax": "tg.scan, tg.loop and tg.ifelse",
    "manual_seed": _STREAM, "nn": "T.nnet, where T is termgraph.tensor", "no_grad": _NOT_RECORDED,
    "numpy": "import termgraph.tensor as T", "pmap": "tg.dist.train", "random": _STREAM,
    "stop_gradient": "tg.disconnected_grad(x)",
    "while_loop": _WHILE,
}  # fmt: skip


def at_the_top(name: str) -> str:
    """What to write for `tg.name`: functions of arrays are in `T`, and layers in `T.nnet`."""
    if name in TOP or name.startswith("_"):
        return TOP.get(name, "")
    for place in ("T", "T.nnet"):
        names = import_module(place.replace("T", "termgraph.tensor", 1))
        if name in dir(names):
            return f"{place}.{name}, where T is termgraph.tensor"
    return FUNCTIONS.get(name, "")
