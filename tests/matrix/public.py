"""The public functions, and which row is about each: a function without a row fails a test."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import termgraph.tensor as T
from scripts.reference.names import attached_by_theano
from termgraph import sparse

from . import rows  # noqa: F401  entered in the table
from .table import ROWS

SPACES = {"": T, "linalg.": T.linalg, "fft.": T.fft, "nnet.": T.nnet, "signal.": T.signal, "sparse.": sparse,
          "ndimage.": T.ndimage, "stats.": T.stats}  # fmt: skip
CONSTRUCTOR = re.compile(r"(cs[rc]_)?[bwilfdcz]?(scalar|vector|row|col|matrix|matrices|tensor\d?)s?")
NO_VALUES = {
    "about graphs, not values": "ancestors applies_between clone clone_replace equal_computations conv_prices "
    "graph_inputs explicit_graph_inputs get_test_value is_sparse",
    "make variables or ops": "as_op as_sparse as_sparse_variable as_sparse_or_tensor_variable as_tensor_variable "
    "constant shared",
    "about dtypes: tests/tensor/test_keywords.py": "can_cast finfo iinfo isdtype promote_types result_type",
    "take functions: tests/tensor/test_more_numpy.py": "apply_along_axis fromfunction mask_indices vectorize",
    "takes a function, too: tests/tensor/test_running.py": "associative_scan",
    "what as_tensor gives, in a dtype: tests/tensor/test_more_numpy.py": "array",
    "draws: tests/tensor/test_nnet_more.py": "alpha_dropout dropout gumbel_softmax",
    "about gradients: tests/grad": "grad hessian jacobian",
    "where values are computed": "transfer",
    "told by the dtype alone": "iscomplexobj isrealobj",
    "lists of the rows csm_data, csm_indices, csm_indptr and csm_shape": "csm_properties",
    "takes one matrix for each dtype of arrays: the row cast": "matrix",
}
WITHOUT_A_ROW = {name: why for why, names in NO_VALUES.items() for name in names.split()}
# Methods: Python's protocols, views of the graph, and what is an operator under another name.
METHODS_WITHOUT = """apply_op broadcastable clients clone device dtype eval get_parents index name ndim own_operators
owner site tag term to_device type transfer"""
OPERATORS = """abs add and divmod floordiv ge gt invert le lshift lt mod mul neg or pos pow rshift sub truediv xor"""


def base(name: str) -> str:
    """The function a row is about: its name without the remark."""
    return name.partition(" (")[0]


def covered() -> set[int]:
    """The identities of the functions that rows are about: names for the same function share a row."""
    named = {base(name) for name in ROWS}
    return {
        id(getattr(space, name)) for prefix, space in SPACES.items() for name in dir(space) if prefix + name in named
    }


def public(space: Any) -> Iterator[tuple[str, Any]]:
    """The public functions of a namespace; not constructors of variables, classes and modules."""
    for name in getattr(space, "__all__", None) or dir(space):
        found = getattr(space, name)
        if (
            name[0] != "_"
            and not inspect.ismodule(found)
            and not inspect.isclass(found)
            and not CONSTRUCTOR.fullmatch(name)
        ):
            yield name, found


def missing() -> list[str]:
    """Public functions and methods without a row."""
    known, rows_for = covered(), {base(name) for name in ROWS}
    gone = [
        prefix + name
        for prefix, space in SPACES.items()
        for name, found in public(space)
        if callable(found) and id(found) not in known and name not in WITHOUT_A_ROW
    ]
    methods = {n: f for n, f in vars(T.TensorVariable).items() if _is_method(n, f) and n not in METHODS_WITHOUT.split()}
    gone += [f".{n}" for n, f in methods.items() if id(f) not in known and f".{n}" not in rows_for]
    gone += [f"operator {n}" for n in OPERATORS.split() if not {f"operator {n}", f"operator {n}_"} & rows_for]
    draws = [n for n in dir(T.random.RandomStream) if n[0] != "_" and n not in ("seed", "state_updates", "updates")]
    return gone + [f"random.{n}" for n in draws if f"random.{n}" not in rows_for]


def _is_method(name: str, found: Any) -> bool:
    ours = name[0] != "_" and not attached_by_theano(found)
    return ours and (callable(found) or isinstance(found, property))
