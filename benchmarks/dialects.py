"""How each library reads the expressions of `op_rows`: one set of names for all, looked up in its own modules.

Only the process of a contender builds its dialect, so a library is imported where it is timed and nowhere else.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from harness import Statement
from op_rows.table import Row

# Names that a library says otherwise; everything else is found under its own name in the modules below.
ALIASES = {
    "numpy": {"sigmoid": "expit", "sgn": "sign", "sqr": "square", "softplus": "_softplus", "abs_": "abs",
              "flatten": "ravel"},
    "jax": {"sgn": "sign", "sqr": "square", "abs_": "abs", "flatten": "ravel", "fix": "trunc"},
    "torch": {"gammaln": "lgamma", "concatenate": "cat", "sqr": "square", "arctan2": "atan2", "abs_": "abs",
              "rint": "round", "true_divide": "divide", "switch": "where", "invert": "bitwise_not", "transpose": "t",
              "mod": "remainder", "equal": "eq"},
}  # fmt: skip
MODULES = {
    "numpy": {"": ("numpy", "scipy.special"), "linalg": ("numpy.linalg", "scipy.linalg"),
              "fft": ("scipy.fft", "numpy.fft"),
              "nnet": ("scipy.special",), "sparse": ("scipy.sparse",)},
    "jax": {"": ("jax.numpy", "jax.scipy.special", "jax.nn", "jax.lax"),
            "linalg": ("jax.numpy.linalg", "jax.scipy.linalg"), "fft": ("jax.numpy.fft", "jax.scipy.fft"),
            "nnet": ("jax.nn",)},
    "torch": {"": ("torch", "torch.special", "torch.nn.functional"), "linalg": ("torch.linalg",), "fft": ("torch.fft",),
              "nnet": ("torch.nn.functional",)},
}  # fmt: skip
ALSO = {
    "numpy": {"np": "numpy", "scipy": "scipy"},
    "jax": {"jnp": "jax.numpy", "jax": "jax", "J": "jax.random"},
    "torch": {"torch": "torch", "F": "torch.nn.functional"},
}


class Names:
    """A namespace that looks a name up in several modules. A missing one says that the library takes no part."""

    def __init__(self, modules: Sequence[str], aliases: dict[str, str], more: dict[str, Any]) -> None:
        self._modules = [importlib.import_module(m) for m in modules]
        self._aliases, self._more = aliases, more

    def __getattr__(self, name: str) -> Any:
        name = self._aliases.get(name, name)
        if name in self._more:
            return self._more[name]
        for module in self._modules:
            if hasattr(module, name):
                return getattr(module, name)
        raise NotImplementedError(f"it has no function {name}")


def written(x: Any, change: Callable) -> Any:
    """A copy of an array after it was changed in place."""
    out = x.clone() if hasattr(x, "clone") else x.copy()
    change(out)
    return out


def owned(found: Any) -> Any:
    """Results that are views, copied."""
    if isinstance(found, (list, tuple)):
        return [owned(o) for o in found]
    return found.clone() if hasattr(found, "clone") else np.array(found)


class _Sparse:
    """Functions of SciPy's sparse matrices by the names of `termgraph.sparse`: of the elements that are stored."""

    NAMES = {
        "neg": np.negative,
        "sgn": np.sign,
        "sqr": np.square,
        "mul": None,
        "structured_sigmoid": lambda d: 1 / (1 + np.exp(-d)),
    }

    def __getattr__(self, name: str) -> Callable:
        if name in ("add", "sub", "mul", "multiply"):
            return {"add": lambda s, t: s + t, "sub": lambda s, t: s - t}.get(name, lambda s, t: s.multiply(t))
        plain = name.removeprefix("structured_")
        if name != plain and plain in ("add", "maximum", "minimum", "pow"):
            f = {"add": np.add, "maximum": np.maximum, "minimum": np.minimum, "pow": np.power}[plain]
            return lambda s, number: structured(s, lambda d: f(d, number))
        f = self.NAMES.get(name) or getattr(np, plain)
        return lambda s: structured(s, f)


def structured(s: Any, f: Callable) -> Any:
    """A matrix with the same places and other elements, whose arrays are its own, as those of SciPy's methods are.

    Index arrays that two matrices share are put in order for both, but the elements for one (`sort_indices`).
    """
    data = f(s.data)
    data = data.copy() if np.may_share_memory(data, s.data) else data
    return type(s)((data, s.indices.copy(), s.indptr.copy()), shape=s.shape)


def copied(s: Any, method: str) -> Any:
    s = s.copy()
    getattr(s, method)()
    return s


def cleaned(s: Any) -> Any:
    s = s.copy()
    s.eliminate_zeros()
    s.sort_indices()
    return s


def _filled_diagonal(x: np.ndarray, value: float) -> np.ndarray:
    return written(x, lambda out: np.fill_diagonal(out, value))


def space(who: str) -> dict[str, Any]:
    """What an expression of a library may name."""
    aliases, modules = ALIASES[who], MODULES[who]
    more: dict[str, Any] = {"written": written, "nonzero_of": lambda x: x[x != 0], "owned": owned}
    if who == "numpy":
        more |= {"_softplus": lambda x: np.logaddexp(0, x), "filled_diagonal": _filled_diagonal, "copied": copied,
                 "cleaned": cleaned, "structured": structured, "sparse": _Sparse()}  # fmt: skip
    inner = {name: Names(found, aliases, {}) for name, found in modules.items() if name and name not in more}
    names: dict[str, Any] = {"T": Names(modules[""], aliases, more | inner)}
    return names | {name: importlib.import_module(module) for name, module in ALSO[who].items()}


