"""einsum: sums of products written with subscripts, as in NumPy, turned into dot, matmul, mul and sum.

The pair to contract next is the one whose product is smallest beside its operands.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from termgraph.tensor.contraction import arrange, contract
from termgraph.tensor.creation import diagonal
from termgraph.tensor.elemwise import cast
from termgraph.tensor.lengths import length
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import TensorLike
from termgraph.tensor.reductions import sum as sum_over
from termgraph.tensor.shaping import dimshuffle, specify_shape
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.dtypes import promote
from termgraph.terms.errors import ShapeError
from termgraph.terms.types import shape_text

UNKNOWN = 64  # what an unknown length counts for when the order of contractions is chosen
Labels = list[Any]


class Labelled(NamedTuple):
    """An array with a label for each dimension: a letter, or a number for a dimension of the ellipsis."""

    array: Any
    labels: Labels


@on_terms
def einsum(subscripts: object, *operands: TensorLike, optimize: object = True) -> TensorVariable:
    """Sums of products: each letter names a dimension, letters missing in the output are summed over.

    The full language of NumPy: repeated letters take a diagonal, '...' stands for leading dimensions that broadcast,
    and without '->' the output has the letters that occur once, in alphabetical order.

    >>> import termgraph.tensor as T
    >>> a, b = T.dtensor3("a"), T.dtensor3("b")
    >>> T.einsum("bij,bjk->bik", a, b).owner.op.name
    'matmul'
    """
    if not isinstance(subscripts, str):
        subscripts, operands = _from_sublists((subscripts, *operands))
    arrays = [as_tensor(x) for x in operands]
    inputs, output = parse(subscripts, [x.ndim for x in arrays])
    dtype = promote(*[x.type.np_dtype for x in arrays]).name
    arrays = [cast(x, dtype) for x in arrays]  # so that partial sums are as wide as the result
    labelled = [_diagonals(Labelled(x, labels), subscripts) for x, labels in zip(arrays, inputs)]
    check_lengths(labelled, subscripts)
    labelled = _without_broadcast(labelled)
    made = _contract_all(labelled, output)
    made = Labelled(_summed(made, output).array, [k for k in made.labels if k in output])
    return arrange(made.array, made.labels, output)


# ---------------------------------------------------------------------- subscripts
def parse(subscripts: str, ranks: Sequence[int]) -> tuple[list[Labels], Labels]:
    """The labels of each operand and of the output; those of an ellipsis are numbered ..., -2, -1."""
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    if len(parts) != len(ranks):
        raise ValueError(f"einsum {subscripts!r} describes {len(parts)} operands, {len(ranks)} were given")
    inputs = [_labels(p, n, f"operand {i}", subscripts) for i, (p, n) in enumerate(zip(parts, ranks))]
    every = [k for labels in inputs for k in labels]
    dots: Labels = sorted({k for k in every if isinstance(k, int)})
    if not arrow:
        return inputs, [*dots, *sorted({k for k in every if isinstance(k, str) and every.count(k) == 1})]
    output = _labels(right, None, "the output", subscripts, dots)
    for k in output:
        if output.count(k) > 1:
            raise ValueError(f"einsum {subscripts!r}: the output names {k!r} twice")
        if k not in every:
            raise ValueError(f"einsum {subscripts!r}: the output names {k!r}, which no operand has")
    return inputs, output


def _labels(part: str, rank: int | None, what: str, subscripts: str, dots: Labels = []) -> Labels:  # noqa: B006
    before, ellipsis, after = part.partition("...")
    letters = before + after
    if not all(c.isascii() and c.isalpha() for c in letters):
        raise ValueError(f"einsum {subscripts!r}: {what} may have letters and one '...', got {part!r}")
    if rank is None:
        return [*before, *(dots if ellipsis else []), *after]
    extra = rank - len(letters)
    if extra < 0 or (extra and not ellipsis):
        raise ValueError(
            f"einsum {subscripts!r}: {what} has {rank} dimensions, its subscripts {part!r} name {len(letters)}"
        )
    return [*before, *range(-extra, 0), *after]


def _from_sublists(args: tuple) -> tuple[str, tuple]:
    """NumPy's other form, einsum(a, [0, 1], b, [1, 2], [0, 2]), as subscripts."""
    pairs, rest = (args[:-1], args[-1]) if len(args) % 2 else (args, None)
    if not pairs or not all(isinstance(s, (list, tuple)) for s in pairs[1::2]):
        raise TypeError(
            "einsum takes subscripts (a string) and operands, or operands each followed by a list of integers"
        )

    def text(labels: Iterable) -> str:
        return "".join(
            "..." if k is Ellipsis else "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[k] for k in labels
        )

    subscripts = ",".join(text(s) for s in pairs[1::2])
    return subscripts + (f"->{text(rest)}" if rest is not None else ""), pairs[::2]


