"""Files of functions and graphs: `save` writes one, `load` makes new objects of it and runs or imports nothing.

A file is a mark, a digest, a manifest in JSON (records, see `terms.records`) and raw arrays.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from termgraph._blake import blake2b
from termgraph._files import replacing
from termgraph.function.records import kinds
from termgraph.function.saving import SavedFunctionError
from termgraph.terms.dtypes import DTYPES, numpy_dtype
from termgraph.terms.graph_records import library_names
from termgraph.terms.records import BadRecord, Reader, Writer

if TYPE_CHECKING:
    from termgraph.function.compiled import Function

MARK = b"termgraph file 2\n"
OLD_MARK = b"termgraph file 1\n"
_DIGEST = 20
_HEAD = len(MARK) + _DIGEST + 8  # then the manifest, whose length are the last 8 of these
_ALIGNED = 64
_LARGEST = 1 << 58  # elements of an array; NumPy refuses more, even where a length is zero


def save(obj: Function, path: str | os.PathLike[str]) -> None:
    """Write a function, a shared variable, a graph, or a list, tuple or dictionary of them, to a file.

    >>> import tempfile, termgraph as tg, termgraph.tensor as T
    >>> x = T.dscalar("x")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tg.save(tg.function([x], x * 2), folder + "/double.tg")
    ...     f = tg.load(folder + "/double.tg")
    >>> float(f(3))
    6.0
    """
    if isinstance(obj, (str, os.PathLike)) and not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"save: the path comes last; write tg.save(thing, {os.fspath(obj)!r})")
    data = packed(*_written(obj))
    with replacing(path) as file:
        file.write(data)


def load(path: str | os.PathLike[str], allow: Iterable[Any] = ()) -> Function | Any:
    """What `save` wrote. A file from elsewhere can do no more than make arrays, types and expressions.

    `allow` lists what else the file may name: classes of ops and types of yours, functions wrapped by `as_op` (or these
    ops themselves), exception classes of checks. They are used as they are in this program; nothing is imported.
    """
    with open(path, "rb") as file:
        data = file.read()
    given = {_name_of(thing): thing for thing in allow}
    try:
        manifest, arrays = unpacked(data)
        reader = Reader(kinds(), arrays, {**library_names(), **given})
        reader.read(manifest["records"])
        return reader.value(manifest["root"])
    except SavedFunctionError as error:
        raise SavedFunctionError(f"{os.fspath(path)}: {error}") from None
    except BadRecord as error:
        raise SavedFunctionError(f"{os.fspath(path)}: {error}") from error.__cause__
    except (KeyError, TypeError, RecursionError) as error:  # of the manifest around the records
        raise SavedFunctionError(f"{os.fspath(path)}: its manifest makes no sense ({error!r:.80})") from error


def _written(obj: Function) -> tuple[dict[str, Any], list[np.ndarray]]:
    writer = Writer(kinds())
    try:
        root = writer.value(obj)
        writer.finish()
    except BadRecord as error:
        raise SavedFunctionError(f"save: {error}") from None
    except RecursionError:
        raise SavedFunctionError("save: lists or dictionaries are nested too deeply") from None
    return {"records": writer.records, "root": root}, writer.arrays


def _name_of(thing: object) -> tuple[str, str]:
    function = getattr(thing, "function", thing)  # an op made by as_op stands for its function
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if not module or not name:
        raise TypeError(f"load(allow=...): expected classes, functions or ops made by as_op, got {thing!r:.60}")
    return module, name


# ---------------------------------------------------------------------- bytes
def packed(manifest: dict[str, Any], arrays: list[np.ndarray]) -> bytes:
    """A file of a manifest and arrays, each of which begins at a multiple of 64 bytes."""
    described = [[a.dtype.name, list(a.shape)] for a in arrays]
    text = json.dumps({**manifest, "arrays": described}, separators=(",", ":"), allow_nan=False).encode()
    parts = [len(text).to_bytes(8, "little"), text]
    size = _HEAD + len(text)
    for a in arrays:
        raw = a.astype(numpy_dtype(a.dtype.name), copy=False).tobytes()
        parts += [bytes(-size % _ALIGNED), raw]
        size += -size % _ALIGNED + len(raw)
    body = b"".join(parts)
    return MARK + blake2b(body, digest_size=_DIGEST).digest() + body


def unpacked(data: bytes) -> tuple[dict[str, Any], list[np.ndarray]]:
    """The manifest and the arrays (read-only, on the bytes themselves) of a file."""
    if data.startswith(OLD_MARK):
        raise SavedFunctionError(
            "this file was written by an earlier version of termgraph, as a pickle, which can run code when read; "
            "make the function again from its expressions and save it with tg.save(f, path)"
        )
    if not data.startswith(MARK):
        raise SavedFunctionError(f"not a file of tg.save in this version: it starts with {data[:17]!r}")
    body = data[len(MARK) + _DIGEST :]
    if blake2b(body, digest_size=_DIGEST).digest() != data[len(MARK) : len(MARK) + _DIGEST]:
        raise SavedFunctionError("the file is damaged: its content does not have the digest that it was saved with")
    length = int.from_bytes(body[:8], "little")
    if length > len(body) - 8:
        raise SavedFunctionError("the file is damaged: it ends within its manifest")
    manifest = _parsed(body[8 : 8 + length])
    return manifest, _arrays(data, _HEAD + length, manifest.get("arrays"))


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        manifest = json.loads(text.decode(), parse_float=_no_number, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise SavedFunctionError(f"its manifest is no JSON of tg.save: {error!s:.80}") from None
    if not isinstance(manifest, dict):
        raise SavedFunctionError("its manifest is no JSON object")
    return manifest


def _no_number(text: str) -> Any:
    raise ValueError(f"the number {text:.20}, where floats are written in hexadecimal")


def _arrays(data: bytes, start: int, described: object) -> list[np.ndarray]:
    """The arrays described, one behind the other from `start` on."""
    made = []
    if not isinstance(described, list):
        raise SavedFunctionError("its manifest does not describe its arrays")
    for entry in described:
        dtype, shape = _described(entry)
        start += -start % _ALIGNED
        if prod(shape) * dtype.itemsize > len(data) - start:
            raise SavedFunctionError(f"it ends within an array of shape {tuple(shape)!s:.80}")
        array = np.frombuffer(data, dtype, prod(shape), start) if prod(shape) else np.empty(0, dtype)
        made.append(_truths(array).reshape(shape))
        start += array.nbytes
    return made


def _described(entry: object) -> tuple[np.dtype, list[int]]:
    dtype, shape = entry if isinstance(entry, list) and len(entry) == 2 else (None, None)
    lengths = isinstance(shape, list) and len(shape) <= 64 and all(type(n) is int and n >= 0 for n in shape)
    if dtype not in DTYPES or not lengths or prod(max(n, 1) for n in shape or []) >= _LARGEST:
        raise SavedFunctionError(f"its manifest describes an array as {entry!r:.60}")
    return numpy_dtype(dtype), list(shape or ())


def _truths(array: np.ndarray) -> np.ndarray:
    """Bytes of a bool array are 0 or 1: compiled code counts on it."""
    return array.view(np.uint8) != 0 if array.dtype == bool else array
