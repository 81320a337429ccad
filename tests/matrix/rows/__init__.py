"""The table: importing this enters every row."""

from . import arrays, elementwise, indexing, networks, others, products, reductions, statistics, windows  # noqa: F401
