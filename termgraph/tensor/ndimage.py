"""T.ndimage: arrays of any rank read at other places, and filters of neighbours, with scipy.ndimage's names."""

from __future__ import annotations

from termgraph.tensor.extremes import maximum_filter, maximum_filter1d, minimum_filter, minimum_filter1d
from termgraph.tensor.moving import affine_transform, rotate, shift, zoom
from termgraph.tensor.neighbourhoods import (
    convolve,
    convolve1d,
    correlate,
    correlate1d,
    gaussian_filter,
    gaussian_filter1d,
    gaussian_gradient_magnitude,
    gaussian_laplace,
    laplace,
    prewitt,
    sobel,
    uniform_filter,
    uniform_filter1d,
)
from termgraph.tensor.places import map_coordinates
from termgraph.tensor.protocols import refuse_in

__all__ = [
    "affine_transform", "convolve", "convolve1d", "correlate", "correlate1d", "gaussian_filter", "gaussian_filter1d",
    "gaussian_gradient_magnitude", "gaussian_laplace", "laplace", "map_coordinates", "maximum_filter",
    "maximum_filter1d", "minimum_filter", "minimum_filter1d", "prewitt", "rotate", "shift", "sobel", "uniform_filter",
    "uniform_filter1d", "zoom",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__


globals()["__getattr__"] = refuse_in(".ndimage")  # type checkers shall not believe that any name is there
