"""First values of parameters: arrays of random numbers whose spread keeps signals from growing or dying out.

All take a NumPy generator and a shape: (inputs, outputs) for products, (outputs, inputs, rows, columns) for filters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def fans(shape: Sequence[int]) -> tuple[int, int]:
    """How many numbers come into one output, and how many outputs one input goes to."""
    if len(shape) < 2:
        raise ValueError(
            f"the shape of weights has at least two dimensions, got {tuple(shape)}; start biases with zeros"
        )
    if len(shape) == 2:
        return shape[0], shape[1]
    window = math.prod(shape[2:])
    return shape[1] * window, shape[0] * window


def glorot_uniform(rng: np.random.Generator, shape: Sequence[int], dtype: npt.DTypeLike = "float64") -> np.ndarray:
    """Uniform, variance 2 / (inputs + outputs): for tanh and sigmoid.

    >>> import numpy as np
    >>> from termgraph import train
    >>> w = train.glorot_uniform(np.random.default_rng(0), (3, 2), "float32")
    >>> w.shape, w.dtype, bool(abs(w).max() <= np.sqrt(6 / 5))
    ((3, 2), dtype('float32'), True)
    """
    return _uniform(rng, shape, 2 / sum(fans(shape)), dtype)


def glorot_normal(rng: np.random.Generator, shape: Sequence[int], dtype: npt.DTypeLike = "float64") -> np.ndarray:
    """Normal, variance 2 / (inputs + outputs): for tanh and sigmoid.

    >>> import numpy as np
    >>> from termgraph import train
    >>> train.glorot_normal(np.random.default_rng(0), (200, 300)).std().round(3)
    np.float64(0.063)
    """
    return _normal(rng, shape, 2 / sum(fans(shape)), dtype)


def he_uniform(rng: np.random.Generator, shape: Sequence[int], dtype: npt.DTypeLike = "float64") -> np.ndarray:
    """Uniform, variance 2 / inputs: for relu.

    >>> import numpy as np
    >>> from termgraph import train
    >>> train.he_uniform(np.random.default_rng(0), (8, 3, 5, 5)).shape
    (8, 3, 5, 5)
    """
    return _uniform(rng, shape, 2 / fans(shape)[0], dtype)


def he_normal(rng: np.random.Generator, shape: Sequence[int], dtype: npt.DTypeLike = "float64") -> np.ndarray:
    """Normal, variance 2 / inputs: for relu.

    >>> import numpy as np
    >>> from termgraph import train
    >>> train.he_normal(np.random.default_rng(0), (200, 300)).std().round(2)
    np.float64(0.1)
    """
    return _normal(rng, shape, 2 / fans(shape)[0], dtype)


def lecun_normal(rng: np.random.Generator, shape: Sequence[int], dtype: npt.DTypeLike = "float64") -> np.ndarray:
    """Normal, variance 1 / inputs: for selu, and for outputs that are not bent.

    >>> import numpy as np
    >>> from termgraph import train
    >>> train.lecun_normal(np.random.default_rng(0), (400, 300)).std().round(2)
    np.float64(0.05)
    """
    return _normal(rng, shape, 1 / fans(shape)[0], dtype)


def orthogonal(
    rng: np.random.Generator, shape: Sequence[int], gain: float = 1.0, dtype: npt.DTypeLike = "float64"
) -> np.ndarray:
    """A random matrix with orthonormal rows or columns, times `gain`: for recurrent weights.

    >>> import numpy as np
    >>> from termgraph import train
    >>> w = train.orthogonal(np.random.default_rng(0), (4, 4))
    >>> bool(np.allclose(w @ w.T, np.eye(4)))
    True
    """
    fans(shape)
    rows, columns = shape[0], math.prod(shape[1:])
    q, r = np.linalg.qr(rng.normal(size=(max(rows, columns), min(rows, columns))))
    q = q * np.sign(np.diagonal(r))  # else signs would not be random
    return (gain * (q if rows >= columns else q.T)).reshape(shape).astype(dtype)


def _uniform(rng: np.random.Generator, shape: Sequence[int], variance: float, dtype: npt.DTypeLike) -> np.ndarray:
    limit = math.sqrt(3 * variance)
    return rng.uniform(-limit, limit, shape).astype(dtype)


def _normal(rng: np.random.Generator, shape: Sequence[int], variance: float, dtype: npt.DTypeLike) -> np.ndarray:
    return rng.normal(0, math.sqrt(variance), shape).astype(dtype)
