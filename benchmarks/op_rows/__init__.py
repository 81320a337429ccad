"""The rows of `benchmarks/ops.py`: data only, one file for each part of the language."""

from . import algebra, arrays, composites, elementwise, layers, others, spectra, statistics  # noqa: F401
from .table import ROWS, Row

__all__ = ["ROWS", "Row"]
