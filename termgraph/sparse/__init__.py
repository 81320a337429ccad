"""Sparse matrices, with the names of Theano's `theano.sparse`: `s = tg.sparse.csr_matrix("s")`.

Values are SciPy's CSR and CSC matrices. `variable.py` has the variables, `parts.py` takes them apart into arrays, and
the rest is written on these arrays.
"""

from importlib import import_module as _import_module

from termgraph.terms.sparse import SparseType as SparseType

for _name in ("variable", "parts", "basic", "products", "structured", "selecting", "operators"):
    _module = _import_module(f"termgraph.sparse.{_name}")
    for _public in (*getattr(_module, "__all__", ()), *getattr(_module, "EXPORTS", ())):
        globals()[_public] = getattr(_module, _public)
