"""Names of PyTorch, JAX and NumPy that are not here, and what to write instead: for error messages. Imports nothing."""

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

FUNCTIONS = {
    **{name: text for name, text in METHODS.items() if text.startswith("T.") and not text.startswith(f"T.{name}(")},
    "cat": "T.concatenate(arrays, axis)", "copy": "x: variables are not changed", "functional": "T.nnet",
    "lax": "tg.scan, tg.loop and tg.ifelse", "manual_seed": _STREAM, "mm": "x @ y", "nn": "T.nnet",
    "no_grad": _NOT_RECORDED, "rand": _STREAM, "randn": _STREAM,
    "segment_sum": "T.inc_subtensor(T.zeros(count)[segments], values)", "stop_gradient": "tg.disconnected_grad(x)",
}  # fmt: skip

TOP = {
    "Tensor": "tg.Variable",
    "cond": "tg.ifelse(condition, a, b)", "device_put": "tg.shared(value); where functions run is the flag device",
    "fori_loop": "tg.loop(body, carry, length=n)", "jacfwd": "tg.jacobian(y, x)",
    "jacrev": "tg.jacobian(y, x)", "lax": "tg.scan, tg.loop and tg.ifelse",
    "manual_seed": _STREAM, "nn": "T.nnet, where T is termgraph.tensor", "no_grad": _NOT_RECORDED,
    "numpy": "import termgraph.tensor as T", "pmap": "tg.dist.train", "random": _STREAM,
    "stop_gradient": "tg.disconnected_grad(x)",
    "while_loop": "tg.loop(body, carry, length=most), whose body also returns tg.until(condition)",
}  # fmt: skip
