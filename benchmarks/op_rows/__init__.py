"""The rows of `benchmarks/ops.py`: data only, one file for each part of the language."""

from . import (  # noqa: F401  entered in the table
    algebra,
    arrays,
    composites,
    elementwise,
    layers,
    others,
    spectra,
    statistics,
)
from .table import ROWS, Row

__all__ = ["ROWS", "Row"]
