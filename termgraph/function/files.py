"""Files of functions and graphs: `save` writes one, `load` reads it without running anything that the file names.

A file is a mark and a pickle. Reading admits only what graphs are made of (listed below) and what the caller allows.
"""

from __future__ import annotations

import io
import os
import pickle
from collections.abc import Callable, Iterable
from typing import Any

from termgraph.function.saving import SavedFunctionError
from termgraph.terms import serial

MARK = b"termgraph file 1\n"

# What pickles of functions and graphs name: constructors that only store what they are given.
_ADMITTED: dict[str, str] = {
    "builtins": "set frozenset complex slice range bytearray",
    "collections": "OrderedDict",
    "copyreg": "_reconstructor",
    "numpy": "ndarray dtype",
    "numpy._core.multiarray": "_reconstruct scalar",
    "numpy._core.numeric": "_frombuffer",
    "numpy.core.multiarray": "_reconstruct scalar",
    "numpy.core.numeric": "_frombuffer",
    "scipy.sparse._csc": "csc_matrix csc_array",
    "scipy.sparse._csr": "csr_matrix csr_array",
    "termgraph.debug.checked": "DebugMode",
    "termgraph.debug.nanguard": "NanGuardMode",
    "termgraph.function.mode": "Mode",
    "termgraph.function.saving": "restored",
    "termgraph.tensor.pickling": "rebuild_variable",
    "termgraph.tensor.random": "RandomStream",
    "termgraph.tensor.sharedvar": "Container SharedVariable TensorSharedVariable ScalarSharedVariable _unpickle",
    "termgraph.tensor.variable": "Variable TensorVariable Constant TensorConstant",
    "termgraph.terms.errors": "CheckError",
    "termgraph.terms.op": "find_op",
    "termgraph.terms.serial": "loads_flat",
    "termgraph.terms.leaves": "Arg Const Input Lit _leaf_of",
    "termgraph.terms.sparse": "SparseType",
    "termgraph.terms.types": "TensorType TupleType",
}
_PLAIN = {(module, name) for module, names in _ADMITTED.items() for name in names.split()}


def save(obj: Any, path: str | os.PathLike) -> None:
    """Write a function, a shared variable, a graph, or a list, tuple or dictionary of them, to a file.

    >>> import tempfile, termgraph as tg, termgraph.tensor as T
    >>> x = T.dscalar("x")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tg.save(tg.function([x], x * 2), folder + "/double.tg")
    ...     f = tg.load(folder + "/double.tg")
    >>> float(f(3))
    6.0
    """
    data = MARK + pickle.dumps(obj, protocol=5)
    aside = f"{os.fspath(path)}.{os.getpid()}.part"
    try:
        with open(aside, "wb") as file:
            file.write(data)
        os.replace(aside, path)  # never half a file under the name that was asked for
    finally:
        if os.path.exists(aside):
            os.unlink(aside)


def load(path: str | os.PathLike, allow: Iterable[Any] = ()) -> Any:
    """What `save` wrote. A file from elsewhere can do no more than build arrays, types and expressions.

    `allow` lists what else the file may name: classes of ops and types of yours, functions wrapped by `as_op` (or these
    ops themselves), exception classes of checks. They are used as they are in this program; nothing is imported.
    """
    with open(path, "rb") as file:
        data = file.read()
    if not data.startswith(MARK):
        raise SavedFunctionError(
            f"{os.fspath(path)} is not a file of tg.save in this version: it starts with {data[:17]!r}"
        )
    read = _reader(allow)
    token = serial.unpickle.set(read)
    try:
        return read(data[len(MARK) :])
    finally:
        serial.unpickle.reset(token)


def _reader(allow: Iterable[Any]) -> Callable[[bytes], Any]:
    """A `pickle.loads` that finds nothing but what is admitted."""
    given = {_name_of(thing): thing for thing in allow}

    def by_name(module: str, name: str, *_: Any) -> Any:
        if (module, name) not in given:
            raise _refusal(module, name)
        return given[module, name]

    class Reader(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            if (module, name) in given:
                return given[module, name]
            if module == "termgraph.tensor.userop" and name in ("_find", "_find_or_make"):
                return by_name  # ops made by as_op travel by name: importing the module would run it
            if given and (module, name) in _FOR_USERS:
                return super().find_class(module, name)
            if (module, name) not in _PLAIN:
                raise _refusal(module, name)
            return super().find_class(module, name)

    return lambda data: Reader(io.BytesIO(data)).load()


# What rebuilds ops and types of users, whose classes are asked for by name themselves.
_FOR_USERS = {("termgraph.terms.userop", "rebuild"), ("termgraph.tensor.userop", "FromFunctionOp")}


def _name_of(thing: Any) -> tuple[str, str]:
    function = getattr(thing, "function", thing)  # an op made by as_op stands for its function
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if not module or not name:
        raise TypeError(f"load(allow=...): expected classes, functions or ops made by as_op, got {thing!r:.60}")
    return module, name


def _refusal(module: str, name: str) -> SavedFunctionError:
    return SavedFunctionError(
        f"the file names {module}.{name}, which is not part of a graph; if you know it and trust the file, pass "
        f"allow=[{name.split('.')[0]}] to load"
    )
