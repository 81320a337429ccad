"""Common ops in every dtype, and elementary functions of awkward numbers, beside NumPy in the same process.

python benchmarks/dtypes.py --dtypes uint8,float16            the ops of the first table, slowest beside NumPy first
python benchmarks/dtypes.py --operands --case '^(log|sin) '   functions of zeros, infinities, NaN, subnormal numbers
"""

import argparse
import re
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import termgraph as tg
import termgraph.tensor as T

SIDE = 300
DTYPES = [
    "bool", "int8", "uint8", "int16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64",
    "complex64", "complex128",
]  # fmt: skip
UNARY = [
    "negative", "absolute", "sign", "square", "sqrt", "exp", "log", "sin", "cos", "tanh", "floor", "rint",
    "reciprocal", "invert", "isnan", "isfinite", "conj", "bitwise_count", "sort", "argsort", "unique",
]  # fmt: skip
BINARY = [
    "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "maximum", "minimum", "power", "less",
    "equal", "logical_and", "bitwise_and", "left_shift", "hypot", "arctan2", "dot",
]  # fmt: skip
FOLDS = [
    "sum", "prod", "max", "min", "mean", "std", "argmax", "argmin", "any", "all", "cumsum", "ptp",
    "count_nonzero", "median",
]  # fmt: skip
FUNCTIONS = [
    "log", "log2", "log10", "log1p", "exp", "exp2", "expm1", "sin", "cos", "tan", "tanh", "sinh", "cosh",
    "sqrt", "cbrt", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh",
]  # fmt: skip
PLACES = np.random.default_rng(1).integers(0, SIDE, SIDE)
MOVES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "take": lambda m, x, y: m.take(x, PLACES, axis=0),
    "take of columns": lambda m, x, y: m.take(x, PLACES, axis=1),
    "mask": lambda m, x, y: x[m.greater(x, 0)],
    "where": lambda m, x, y: m.where(m.greater(y, 3), x, y),
    "concatenate": lambda m, x, y: m.concatenate([x, y], axis=1),
    "roll": lambda m, x, y: m.roll(x, 7, 1),
    "repeat": lambda m, x, y: m.repeat(x, 3, axis=1),
    "tile": lambda m, x, y: m.tile(x, (2, 2)),
    "pad": lambda m, x, y: m.pad(x, 2),
    "diff": lambda m, x, y: m.diff(x, axis=1),
    "clip": lambda m, x, y: m.clip(x, 1, 5),
    "outer": lambda m, x, y: m.outer(x[0], y[0]),
    "product with a vector": lambda m, x, y: m.dot(x, y[0]),
    "sort of columns": lambda m, x, y: m.sort(x, axis=0),
    "partition": lambda m, x, y: m.partition(x, 10, axis=1),
    "nonzero": lambda m, x, y: m.nonzero(x)[0],
    "isin": lambda m, x, y: m.isin(x, y[0]),
    "cast to float64": lambda m, x, y: x.astype("float64"),
    "cast to float32": lambda m, x, y: x.astype("float32"),
    "cast to int32": lambda m, x, y: x.astype("int32"),
}


def drawn(dtype: str, rng: np.random.Generator, positive: bool) -> np.ndarray:
    kind, shape = np.dtype(dtype).kind, (SIDE, SIDE)
    if kind == "b":
        return rng.random(shape) < 0.5
    if kind in "iu":
        least = 1 if positive else max(np.iinfo(dtype).min, -100)
        return rng.integers(least, 100, shape).astype(dtype)
    real = rng.random(shape) + 0.1 if positive else rng.normal(size=shape)
    return (real + 1j * rng.normal(size=shape) if kind == "c" else real).astype(dtype)


def cases() -> Iterator[tuple[str, Callable[[Any, Any, Any], Any]]]:
    yield from ((name, lambda m, x, y, n=name: getattr(m, n)(x)) for name in UNARY)
    yield from ((name, lambda m, x, y, n=name: getattr(m, n)(x, y)) for name in BINARY)
    for axis, where in ((0, "of columns"), (1, "of rows"), (None, "of all")):
        yield from ((f"{name} {where}", lambda m, x, y, n=name, a=axis: getattr(m, n)(x, axis=a)) for name in FOLDS)
    yield from MOVES.items()


