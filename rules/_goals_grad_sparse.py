"""Goals of the derivatives of sparse matrices: transposes."""

from __future__ import annotations

from termgraph.rules import goal


@goal("io")
def other_format(format):
    """The format that reads the same arrays as the transpose."""
    return "csc" if format == "csr" else "csr"
