"""Correctness on a device: every op and some models against the NumPy meaning, in double precision where it matters.

Each check yields (what, largest relative error, tolerance).
"""

from __future__ import annotations

import functools
import importlib.util
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import termgraph
import termgraph.tensor
from gpucheck.models import language_model, logistic, lstm, mlp
from termgraph.terms.dtypes import HALVES, kind_of, numpy_dtype
from termgraph.terms.ops import elementwise
from termgraph.terms.term import Arg, mk
from termgraph.terms.types import TensorType

T: Any = termgraph.tensor
tg: Any = termgraph
Check = tuple[str, float, float]
TOLERANCE = {"bfloat16": 2e-2, "float16": 5e-3, "float32": 2e-5, "float64": 1e-11}
TOLERANCE |= {"complex64": 2e-5, "complex128": 1e-11}
BRAIN = ("bfloat16",) if importlib.util.find_spec("ml_dtypes") is not None else ()


def error_of(got: Any, want: Any) -> float:
    """The largest error relative to the size of the wanted values; infinite if shapes or kinds differ."""
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape or got.dtype != want.dtype:
        return np.inf
    if kind_of(want.dtype) not in "fc":
        return 0.0 if np.array_equal(got, want) else np.inf
    if want.dtype.name in HALVES:
        got, want = got.astype(np.float32), want.astype(np.float32)
    odd = ~np.isfinite(want)
    if not np.array_equal(got[odd], want[odd], equal_nan=True):
        return np.inf
    wide = "complex128" if kind_of(want.dtype) == "c" else "float64"
    a, b = got[~odd].astype(wide), want[~odd].astype(wide)
    scale = np.maximum(np.abs(b), np.abs(b).mean() if b.size else 1.0)
    return float((np.abs(a - b) / np.where(scale == 0, 1, scale)).max(initial=0.0))


def both(inputs: Sequence[Any], outputs: Sequence[Any], values: Sequence[Any]) -> tuple[list, list]:
    """What the device and what the NumPy meaning say; twice on the device, so that recorded work is seen too."""
    there = tg.function(inputs, outputs, mode=tg.Mode(linker="cuda"), on_unused_input="ignore")
    here = tg.function(inputs, outputs, mode=tg.Mode(linker="py"), on_unused_input="ignore")
    for _ in range(3):
        got = there(*values)
    with np.errstate(all="ignore"):
        return got, here(*values)


def reported(check: Callable[..., float]) -> Callable[..., float]:
    """A check whose failure is an infinite error, with what was raised on the screen: the others go on."""

    @functools.wraps(check)
    def run(*args: Any) -> float:
        try:
            return check(*args)
        except Exception as error:
            print(f"  {type(error).__name__}: {str(error)[:2000]}")
            return np.inf

    return run


@reported
def worst(inputs: Sequence[Any], outputs: Sequence[Any], values: Sequence[Any]) -> float:
    return max(error_of(a, b) for a, b in zip(*both(inputs, outputs, values)))


# ---------------------------------------------------------------------- every element-wise op
DTYPES = ("float32", "float64", "float16", *BRAIN, "complex64", "complex128", "int32", "int64")


def elementwise_checks(dtypes: Sequence[str] = DTYPES) -> Iterator[Check]:
    """All ops that have a kernel for a dtype, one program per dtype."""
    from termgraph.terms.evaluate import evaluate

    for dtype in dtypes:
        values = _values(dtype)
        args, terms = operations(dtype)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            want = evaluate(terms, dict(zip(args, values)))
        for t, a, b in zip(terms, _run(args, terms, values, dtype), want):
            name, error = f"{t.op.name} of {dtype}", np.inf if a is None else error_of(a, b)
            if t.type.kind in "iub" and kind_of(dtype) == "f":
                yield name, error, 0.0
            else:
                yield name, error, TOLERANCE.get(t.type.dtype, 0.0) * LESS_EXACT.get(t.op.family.name, 1)


def operations(dtype: str) -> tuple[list[Any], list[Any]]:
    """Three arguments of a dtype, and all ops of them that have a kernel."""
    from termgraph.backends.cuda.placement import why_not

    args = [Arg(i, TensorType(dtype, (None,))) for i in range(3)]
    return args, [t for t in _terms(args) if why_not(t) is None]