def seconds(f: Callable[[], Any], budget: float) -> float:
    """Of the processor: the least of several measurements."""
    f()
    begin = time.process_time()
    f()
    count, least = max(1, int(budget / 5 / max(time.process_time() - begin, 1e-7))), np.inf
    for _ in range(5):
        begin = time.process_time()
        for _ in range(count):
            f()
        least = min(least, (time.process_time() - begin) / count)
    return least


def compiled(f: Callable[[Any, Any, Any], Any], dtype: str) -> Callable[..., Any]:
    x, y = (T.tensor(name, dtype=dtype, shape=(None, None)) for name in "xy")
    made = tg.function([x, y], f(T, x, y), on_unused_input="ignore")
    made.trust_input = True
    return made


def by_dtype(dtypes: list[str], wanted: re.Pattern[str], budget: float) -> list[tuple[float, str]]:
    rows = []
    for dtype in dtypes:
        rng = np.random.default_rng(0)
        x, y = drawn(dtype, rng, False), drawn(dtype, rng, True)
        for name, f in cases():
            if not wanted.search(f"{name} {dtype}"):
                continue
            try:
                f(np, x, y)
            except (TypeError, ValueError):
                continue  # NumPy has none of this dtype
            ours = compiled(f, dtype)
            here, there = seconds(partial(ours, x, y), budget), seconds(partial(f, np, x, y), budget)
            rows.append((here / there, f"{name:24s} {dtype:11s} {1e6 * here:9.1f} us, NumPy {1e6 * there:9.1f}"))
    return rows


def operands(dtype: str) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    benign, signed = drawn(dtype, rng, True), drawn(dtype, rng, False)
    third = rng.random((SIDE, SIDE)) < 1 / 3
    tiny, large = np.finfo(dtype).tiny, 1e30 if dtype == "float32" else 1e250
    special = {name: np.where(third, np.array(v, dtype), benign) for name, v in
               (("zero", 0), ("infinite", np.inf), ("NaN", np.nan))}  # fmt: skip
    scaled = {
        "subnormal": benign * tiny,
        "10,000": signed * dtype_of(dtype, 1e4),
        "large": signed * dtype_of(dtype, large),
    }
    return {"benign": benign, "signed": signed, **special, **scaled}


def dtype_of(dtype: str, value: float) -> np.generic:
    return np.dtype(dtype).type(value)


def by_operand(wanted: re.Pattern[str], budget: float) -> list[tuple[float, str]]:
    rows = []
    for dtype in ("float32", "float64"):
        for name in FUNCTIONS:
            if not wanted.search(f"{name} {dtype}"):
                continue
            ours = compiled(lambda m, x, y, n=name: getattr(m, n)(x), dtype)
            for what, x in operands(dtype).items():
                here = seconds(partial(ours, x, x), budget)
                there = seconds(partial(getattr(np, name), x), budget)
                rows.append(
                    (here / there, f"{name:9s} {dtype} {what:10s} {1e6 * here:9.1f} us, NumPy {1e6 * there:9.1f}")
                )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dtypes", type=lambda t: t.split(","), default=DTYPES)
    parser.add_argument("--operands", action="store_true", help="functions of awkward numbers instead")
    parser.add_argument("--case", type=re.compile, default=re.compile(""), help="those of which 'name dtype' matches")
    parser.add_argument("--seconds", type=float, default=0.05, help="of the processor for each figure")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    made = by_operand(options.case, options.seconds) if options.operands else by_dtype(
        options.dtypes, options.case, options.seconds
    )  # fmt: skip
    for ratio, text in sorted(made, reverse=True):
        print(f"{ratio:7.2f}  {text}")
    ratios = [ratio for ratio, _ in made]
    print(f"{len(ratios)} rows, median {np.median(ratios):.2f}, above 1.15: {sum(r > 1.15 for r in ratios)}")


if __name__ == "__main__":
    main()