# ---------------------------------------------------------------------- preparing operands
def _diagonals(item: Labelled, subscripts: str) -> Labelled:
    """Repeated labels of one operand made one, by taking the diagonal."""
    x, labels = item.array, list(item.labels)
    for k in dict.fromkeys(labels):
        while labels.count(k) > 1:
            i = labels.index(k)
            j = labels.index(k, i + 1)
            n, m = x.type.shape[i], x.type.shape[j]
            if n is not None and m is not None and n != m:
                raise ShapeError(
                    f"einsum {subscripts!r}: {k!r} is repeated in an operand of shape {shape_text(x.type.shape)}, "
                    f"with lengths {n} and {m}"
                )
            if n is None or m is None:
                x = specify_shape(x, *[length(x, i) if d == j else None for d in range(x.ndim)])
            x = diagonal(x, 0, i, j)
            labels = [c for d, c in enumerate(labels) if d not in (i, j)] + [k]
    return Labelled(x, labels)


def check_lengths(items: list[Labelled], subscripts: str) -> None:
    """Refuse known lengths of one label that differ and are not 1."""
    seen: dict[Any, tuple[int, Any]] = {}
    for x, labels in items:
        for k, n in zip(labels, x.type.shape):
            if n in (None, 1):
                continue
            m, other = seen.setdefault(k, (n, x))
            if m != n:
                shapes = f"{shape_text(other.type.shape)} and {shape_text(x.type.shape)}"
                name = repr(k) if isinstance(k, str) else "a dimension of '...'"
                raise ShapeError(
                    f"einsum {subscripts!r}: operands of shapes {shapes} do not fit: {name} is {m} and {n}"
                )


def _without_broadcast(items: list[Labelled]) -> list[Labelled]:
    """Dimensions of length 1 dropped where another operand has the label with another length."""
    long = {k for x, labels in items for k, n in zip(labels, x.type.shape) if n != 1}
    made = []
    for x, labels in items:
        kept = [d for d, k in enumerate(labels) if x.type.shape[d] != 1 or k not in long]
        made.append(Labelled(dimshuffle(x, *kept) if len(kept) < x.ndim else x, [labels[d] for d in kept]))
    return made


# ---------------------------------------------------------------------- contracting
def _contract_all(items: list[Labelled], output: Labels) -> Labelled:
    items = list(items)
    while len(items) > 1:
        items = [_summed(item, _wanted(items, (i,), output)) for i, item in enumerate(items)]
        i, j = _cheapest(items, output)
        keep = _wanted(items, (i, j), output)
        made = Labelled(*contract(*items[i], *items[j], keep))
        items = [item for d, item in enumerate(items) if d not in (i, j)] + [made]
    return items[0]


def _wanted(items: list[Labelled], without: tuple, output: Labels) -> set:
    """The labels that the output or the other operands need."""
    return {k for d, item in enumerate(items) if d not in without for k in item.labels} | set(output)


def _summed(item: Labelled, wanted: Iterable) -> Labelled:
    """Labels that nobody else wants summed over."""
    axes = tuple([d for d, k in enumerate(item.labels) if k not in wanted])
    if not axes:
        return item
    x = sum_over(item.array, axis=axes, dtype=item.array.type.dtype)
    return Labelled(x, [k for k in item.labels if k in wanted])


def _cheapest(items: list[Labelled], output: Labels) -> tuple[int, int]:
    """The two operands to contract next: the product that adds least to what is there, then the least work."""
    sizes = {k: n for x, labels in items for k, n in zip(labels, x.type.shape) if n is not None}

    def size(labels: Iterable) -> int:
        return math.prod([sizes.get(k, UNKNOWN) for k in labels])

    def cost(i: int, j: int) -> tuple:
        every = dict.fromkeys([*items[i].labels, *items[j].labels])
        wanted = _wanted(items, (i, j), output)
        made = size(k for k in every if k in wanted)
        return made - size(items[i].labels) - size(items[j].labels), size(every), i, j

    return min(cost(i, j) for j in range(len(items)) for i in range(j))[2:]


__all__ = ["einsum"]