def _run(args: Sequence[Any], terms: Sequence[Any], values: Sequence[Any], dtype: str) -> list[Any]:
    """The results of ops in one program; if it fails, of its halves; None for the op that fails alone."""
    from termgraph.backends.cuda.generate import generate
    from termgraph.backends.cuda.run.device import current
    from termgraph.backends.cuda.run.executor import Executable

    try:
        return list(Executable(generate(args, terms), current(), f"ops of {dtype}")(*values))
    except Exception as error:
        if len(terms) == 1:
            print(f"  {terms[0].op.name} of {dtype}: {type(error).__name__}: {str(error)[:2000]}")
            return [None]
        middle = len(terms) // 2
        return [r for part in (terms[:middle], terms[middle:]) for r in _run(args, part, values, dtype)]


# Where a small error of the argument is a large one of the result, or where the libraries differ more.
LESS_EXACT = {"gammaln": 50, "gamma": 50, "tan": 20, "pow": 20, "erfinv": 20, "logaddexp2": 5, "exp2": 5, "sinh": 5}


def _values(dtype: str) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    if kind_of(dtype) == "f":
        dtype = numpy_dtype(dtype)
        x = rng.uniform(0.05, 0.95, 300).astype(dtype)
        y = rng.uniform(-2, 2, 300).astype(dtype)
        y[:4] = [0, -0.0, np.inf, np.nan]
        return [x, y, rng.uniform(0.1, 3, 300).astype(dtype)]
    if kind_of(dtype) == "c":
        return [(rng.uniform(-2, 2, 300) + 1j * rng.uniform(-2, 2, 300)).astype(dtype) for _ in range(3)]
    return [
        rng.integers(1, 20, 300).astype(dtype),
        rng.integers(-9, 9, 300).astype(dtype),
        rng.integers(0, 5, 300).astype(dtype),
    ]


def _terms(args: Sequence[Any]) -> Iterator[Any]:
    for name in sorted(set(dir(elementwise)) - {"philox_first", "philox_second", "scale_bits"}):
        op = getattr(elementwise, name)
        if getattr(op, "kind", "") != "elementwise":
            continue
        for count in (1, 2, 3):
            try:
                t = mk(op, tuple(args[:count]))
            except Exception:  # another number of operands, or not for this dtype
                continue
            if isinstance(t.type, TensorType):
                yield t
                break


# ---------------------------------------------------------------------- programs
def program_checks() -> Iterator[Check]:
    """Reductions, rows, products, indexing, shapes, random numbers, loops."""
    rng = np.random.default_rng(0)
    for dtype in ("float32", "float64"):
        x, y = T.matrix("x", dtype=dtype), T.matrix("y", dtype=dtype)
        i = T.lvector("i")
        for rows, columns in ((5, 3), (64, 100), (7, 1500), (3, 9000)):
            v = rng.standard_normal((rows, columns)).astype(dtype)
            outs = [x.sum(), x.sum(0), x.sum(1), x.max(), x.min(0), x.argmax(1), x.mean(), x.prod(1) * 0, x.argmin()]
            yield f"reductions {dtype} {rows}x{columns}", worst([x], outs, [v]), 2e-5 if dtype == "float32" else 1e-11
            outs = [T.nnet.softmax(x), T.log(T.exp(x).sum(1)), (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)]
            yield f"rows {dtype} {rows}x{columns}", worst([x], outs, [v]), 5e-5 if dtype == "float32" else 1e-11
        a, b = rng.standard_normal((70, 90)).astype(dtype), rng.standard_normal((90, 130)).astype(dtype)
        outs = [T.dot(x, y), T.dot(y.T, x.T), T.dot(x, y[:, 0]), T.dot(x[::2], y[:, ::2])]
        yield f"products {dtype}", worst([x, y], outs, [a, b]), 1e-4 if dtype == "float32" else 1e-11
        where = np.array([3, -1, 3, 0])
        outs = [
            x[i],
            x[::-1, 1::3],
            T.set_subtensor(x[i], 1),
            T.inc_subtensor(x[i], 1),
            T.cumsum(x, 0),
            T.sort(x, 1),
            T.argsort(x, 0),
            T.argtopk(x, 3, 0),
            T.topk(x, -2, 1),
            x.T.reshape((-1,)),
        ]
        yield f"indexing {dtype}", worst([x, i], outs, [a, where]), 1e-5
    yield from _of_other_dtypes(rng)
    yield from _finished_products(rng)
    yield from loop_checks()
    yield "views", _views(), 1e-5
    yield "results and updates on the device", _on_device(), 1e-5
    if _second_device():
        yield "two devices", _two_devices(), 1e-5
    yield "a call from another thread", _in_a_thread(), 1e-6
    yield "random numbers", _random_numbers(), 1e-11


