"""The statements a random program is made of: each function writes the right side of one, or nothing where none fits.

Statements are text of the public language, so that a program can be printed and run as it is.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Protocol

import numpy as np

FLOATS = ("float64", "float32", "float16", "bfloat16")
DTYPES = ("float64", "float64", "float32", "float32", "int64", "int32", "bool", "float16", "bfloat16", "complex128", "int8",
          "uint8", "complex64", "uint64", "int16")  # fmt: skip


class Named(Protocol):
    """A variable of a program, as statements see it."""

    name: str
    dtype: str
    shape: tuple[int, ...]


class Pool:
    """The variables a statement may use."""

    def __init__(self, rnd: random.Random, variables: list) -> None:
        self.rnd, self.variables = rnd, variables

    def pick(self, kinds: str = "fiubc", ndims: tuple = (0, 1, 2, 3, 4), like=None, longest: int = 10**9):
        """A variable of one of these kinds and ranks, recent ones more often; `like`: of the same dtype and shape."""
        fits = [v for v in self.variables if v.kind in kinds and len(v.shape) in ndims and np.prod(v.shape) <= longest]
        if like is not None:
            fits = [v for v in fits if v.shape == like.shape and v.dtype == like.dtype]
        if not fits:
            raise Unfit
        return (
            fits[-min(int(self.rnd.expovariate(0.35)) + 1, len(fits))]
            if self.rnd.random() < 0.6
            else self.rnd.choice(fits)
        )

    def choice(self, *several):
        return self.rnd.choice(several)


class Unfit(Exception):
    """No variable fits the statement."""


STATEMENTS: list[Callable[[Pool], str]] = []


def statement(weight: int = 2) -> Callable:
    def enter(f: Callable) -> Callable:
        STATEMENTS.extend([f] * weight)
        return f

    return enter


# ---------------------------------------------------------------------- element by element
REAL = "abs neg sqr sqrt exp expm1 log log1p tanh sin cos sigmoid softplus floor ceil round sign reciprocal erf arctan sinh log2 exp2 cbrt"
WHOLE = "abs neg sqr invert sign logical_not"
TWO = "+ - * / // % ** < <= > >= maximum minimum eq neq arctan2 hypot logaddexp copysign fmod heaviside fmax"


@statement(8)
def unary(g):
    v = g.pick()
    words = {"f": REAL, "c": "abs neg sqr exp conj real imag sin tanh sqrt", "b": "logical_not invert"}.get(
        v.kind, WHOLE
    )
    return f"T.{g.choice(*words.split())}({v.name})"


@statement(8)
def binary(g):
    a, b = g.pick(), g.pick()
    if g.rnd.random() < 0.6:
        b = g.pick(like=a)
    return _joined(g.choice(*TWO.split()), a.name, b.name)


def _joined(op: str, a: str, b: str) -> str:
    return f"T.{op}({a}, {b})" if op.isalpha() or op[-1].isdigit() else f"{a} {op} {b}"


@statement(8)
def with_number(g):
    a, number = g.pick().name, g.choice("0", "1", "2", "3", "-1", "0.5", "-2.0", "1e-3", "10", "True", "7")
    op = g.choice("+", "-", "*", "/", "*", "+", "<", ">=", "maximum", "minimum", "**", "//", "%")
    return _joined(op, a, number) if g.rnd.random() < 0.6 else _joined(op, number, a)


@statement(3)
def cast(g):
    v = g.pick()
    to = g.choice(
        *(
            DTYPES
            if v.kind in "iub"
            else FLOATS + ("complex128", "complex64")
            if v.kind == "f"
            else ("complex64", "complex128")
        )
    )
    return f"T.cast({v.name}, {to!r})"


@statement(3)
def choose(g):
    cond = g.pick("b")
    a = g.pick()
    return f"T.switch({cond.name}, {a.name}, {g.choice('0', '1', g.pick(like=a).name, g.pick().name)})"


@statement(1)
def clipped(g):
    return f"T.clip({g.pick('fiu').name}, {g.choice('-1', '0', '0.25')}, {g.choice('1', '2.5')})"


@statement(1)
def bits(g):
    a = g.pick("iub")
    return f"{a.name} {g.choice('&', '|', '^')} {g.pick(like=a).name}"


# ---------------------------------------------------------------------- reductions
def _axis(g, v) -> str:
    n = len(v.shape)
    return str(g.choice(None, *range(-n, n))) if n else "None"


@statement(6)
def reduce(g):
    v = g.pick()
    name = g.choice(
        "sum",
        "mean",
        "max",
        "min",
        "prod",
        "any",
        "all",
        "argmax",
        "argmin",
        "sum",
        "var",
        "std",
        "cumsum",
        "ptp",
        "count_nonzero",
    )
    return f"T.{name}({v.name}, axis={_axis(g, v)})"


@statement(2)
def soft(g):
    v = g.pick("f", (1, 2, 3))
    return f"T.{g.choice('softmax', 'logsumexp', 'log_softmax')}({v.name}, axis={g.choice(*range(-len(v.shape), len(v.shape)))})"


@statement(1)
def cumulate(g):
    v = g.pick("fiu", (1, 2))
    return f"T.cumprod({v.name}, axis={g.choice(*range(len(v.shape)))})"


# ---------------------------------------------------------------------- shapes
@statement(4)
def shape(g):
    v = g.pick(longest=200)
    n, x = len(v.shape), v.name
    several = [f"T.ravel({x})", f"T.transpose({x})", f"T.shape({x})", f"{x}[None]", f"T.atleast_2d({x})", f"T.flip({x})",
               f"T.zeros_like({x})", f"T.ones_like({x})", f"T.tile({x}, 2)", f"T.stack([{x}, {x}])"]  # fmt: skip
    if n:
        a = g.choice(*range(n))
        several += [f"T.roll({x}, {g.choice(1, -2, 5)}, axis={a})", f"T.expand_dims({x}, {a})", f"T.repeat({x}, 2, axis={a})",
                    f"T.concatenate([{x}, {x}], axis={a})", f"T.reshape({x}, (-1,))", f"T.diff({x}, axis={a})", f"{x}.shape[{a}]",
                    f"T.pad({x}, 1, mode={g.choice('constant', 'edge', 'wrap')!r})", f"T.broadcast_to({x}, (2, *{x}.shape))"]  # fmt: skip
    if n >= 2:
        several += [f"T.swapaxes({x}, 0, -1)", f"T.tril({x})", f"T.diagonal({x})", f"T.triu({x}, 1)", f"T.trace({x})", f"{x}.T",
                    f"T.reshape({x}, ({x}.shape[1], {x}.shape[0], *{x}.shape[2:]))"]  # fmt: skip
    if 1 in v.shape:
        several += [f"T.squeeze(T.specify_shape({x}, {', '.join('1' if k == 1 else 'None' for k in v.shape)}))"]
    if n == 1:
        several += [f"T.diag({x})", f"T.dimshuffle({x}, 0, 'x')", f"T.outer({x}, {x})"]
    return g.choice(*several)


@statement(2)
def join(g):
    a = g.pick(ndims=(1, 2, 3))
    return f"T.concatenate([{a.name}, {g.pick(ndims=(len(a.shape),)).name}], axis={g.choice(*range(len(a.shape)))})"


# ---------------------------------------------------------------------- elements
def _slice(g) -> str:
    part = lambda: g.choice("", "", "1", "-1", "2", "-3", "9")  # noqa: E731
    return f"{part()}:{part()}{g.choice('', '', ':2', ':-1', ':-2')}"


def _index(g, v) -> str:
    items = [
        g.choice(_slice(g), _slice(g), "0", "-1", ":", "None", "...") for _ in range(g.rnd.randint(1, len(v.shape)))
    ]
    while items.count("...") > 1:
        items.remove("...")
    return ", ".join(items)


@statement(5)
def read(g):
    v = g.pick(ndims=(1, 2, 3))
    return f"{v.name}[{_index(g, v)}]"


@statement(3)
def gather(g):
    v, i = g.pick(ndims=(1, 2, 3)), g.pick("iu", (1, 2))
    where = f"{i.name} % {v.name}.shape[0]" if g.rnd.random() < 0.7 else i.name
    return g.choice(
        f"{v.name}[{where}]", f"T.take({v.name}, {where}, axis=0)", f"T.take({v.name}, {i.name}, axis=-1, mode='wrap')"
    )


@statement(2)
def mask(g):
    v = g.pick(ndims=(1, 2))
    cond = g.pick("b", (len(v.shape), 1))
    return f"{v.name}[{cond.name}]"


@statement(5)
def write(g):
    v = g.pick(ndims=(1, 2, 3))
    place = f"{v.name}[{_index(g, v)}]"
    value = g.choice("0", "1", "2", f"{place} * 2", g.pick().name, g.pick().name)
    return f"T.{g.choice('set', 'inc')}_subtensor({place}, {value})"


@statement(3)
def scatter(g):
    v, i = g.pick(ndims=(1, 2)), g.pick("iu", (1,))
    place = f"{v.name}[{i.name} % {v.name}.shape[0]]"
    return f"T.{g.choice('set', 'inc', 'inc')}_subtensor({place}, {g.choice('1', f'{place} * 2', g.pick().name)})"


@statement(3)
def order(g):
    v = g.pick("fiu", (1, 2))
    x = v.name
    return g.choice(f"T.sort({x}, axis=-1)", f"T.argsort({x}, axis=0)", f"T.topk({x}, 2)", f"T.searchsorted(T.sort(T.ravel({x})), {g.pick(like=v).name})",
                    f"T.take_along_axis({x}, T.argsort({x}, axis=0), axis=0)", f"T.unique({x})", f"T.nonzero({x})[0]", f"T.median({x}, axis=-1)")  # fmt: skip


# ---------------------------------------------------------------------- products
@statement(5)
def product(g):
    a = g.pick("fc", (1, 2, 3), longest=100)
    if g.rnd.random() < 0.15:
        a = g.pick("iu", (1, 2), longest=100)
    b = g.pick(a.kind, (1, 2, 3), longest=100)
    return g.choice(f"T.dot({a.name}, {b.name})", f"{a.name} @ {b.name}", f"T.dot({a.name}, {a.name}.T)", f"T.dot({a.name}.T, {b.name})",
                    f"T.tensordot({a.name}, {b.name}, 1)", f"T.matmul({a.name}, T.swapaxes({a.name}, -1, -2))" if len(a.shape) > 1 else f"T.outer({a.name}, {a.name})")  # fmt: skip


@statement(3)
def einsum(g):
    subscripts = g.choice(
        "ij,ij->i",
        "ij,ij->j",
        "ij,kj->ik",
        "ij->ji",
        "ij->j",
        "ii->i",
        "i,j->ij",
        "ij,j->i",
        "i,i->",
        "ijk->jk",
        "ij,ik,il->jkl",
    )
    words = subscripts.partition("->")[0].split(",")
    return f"T.einsum({subscripts!r}, {', '.join(g.pick('f', (len(w),), longest=60).name for w in words)})"


@statement(2)
def linear(g):
    v = g.pick("f", (2,), longest=40)
    regular = f"(T.dot(T.tanh({v.name}), T.tanh({v.name}).T) + 2 * T.eye({v.name}.shape[0], dtype={v.dtype!r}))"
    if v.dtype not in ("float64", "float32"):
        raise Unfit
    return g.choice(f"T.linalg.inv({regular})", f"T.linalg.det({regular})", f"T.linalg.cholesky({regular})", f"T.linalg.solve({regular}, {v.name})",
                    f"T.linalg.norm({v.name}, axis=0)", f"T.linalg.slogdet({regular})[1]")  # fmt: skip


@statement(2)
def convolve(g):
    v = g.pick("f", (2,), longest=60)
    if v.dtype not in ("float64", "float32"):
        raise Unfit
    x, w = f"{v.name}[None, None]", f"{g.pick(v.kind, (2,), like=v).name}[None, None, :2, :2]"
    return g.choice(f"T.nnet.conv2d({x}, {w}, border_mode={g.choice('full', 'half', 'valid')!r})[0, 0]",
                    f"T.signal.pool_2d({v.name}, (2, 2), ignore_border=True, mode={g.choice('max', 'sum', 'average_inc_pad')!r})",
                    f"T.fft.irfft(T.fft.rfft({v.name}), n=4)")  # fmt: skip


# ---------------------------------------------------------------------- loops and choices
BODIES = (
    "T.tanh({s} * 0.5 + {x})",
    "{s} + {x}",
    "T.maximum({s}, {x})",
    "T.switch({x} > 0, {s}, {x})",
    "{s} * 0.5 - {x} * 2",
    "T.minimum({s} * {x}, 1)",
)


@statement(4)
def scan(g):
    v = g.pick("f", (1, 2), longest=60)
    body = g.choice(*BODIES).format(s="s", x="x")
    start = f"T.zeros_like({v.name}[0])" if v.shape[0] else None
    if start is None:
        raise Unfit
    return g.choice(
        f"tg.scan(lambda x, s: {body}, sequences={v.name}, outputs_info={start})[0]",
        f"tg.scan(lambda x, s: {body}, sequences={v.name}, outputs_info={start})[0][-1]",
        f"tg.scan(lambda x, s: {body}, sequences={v.name}, outputs_info={start}, go_backwards=True)[0]",
        f"tg.scan(lambda x: T.exp(T.neg(T.sqr(x))), sequences={v.name})[0]",
        f"tg.scan(lambda s, x: {body}, outputs_info={v.name}[0], non_sequences={v.name}[-1], n_steps=3)[0]",
        f"tg.foldl(lambda x, s: {body}, {v.name}, {start})[0]",
        f"tg.map(lambda x: x * 2 + T.sum({v.name}), {v.name})[0]",
    )


@statement(2)
def nested_scan(g):
    """A loop in the body of a loop: over the elements of each row, or a few steps of its own."""
    v = g.pick("f", (2,), longest=40)
    body = g.choice(*BODIES).format(s="a", x="e")
    zero = f"T.zeros((), {v.dtype!r})"
    inner = g.choice(
        f"tg.scan(lambda e, a: {body}, sequences=row, outputs_info={zero})[0][-1]",
        f"tg.scan(lambda a, e: {body}, outputs_info=s, non_sequences=T.sum(row), n_steps=2)[0][-1]",
        "T.sum(tg.map(lambda e: T.tanh(e + s), row)[0])",
    )
    if not v.shape[1]:
        raise Unfit
    return f"tg.scan(lambda row, s: s * 0.5 + {inner}, sequences={v.name}, outputs_info={zero})[0]"


@statement(2)
def lazily(g):
    a = g.pick()
    cond = g.choice(f"T.sum({g.pick('f').name}) > 0", f"T.any({g.pick('b').name})")
    return f"tg.ifelse({cond}, {a.name}, {g.choice(g.pick(like=a).name, f'T.zeros_like({a.name})')})"


@statement(2)
def random_draw(g):
    v = g.pick("fiu", (1, 2), longest=60)
    stream = f"T.random.RandomStream(seed={g.rnd.randint(0, 9)})"
    return g.choice(f"{stream}.uniform(size={v.name}.shape)", f"{stream}.normal(size=(2, 3))", f"{stream}.integers(0, 7, size={v.name}.shape)",
                    f"{stream}.bernoulli(0.5, size={v.name}.shape)", f"{stream}.permutation(5)")  # fmt: skip


@statement(2)
def sparsely(g):
    v = g.pick("f", (2,), longest=60)
    if v.dtype not in ("float64", "float32"):
        raise Unfit
    s = f"S.{g.choice('csr', 'csc')}_from_dense({v.name})"
    return g.choice(f"S.dot({s}, {v.name}.T)", f"S.dense_from_sparse({s} * 2)", f"S.sp_sum({s}, 0)", f"S.dense_from_sparse({s}.T)",
                    f"S.dense_from_sparse({s} * {v.name})", f"S.dot({v.name}.T, {s})", f"S.dense_from_sparse({s}[1:])")  # fmt: skip


@statement(4)
def gradient(g):
    cost, wrt = g.pick("f"), g.pick("f")
    weighted = g.choice(f"T.sum({cost.name})", f"T.sum(T.sqr({cost.name}))", f"T.mean({cost.name})")
    return f"tg.grad({weighted}, {wrt.name}, disconnected_inputs='ignore')"
