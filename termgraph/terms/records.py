"""Records: graphs and values as lists of plain data, each naming only earlier ones; what files of `tg.save` hold.

A `Kind` says how objects of some classes become the fields of a record and how they are made of them again. Reading
makes new objects, looks ops up in the op table and changes nothing that exists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from termgraph.terms.dtypes import DTYPES, numpy_dtype
from termgraph.terms.errors import TermgraphError


class BadRecord(TermgraphError, ValueError):
    """A record that is not one, or an object that no record can hold."""


class Kind(NamedTuple):
    """One kind of record: its name, the classes it stands for, how to write and how to read its fields."""

    name: str
    classes: tuple[type, ...]
    write: Callable[[Writer, Any], Sequence[Any]]
    read: Callable[..., Any]  # (reader, *fields) -> object
    suits: Callable[[Any], bool] | None = None  # whether an object is of this kind, where classes do not tell


INLINE = (bool, int, str, type(None))  # what stands in a field as itself; everything else by number, as [number]


class Writer:
    """Collects the records and arrays of what is written. `value` gives what stands for an object in a field."""

    def __init__(self, kinds: Sequence[Kind]) -> None:
        self.kinds = {cls: kind for kind in kinds for cls in kind.classes}
        self.others = [kind for kind in kinds if kind.suits is not None]
        self.records: list[list[Any]] = []
        self.arrays: list[np.ndarray] = []
        self.later: list[Callable[[], None]] = []  # what refers back to an object that had to be written before it
        self._number: dict[int, int] = {}
        self._kept: list[Any] = []  # so that the ids stay true
        self._open: set[int] = set()

    def value(self, obj: object) -> Any:
        """What stands for the object: itself, or `[number]` of its record."""
        return obj if obj.__class__ in INLINE else [self.number(obj)]

    def values(self, objs: Iterable[Any]) -> list[Any]:
        """What stands for each of the objects."""
        return [self.value(obj) for obj in objs]

    def numbers(self, objs: Iterable[Any]) -> list[int]:
        """The records of the objects."""
        return [self.number(obj) for obj in objs]

    def knows(self, obj: object) -> bool:
        """Whether the object has a record already."""
        return id(obj) in self._number

    def number(self, obj: object) -> int:
        """The record of the object, written now if it was not before."""
        found = self._number.get(id(obj))
        if found is not None:
            return found
        kind = self._kind_of(obj)
        if id(obj) in self._open:
            raise BadRecord(f"a {type(obj).__name__} that holds itself cannot be saved")
        self._open.add(id(obj))
        try:
            fields = kind.write(self, obj)
        finally:
            self._open.discard(id(obj))
        return self._number[id(obj)] if self.knows(obj) else self.add(obj, kind.name, *fields)

    def add(self, obj: object, kind: str, *fields: object) -> int:
        """Append a record, which stands for the object from here on."""
        self._number[id(obj)] = number = len(self.records)
        self._kept.append(obj)
        self.records.append([kind, *fields])
        return number

    def same(self, obj: object, other: object) -> None:
        """The record of `other` stands for the object too."""
        self._number[id(obj)] = self.number(other)
        self._kept.append(obj)

    def finish(self) -> None:
        """Write what was put off."""
        while self.later:
            self.later.pop()()

    def _kind_of(self, obj: object) -> Kind:
        for cls in type(obj).__mro__:
            kind = self.kinds.get(cls)
            if kind is not None:
                return kind
        for kind in self.others:
            if kind.suits is not None and kind.suits(obj):
                return kind
        raise BadRecord(f"a {type(obj).__module__}.{type(obj).__qualname__} cannot be saved: {obj!r:.60}")


class Reader:
    """Makes the objects of records again. `named` holds what the file may name, by (module, qualified name)."""

    def __init__(
        self, kinds: Iterable[Kind], arrays: Sequence[np.ndarray], named: Mapping[tuple[str, str], Any]
    ) -> None:
        self.kinds = {kind.name: kind for kind in kinds}
        self.arrays, self.named = arrays, named
        self.objects: list[Any] = []

    def read(self, records: list[Any]) -> None:
        """Make one object per record."""
        for i, record in enumerate(self.plain(records, list)):
            name = record[0] if isinstance(record, list) and record else None
            kind = self.kinds.get(name) if isinstance(name, str) else None
            if kind is None:
                raise BadRecord(f"record {i} is of no known kind: {record!r:.60}")
            try:
                self.objects.append(kind.read(self, *record[1:]))
            except BadRecord:
                raise
            except Exception as error:  # a file may hold anything: whatever it trips over, the file is to blame
                raise BadRecord(f"record {i} ({name}): {type(error).__name__}: {error}") from error

    def value(self, field: object, *classes: type) -> Any:
        """The object that a field stands for, of one of these classes if any are given."""
        if field.__class__ is list:
            found = self.at(field[0]) if len(field) == 1 else self._wrong(field, "a reference")
        else:
            found = self.plain(field, *INLINE)
        if classes and not isinstance(found, classes):
            self._wrong(found, " or ".join(c.__name__ for c in classes))
        return found

    def values(self, fields: list[Any]) -> list[Any]:
        """The objects that a list of fields stands for."""
        return [self.value(field) for field in self.plain(fields, list)]

    def at(self, number: object, *classes: type) -> Any:
        """The object of an earlier record."""
        if number.__class__ is not int or not 0 <= number < len(self.objects):
            raise BadRecord(f"record {len(self.objects)} refers to {number!r:.40}, which is no earlier record")
        found = self.objects[number]
        if classes and not isinstance(found, classes):
            self._wrong(found, " or ".join(c.__name__ for c in classes))
        return found

    def plain(self, field: object, *classes: type) -> Any:
        """The field itself, which must be of exactly one of these classes."""
        if field.__class__ not in classes:
            self._wrong(field, " or ".join(c.__name__ for c in classes))
        return field

    def _wrong(self, found: object, expected: str) -> Any:
        raise BadRecord(f"record {len(self.objects)}: expected {expected}, got {type(found).__name__} {found!r:.40}")


# ---------------------------------------------------------------------- numbers, texts and containers


def _read_float(r: Reader, text: object) -> float:
    return float.fromhex(r.plain(text, str))


def _read_complex(r: Reader, real: object, imag: object) -> complex:
    return complex(_read_float(r, real), _read_float(r, imag))


def _read_bytes(r: Reader, text: object) -> bytes:
    return bytes.fromhex(r.plain(text, str))


def _read_slice(r: Reader, *parts: object) -> slice:
    start, stop, step = map(r.value, parts)
    return slice(start, stop, step)


def _sequence(w: Writer, xs: Sequence[Any]) -> list[Any]:
    if type(xs) not in (tuple, list, set, frozenset):
        raise BadRecord(f"a {type(xs).__qualname__} cannot be saved; make it a {type(xs).__mro__[1].__name__}")
    return [w.values(sorted(xs, key=repr) if isinstance(xs, (set, frozenset)) else xs)]


def _read_sequence(make: Callable[[list[Any]], Any]) -> Callable[..., Any]:
    return lambda r, fields: make(r.values(fields))


def _read_mapping(r: Reader, pairs: list[Any]) -> dict[str, Any]:
    return {r.value(k): r.value(v) for k, v in r.plain(pairs, list)}


# ---------------------------------------------------------------------- arrays
def _array(w: Writer, x: np.ndarray) -> list[Any]:
    if x.dtype.name not in DTYPES:
        raise BadRecord(f"an array of dtype {x.dtype} cannot be saved; the dtypes are {', '.join(DTYPES)}")
    w.arrays.append(x)
    return [len(w.arrays) - 1]


def _read_array(r: Reader, number: int) -> np.ndarray:
    if r.plain(number, int) not in range(len(r.arrays)):
        raise BadRecord(f"there is no array {number}")
    return r.arrays[number].copy()


def _scalar(w: Writer, x: np.generic) -> list[Any]:
    return [x.dtype.name, x.astype(numpy_dtype(x.dtype.name)).tobytes().hex()]


def _read_scalar(r: Reader, dtype: str, raw: object) -> Any:
    return np.frombuffer(_read_bytes(r, raw), read_dtype(r, dtype))[0]


def read_dtype(r: Reader, name: str | None) -> np.dtype:
    """The dtype of that name, one of those that tensors have."""
    if r.plain(name, str) not in DTYPES:
        raise BadRecord(f"no dtype {name!r:.40}")
    return numpy_dtype(name)


# ---------------------------------------------------------------------- what is found by name


def read_named(r: Reader, module: object, name: Any) -> Any:
    """What the reader knows by that name; nothing is imported."""
    key = (r.plain(module, str), r.plain(name, str))
    if key not in r.named:
        raise BadRecord(
            f"the file names {module:.60}.{name:.60}, which is not part of a graph; if you know it and trust the file, "
            f"pass allow=[{name.split('.')[-1]:.60}] to load"
        )
    return r.named[key]


def plain_kinds() -> list[Kind]:
    """Numbers, texts, containers, arrays, and what is found by name."""
    return [
        Kind("float", (float,), lambda w, x: [x.hex()], _read_float),
        Kind("complex", (complex,), lambda w, x: [x.real.hex(), x.imag.hex()], _read_complex),
        Kind("bytes", (bytes,), lambda w, x: [x.hex()], _read_bytes),
        Kind("slice", (slice,), lambda w, x: w.values((x.start, x.stop, x.step)), _read_slice),
        Kind("tuple", (tuple,), _sequence, _read_sequence(tuple)),
        Kind("list", (list,), _sequence, _read_sequence(list)),
        Kind("set", (set,), _sequence, _read_sequence(set)),
        Kind("frozenset", (frozenset,), _sequence, _read_sequence(frozenset)),
        Kind("dict", (dict,), lambda w, xs: [[[w.value(k), w.value(v)] for k, v in xs.items()]], _read_mapping),
        Kind("array", (np.ndarray,), _array, _read_array),
        Kind("scalar", (np.generic,), _scalar, _read_scalar),
        Kind("dtype", (np.dtype,), lambda w, x: [x.name], read_dtype),
        Kind("named", (type, type(plain_kinds)), lambda w, x: [x.__module__, x.__qualname__], read_named),
    ]
