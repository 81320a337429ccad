"""Words for what functions of the language take: arrays or what becomes one, dtypes, axes, shapes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from termgraph.tensor.variable import TensorVariable, Variable

# A variable, an array, a number, or lists of these: what `T.as_tensor` takes.
TensorLike: TypeAlias = "Variable | npt.ArrayLike | Sequence[TensorLike]"
# What an element-wise function takes: no lists of variables.
Operand: TypeAlias = "Variable | npt.ArrayLike"
# "float32", np.float32, float; or None, for what the function does without one.
DTypeLike: TypeAlias = "npt.DTypeLike | None"
# An axis, several, or None: all of them, or what the function does without one.
AxisLike: TypeAlias = "int | Sequence[int] | None"
# A length, or several; a length may be computed.
ShapeLike: TypeAlias = "int | Variable | np.ndarray[Any, Any] | Sequence[int | Variable | None] | None"
# What surrounds the images of a convolution: a word, a width, or one width (or pair of them) for each dimension.
BorderMode: TypeAlias = "str | int | Sequence[int | Sequence[int]]"
# New values of shared variables, or what variables are replaced by: a dictionary or pairs.
Pairs: TypeAlias = "Mapping[Any, Any] | Iterable[tuple[Any, Any]] | None"
# One length: a number, or a scalar that is computed.
Length: TypeAlias = "int | TensorVariable"
