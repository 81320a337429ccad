"""The rows of `benchmarks/ops.py`: data only, one file for each part of the language."""

from . import algebra, arrays, composites, elementwise, layers, others, statistics  # noqa: F401  entered in the table
from .table import ROWS, Row

__all__ = ["ROWS", "Row"]