@reported
def _random_numbers() -> float:
    stream = T.random.RandomStream(seed=3)
    draws = [stream.normal(size=(100,)), stream.uniform(size=(10, 11)), stream.gamma(2.0, size=(50,))]
    draws += [stream.poisson(7.0, size=(40,)), stream.binomial(20, 0.3, size=(40,))]
    there, here = (tg.function([], draws, mode=tg.Mode(linker=k), no_default_updates=True) for k in ("cuda", "py"))
    return max(map(error_of, there(), here()))


def _of_other_dtypes(rng: np.random.Generator) -> Iterator[Check]:
    """Sums and products in half precision, and of complex numbers."""
    for dtype in ("float16", *BRAIN, "complex64", "complex128"):
        x, y, z = T.matrix("x", dtype=dtype), T.matrix("y", dtype=dtype), T.tensor3("z", dtype=dtype)
        values = [rng.standard_normal(s) for s in ((70, 90), (90, 30), (3, 20, 20))]
        if dtype not in HALVES:
            values = [v + 1j * rng.standard_normal(v.shape) for v in values]
        outs = [T.dot(x, y), T.dot(y.T, x.T), T.dot(x, y[:, 0]), T.matmul(z, z), x.sum(), x.sum(0), x.sum(1)]
        yield f"sums and products {dtype}", worst([x, y, z], outs, [v.astype(dtype) for v in values]), TOLERANCE[dtype]


def _finished_products(rng: np.random.Generator) -> Iterator[Check]:
    """Products with what may be done where their elements are at hand."""
    for dtype in (*BRAIN, "float16", "float32", "float64"):
        x, w, b, y = (f("a", dtype=dtype) for f in (T.matrix, T.matrix, T.vector, T.matrix))
        values = [rng.standard_normal(s).astype(dtype) for s in ((33, 70), (70, 45), 45, (45, 33))]
        z = T.dot(x, w) + b
        outs = [z, T.nnet.relu(z[:-1]), T.nnet.gelu(T.dot(y.T, w[:45, 1:]) + b[1:], approximate=True)]
        outs += [T.nnet.relu(T.dot(y, x)), T.dot(T.nnet.relu(T.dot(x, w) + b * 2), y)]
        yield f"products with epilogues {dtype}", worst([x, w, b, y], outs, values), 4 * TOLERANCE[dtype]


def loop_checks() -> Iterator[Check]:
    """Loops that stop early, that choose, and that make a number of steps that is computed."""
    rng = np.random.default_rng(1)
    x, n = T.dmatrix("x"), T.lscalar("n")
    total = tg.scan(lambda r, s: (s + r, tg.until(s.sum() > 20)), sequences=[x], outputs_info=[T.zeros(3)])[0]
    side = lambda r, s: tg.ifelse(r.sum() > 0, T.dot(s, s) * 0.5, T.nnet.softmax(s) + r)  # noqa: E731
    chosen = tg.scan(side, sequences=[x], outputs_info=[T.eye(3)])[0]
    counted = tg.scan(lambda s, x: s * 0.5 + x.sum(0), outputs_info=[T.zeros(3)], non_sequences=[x], n_steps=n)[0]
    v = rng.standard_normal((150, 3)) + 0.05
    yield "a loop that stops early", worst([x], [total, total.shape[0]], [v]), 1e-11
    yield "choices inside a loop", worst([x], [chosen], [v[:20]]), 1e-10
    yield "a computed number of steps", worst([x, n], [counted], [v, np.array(7)]), 1e-11


@reported
def _views() -> float:
    """Arguments that are transposed, reversed and sliced on the device."""
    from termgraph.backends.cuda.run.device_array import DeviceArray

    x, v = T.fmatrix("x"), np.random.default_rng(2).standard_normal((40, 33)).astype("float32")
    outs = [T.exp(x), x.sum(0), T.dot(x, x.T), x.max(1)]
    there, here = (tg.function([x], outs, mode=tg.Mode(linker=k)) for k in ("cuda", "py"))
    pairs = [(DeviceArray.of(v).T, v.T), (DeviceArray.of(v)[::-1, 1::2], v[::-1, 1::2])]
    return max(error_of(a, b) for d, h in pairs for a, b in zip(there(d), here(np.ascontiguousarray(h))))


