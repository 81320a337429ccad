"""Rows of unequal lengths that lie one after the other in a vector, as those of sparse matrices do.

Also for derivative rules.
"""

from __future__ import annotations

from typing import Any

import termgraph.tensor
from termgraph.terms.ops.sparse import csm_majors
from termgraph.terms.sparse import INDEX

T: Any = termgraph.tensor


def expanded(rows: Any, indptr: Any) -> tuple[Any, Any, Any]:
    """The elements of the named rows, one row after the other.

    For each, which of `rows` it belongs to, and where it is; and where each row begins among them, and the end.
    """
    starts = indptr[rows]
    ends = T.cumsum(T.cast(indptr[rows + 1] - starts, "int64"))
    begins = T.concatenate([T.zeros((1,), "int64"), ends])
    n = begins[-1]
    which = csm_majors(T.zeros((n,), INDEX), T.cast(begins, INDEX))
    return which, T.arange(n) + (starts - begins[:-1])[which], begins
