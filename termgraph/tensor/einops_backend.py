"""What einops has to know of variables: it asks the subclasses of its `AbstractBackend`, so there must be one.

Variables are made known as soon as one is made in a process that has imported einops.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from termgraph.tensor.creation import arange
from termgraph.tensor.einstein import einsum
from termgraph.tensor.joining import concatenate, stack, tile
from termgraph.tensor.shaping import expand_dims
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.types import TensorType


@functools.cache
def introduce() -> type:
    """Make variables known to einops, once; gives the backend's class."""
    base: Any = import_module("einops._backends").AbstractBackend

    class TermgraphBackend(base):
        framework_name = "termgraph"

        def is_appropriate_type(self, tensor: object) -> bool:
            return isinstance(tensor, TensorVariable)

        def is_float_type(self, x: TensorVariable) -> bool:
            return x.type.kind in "fc"

        def from_numpy(self, x: object) -> TensorVariable:
            return as_tensor(x)

        def to_numpy(self, x: TensorVariable) -> object:
            return x.eval()

        def create_symbol(self, shape: Sequence[int | None]) -> object:
            return TensorType("float64", tuple(shape))()

        def eval_symbol(self, symbol: TensorVariable, symbol_value_pairs: Sequence[tuple]) -> object:
            return symbol.eval(dict(symbol_value_pairs))

        def arange(self, start: int, stop: int) -> TensorVariable:
            return arange(start, stop)

        def shape(self, x: TensorVariable) -> tuple:
            return tuple([x.shape[i] if n is None else n for i, n in enumerate(x.type.shape)])

        def stack_on_zeroth_dimension(self, tensors: list) -> TensorVariable:
            return stack(tensors)

        def tile(self, x: TensorVariable, repeats: Sequence) -> TensorVariable:
            return tile(x, repeats)

        def concat(self, tensors: list, axis: int) -> TensorVariable:
            return concatenate(tensors, axis=axis)

        def add_axis(self, x: TensorVariable, new_position: int) -> TensorVariable:
            return expand_dims(x, new_position)

        def einsum(self, pattern: str, *x: TensorVariable) -> TensorVariable:
            return einsum(pattern, *x)

    return TermgraphBackend