@reported
def _on_device() -> float:
    """Results that stay are arguments of the next call; a variable keeps its place."""
    x, w = T.fmatrix("x"), tg.shared(np.ones((20, 20), "float32"))
    y = tg.Out(T.tanh(T.dot(x, w)), target="cuda")
    f = tg.function([x], y, updates=[(w, w * 0.5 + x.mean())], mode=tg.Mode(linker="cuda"))
    value = host = np.eye(20, dtype="float32")
    weights, places = np.ones((20, 20), "float32"), set()
    for _ in range(5):
        value = f(value)
        host, weights = np.tanh(host @ weights), weights * np.float32(0.5) + host.mean()
        places.add(w.container.storage[0].address)
    return max(error_of(np.asarray(value), host), error_of(w.get_value(), weights)) if len(places) < 3 else np.inf


def _second_device() -> bool:
    from termgraph.backends.cuda.driver.base import NoDevice
    from termgraph.backends.cuda.run.device import numbered

    try:
        return numbered(1) is not None
    except NoDevice:
        return False


@reported
def _two_devices() -> float:
    x = T.fmatrix("x")
    w = tg.shared(np.full((9, 9), 0.1, "float32"), target="cuda:1")
    f = tg.function([x], T.dot(x, x) + T.dot(x.transfer("cuda:1"), w), mode=tg.Mode(linker="cuda"))
    v = np.random.default_rng(3).standard_normal((9, 9)).astype("float32")
    return max(error_of(f(v), v @ v + v @ np.full((9, 9), 0.1, "float32")) for _ in range(3))


@reported
def _in_a_thread() -> float:
    x, errors = T.fmatrix("x"), []
    v = np.ones((3, 40), "float32")
    threads = [threading.Thread(target=lambda: errors.append(worst([x], [T.nnet.softmax(x)], [v]))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return max(errors) if len(errors) == 2 else np.inf


# ---------------------------------------------------------------------- models
def model_checks(steps: int = 4) -> Iterator[Check]:
    """Training steps: costs and parameters after some steps."""
    for make, dtype, limit, precision in MODELS:
        rounded = f", products in {precision}" if precision != "float32" else ""
        name = f"{make.__name__} in {dtype}{rounded}, {steps} training steps"
        yield name, _training(make, dtype, precision, steps), limit


@reported
def _training(make: Any, dtype: str, precision: str, steps: int) -> float:
    with tg.config.change_flags(cuda__products=precision):
        (w0, f0, v0), (w1, f1, v1) = make("py", EXACT.get(dtype, dtype)), make("cuda", dtype)
    if dtype in EXACT:
        v0 = [_exact(v, dtype) for v in v1]
        for a, b in zip(w0, w1):
            a.set_value(_exact(b.get_value(), dtype))
    pairs = [pair for _ in range(steps) for pair in zip(f1(*v1), f0(*v0))]
    pairs += [(a.get_value(), b.get_value()) for a, b in zip(w1, w0)]
    return max([_of_largest(_exact(a, dtype), b) if dtype in EXACT else error_of(a, b) for a, b in pairs])


def _exact(v: Any, dtype: str) -> Any:
    """An array of a dtype in the one that it is compared in; others as they are."""
    v = np.asarray(v)
    return v.astype(EXACT[dtype]) if v.dtype.name == dtype else v


def _of_largest(got: np.ndarray, want: np.ndarray) -> float:
    """The largest error relative to the largest of the wanted values."""
    if got.shape != want.shape or got.dtype != want.dtype or not np.isfinite(got).all():
        return np.inf
    return float(np.abs(got - want).max() / np.abs(want).max())


# With what error: both sides round every operation to the dtype, and add in another order. Products that round their
# operands to 8 bits differ by as much. What is stored in 8 binary digits is compared with float32, as a whole.
EXACT = {"bfloat16": "float32"}
MODELS: list[tuple[Any, str, float, str]] = [
    (logistic, "float32", 1e-3, "float32"),
    (mlp, "float32", 1e-3, "float32"),
    (lstm, "float32", 1e-3, "float32"),
    (language_model, "float32", 1e-3, "float32"),
    (logistic, "float64", 1e-11, "float32"),
    (mlp, "float16", 2e-2, "float32"),
    (lstm, "float16", 2e-2, "float32"),
    *[(make, dtype, 2e-2, "float32") for dtype in BRAIN for make in (mlp, lstm, language_model)],
    (language_model, "float16", 2e-2, "float32"),
    (mlp, "float32", 2e-2, "bfloat16"),
    (lstm, "float32", 2e-2, "bfloat16"),
    (mlp, "float32", 5e-3, "tf32"),
]