def function(row: Row, who: str, size: str, names: dict[str, Any], more: str = "") -> Callable:
    """The expression of a row as a Python function of its operands."""
    arguments = ", ".join(o.name for o in row.operands) + more
    return eval(f"lambda {arguments}: {row.written(who)}", names | row.lengths(size))


def is_draw(row: Row) -> bool:
    return row.name.startswith("random.")


def outputs(found: Any) -> list:
    return list(found) if isinstance(found, (list, tuple)) else [found]


# ---------------------------------------------------------------------- a statement of each library
def numpy_statement(row: Row, size: str, dtype: str, grad: bool) -> Statement:
    if grad:
        raise NotImplementedError("it has no gradients")
    import scipy.linalg
    import scipy.sparse  # noqa: F401

    names = space("numpy") | ({"r": np.random.Generator(np.random.SFC64(1))} if is_draw(row) else {})
    return Statement("f(*v)", f=function(row, "numpy", size, names), v=row.values(size, dtype))


def jax_statement(row: Row, size: str, dtype: str, grad: bool) -> Statement:
    import jax

    row.written("jax")
    values = [jax.numpy.asarray(v) for v in row.values(size, dtype)]
    names, wait = space("jax"), jax.block_until_ready
    if is_draw(row):
        f = jax.jit(function(row, "jax", size, names, ", key"))
        return Statement("wait(f(*v))", f=f, v=[*values, jax.random.key(1)], wait=wait)
    forward = function(row, "jax", size, names)
    if not grad:
        return Statement("wait(f(*v))", f=jax.jit(forward), v=values, wait=wait)
    cost = lambda *v: sum(0.5 * jax.numpy.sum(abs(o) ** 2) for o in outputs(forward(*v)))  # noqa: E731
    f = jax.jit(jax.grad(cost, argnums=tuple(k for k, o in enumerate(row.operands) if o.differentiable)))
    return Statement("wait(f(*v))", f=f, v=values, wait=wait)


def torch_statement(row: Row, size: str, dtype: str, grad: bool) -> Statement:
    import torch

    torch.set_grad_enabled(grad)
    forward = function(row, "torch", size, space("torch"))
    values = [torch.from_numpy(v) for v in row.values(size, dtype)]
    if is_draw(row):
        torch.manual_seed(1)
    if not grad:
        return Statement("f(*v)", f=forward, v=values)
    wrt = [v.requires_grad_() for o, v in zip(row.operands, values) if o.differentiable]

    def gradient() -> Any:
        cost = sum(0.5 * (o * (o.conj() if o.is_complex() else o)).real.sum() for o in outputs(forward(*values)))
        return torch.autograd.grad(cost, wrt)

    return Statement("f()", f=gradient)


def termgraph_statement(row: Row, size: str, dtype: str, grad: bool) -> Statement:
    import termgraph as tg

    values = row.values(size, dtype)
    inputs, found = termgraph_graph(row, size, values)
    if grad:
        found = termgraph_gradients(row, inputs, found)
    f = tg.function(inputs, found if len(found) > 1 else found[0], on_unused_input="ignore")
    return Statement("f(*v)", f=f, v=values, extra={"print": fingerprint(f)})


def termgraph_graph(row: Row, size: str, values: list) -> tuple[list, list]:
    """Variables for the operands and the results of a row."""
    import termgraph.tensor as T
    from termgraph import sparse

    T.sparse = sparse  # type: ignore[attr-defined]  # the rows' one prefix for all
    inputs = [
        sparse.matrix(v.format, o.name, v.dtype.name)
        if hasattr(v, "format")
        else T.tensor(dtype=v.dtype.name, shape=o.known, name=o.name)
        for o, v in zip(row.operands, values)
    ]
    names = {"T": T} | ({"r": T.random.RandomStream(seed=1)} if is_draw(row) else {})
    return inputs, [
        T.as_tensor(o) if not hasattr(o, "term") else o
        for o in outputs(function(row, "termgraph", size, names)(*inputs))
    ]


def termgraph_gradients(row: Row, inputs: list, found: list) -> list:
    import termgraph as tg
    import termgraph.tensor as T

    squares = [T.real(o * T.conj(o)) if o.type.kind == "c" else o * o for o in found if o.type.kind in "fc"]
    cost = sum(0.5 * T.sum(s) for s in squares)
    return tg.grad(cost, [v for o, v in zip(row.operands, inputs) if o.differentiable], disconnected_inputs="ignore")


def fingerprint(f: Any) -> str:
    """What tells whether a compiled function is another one than before: a digest of its program's text."""
    import hashlib

    try:
        text = f.source("c")
    except ValueError:  # it runs in several parts
        text = f.source()
    return hashlib.sha256(text.encode()).hexdigest()[:16]


STATEMENTS = {
    "numpy": numpy_statement,
    "jax": jax_statement,
    "torch": torch_statement,
    "termgraph": termgraph_statement,
}
