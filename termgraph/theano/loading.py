"""theano.misc, theano.tensor.io and theano.compat: files, containers and other small things. May import function."""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import subprocess
import sys
import tempfile
import textwrap
import zipfile
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, Any, Literal

import numpy as np

import termgraph.tensor as T
from termgraph.tensor.likes import DTypeLike, TensorLike
from termgraph.tensor.variable import Apply, TensorVariable
from termgraph.terms.op import Op
from termgraph.terms.types import TensorType, dtype_name

PY3 = True
BytesIO = io.BytesIO
izip, imap, ifilter = zip, map, filter


class DefaultOrderedDict(defaultdict):
    """A dictionary with a default, in order of insertion."""


def cmp(x: Any, y: Any) -> int:
    """-1, 0 or 1, as x is below, equal to or above y."""
    return (x > y) - (x < y)


def exc_message(e: BaseException) -> Any:
    """What an exception says."""
    return e.args[0]


def operator_div(a: Any, b: Any) -> Any:
    """a / b."""
    return a / b


# ---------------------------------------------------------------------- arrays
def _asarray(a: TensorLike, dtype: DTypeLike, order: Literal["K", "A", "C", "F"] | None = None) -> np.ndarray:
    """The array in exactly this dtype; "floatX" is the flag's."""
    return np.asarray(a, dtype=dtype_name(dtype), order=order)


def may_share_memory(a: TensorLike, b: TensorLike, raise_other_type: bool = True) -> bool:
    """Whether two arrays may lie in the same memory."""
    both = isinstance(a, np.ndarray), isinstance(b, np.ndarray)
    if not all(both) and raise_other_type:
        raise TypeError("may_share_memory takes two arrays")
    return all(both) and np.may_share_memory(a, b)


def hash_from_ndarray(data: np.ndarray) -> str:
    """A hash of an array's type, shape and content."""
    text = f"{data.dtype}{data.shape}{data.strides}".encode()
    return hashlib.sha256(text + np.ascontiguousarray(data).tobytes()).hexdigest()


def hash_from_sparse(data: Any) -> str:
    """A hash of a sparse matrix."""
    return "".join(hash_from_ndarray(v) for v in (data.data, data.indices, data.indptr, np.asarray(data.shape)))


# ---------------------------------------------------------------------- containers
class OrderedSet(dict):
    """A set in order of insertion."""

    def __init__(self, iterable: Iterable[Any] | None = None) -> None:
        super().__init__(dict.fromkeys(iterable or ()))

    def add(self, key: TensorLike) -> None:
        """Put an item in."""
        self[key] = None

    def discard(self, key: TensorLike) -> None:
        """Take an item out, if it is there."""
        self.pop(key, None)

    remove = dict.__delitem__

    def update(self, iterable: Iterable[Any]) -> None:  # type: ignore[override]
        """Put several items in."""
        super().update(dict.fromkeys(iterable))

    def union(self, other: Iterable[Any]) -> OrderedSet:
        """The items of both."""
        return OrderedSet([*self, *other])

    def intersection_update(self, other: Iterable[Any]) -> None:
        """Keep what the other holds too."""
        kept = set(other)
        for k in [k for k in self if k not in kept]:
            del self[k]

    def difference_update(self, other: Iterable[Any]) -> None:
        """Take out what the other holds."""
        for k in other:
            self.pop(k, None)

    def copy(self) -> OrderedSet:
        """Another set of the same items."""
        return OrderedSet(self)

    def pop(self, *args: object) -> Any:
        """Take the last item out, or a given one."""
        return super().pop(*args) if args else self.popitem()[0]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, OrderedSet):
            return list(self) == list(other)
        return set(self) == other

    __hash__ = None

    def __repr__(self) -> str:
        return f"OrderedSet({list(self)!r})"


def check_deterministic(iterable: Iterable) -> None:
    """Refuse what has no order of its own."""
    if isinstance(iterable, (set, frozenset)):
        raise TypeError("expected something with an order, got a set")


class frozendict(Mapping):
    """A dictionary that does not change and can be a key."""

    dict_cls: type = dict

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._dict = self.dict_cls(*args, **kwargs)

    def __getitem__(self, key: object) -> Any:
        return self._dict[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._dict)

    def __len__(self) -> int:
        return len(self._dict)

    def copy(self, **add_or_replace: Any) -> frozendict:
        """Another one, with changes."""
        return type(self)(self._dict, **add_or_replace)

    def __hash__(self) -> int:
        return hash(frozenset(self._dict.items()))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._dict!r}>"


class FrozenOrderedDict(frozendict):
    """A frozendict in order of insertion."""

    dict_cls = OrderedDict


# ---------------------------------------------------------------------- files
class PersistentNdarrayID:
    """Writes arrays into a zip file, by number."""

    def __init__(self, zip_file: zipfile.ZipFile) -> None:
        self.zip_file, self.count = zip_file, 0
        self.seen: dict[int, tuple] = {}

    def __call__(self, obj: Any) -> Any:
        if type(obj) is not np.ndarray:
            return None
        if id(obj) not in self.seen:
            self.seen[id(obj)] = (self._store(obj, self._name(obj)), obj)
        return self.seen[id(obj)][0]

    def _name(self, obj: np.ndarray) -> str:
        self.count += 1
        return f"array_{self.count - 1}"

    def _store(self, array: TensorLike, name: str) -> str:
        with self.zip_file.open(f"{name}.npy", "w") as file:
            np.lib.format.write_array(file, np.ascontiguousarray(array), allow_pickle=False)
        return f"ndarray.{name}.npy"


class PersistentSharedVariableID(PersistentNdarrayID):
    """Names arrays of shared variables after these."""

    def __init__(self, zip_file: zipfile.ZipFile, allow_unnamed: bool = True, allow_duplicates: bool = True) -> None:
        super().__init__(zip_file)
        self.names: dict[int, str] = {}

    def note(self, variables: Iterable[Any]) -> None:
        """Remember whose arrays these are."""
        for v in variables:
            if v.name and v.name not in self.names.values():
                self.names[id(v.get_value(borrow=True))] = v.name

    def _name(self, obj: np.ndarray) -> str:
        return self.names.get(id(obj)) or super()._name(obj)


class PersistentNdarrayLoad:
    """Reads arrays from a zip file."""

    def __init__(self, zip_file: zipfile.ZipFile) -> None:
        self.zip_file = zip_file
        self.cache: dict[str, Any] = {}

    def __call__(self, persid: str) -> Any:
        if persid not in self.cache:
            with self.zip_file.open(persid.partition(".")[2]) as file:
                self.cache[persid] = np.lib.format.read_array(file, allow_pickle=False)
        return self.cache[persid]


Pickler = pickle.Pickler


class StripPickler(pickle.Pickler):
    """A pickler; what Theano strips from variables is not written in any case."""

    def __init__(self, file: IO[bytes], protocol: int = 0, extra_tag_to_remove: Any = None) -> None:
        super().__init__(file, protocol)


def dump(
    obj: Any, file_handler: str | IO[bytes], protocol: int = 2, persistent_id: Any = PersistentSharedVariableID
) -> None:
    """Write an object into a zip file, arrays as .npy files that NumPy reads too.

    Arrays of shared variables get the names of these.
    """
    with zipfile.ZipFile(file_handler, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as archive:
        identify = persistent_id(archive)
        if hasattr(identify, "note"):
            identify.note(_shared_variables(obj))
        with tempfile.TemporaryFile() as file:
            pickler = pickle.Pickler(file, protocol)
            pickler.persistent_id = identify  # type: ignore[method-assign]
            pickler.dump(obj)
            file.seek(0)
            archive.writestr("pkl", file.read())


def _shared_variables(obj: TensorVariable | tuple) -> list:
    if isinstance(obj, T.SharedVariable):
        return [obj]
    if isinstance(obj, Mapping):
        obj = list(obj.values())
    return [v for item in obj for v in _shared_variables(item)] if isinstance(obj, (list, tuple)) else []


def load(f: str | IO[bytes], persistent_load: Any = PersistentNdarrayLoad) -> Any:
    """Read what `dump` wrote. The file is a pickle: only load files that you trust."""
    with zipfile.ZipFile(f, "r") as archive:
        unpickler = pickle.Unpickler(archive.open("pkl"))
        unpickler.persistent_load = persistent_load(archive)  # type: ignore[method-assign]
        return unpickler.load()


class CompatUnpickler(pickle.Unpickler):
    """Reads pickles of Python 2: text in them is latin-1."""

    def __init__(self, file: IO[bytes], **options: Any) -> None:
        super().__init__(file, encoding=options.pop("encoding", "latin1"), **options)


@contextmanager
def min_recursion(n: int = 8000) -> Iterator[None]:
    """A block with a higher limit of recursion, which termgraph's graphs do not need."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, n))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


class LoadFromDisk(Op):
    """An array read from a file of NumPy's when the function runs."""

    __props__ = ("dtype", "broadcastable", "mmap_mode")

    def __init__(self, dtype: DTypeLike, broadcastable: Sequence[bool], mmap_mode: Literal["c"] | None = None) -> None:
        if mmap_mode not in (None, "c"):
            raise ValueError(f"mmap_mode must be None or 'c', got {mmap_mode!r}")
        self.dtype, self.broadcastable, self.mmap_mode = np.dtype(dtype).name, tuple(broadcastable), mmap_mode

    def make_node(self, path: str) -> Any:
        """The path, as bytes in a constant vector."""
        text = np.frombuffer(str(path).encode(), dtype=np.uint8)
        type_ = TensorType(self.dtype, tuple([1 if b else None for b in self.broadcastable]))
        return T.Apply(self, [T.as_tensor(text)], [type_()])

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: list) -> None:
        """Read the file."""
        path = inputs[0].tobytes().decode()
        found = np.load(path, mmap_mode=self.mmap_mode)
        if found.dtype.name != self.dtype:
            raise TypeError(f"{path} holds {found.dtype}, expected {self.dtype}")
        output_storage[0][0] = np.asarray(found)


def _load_array(
    path: str, dtype: DTypeLike, broadcastable: Sequence[bool], mmap_mode: Literal["c"] | None = None
) -> Any:
    """The array of a .npy file, read at each call."""
    return LoadFromDisk(dtype, broadcastable, mmap_mode)(path)


class DoubleOp(Op):
    """Theano's example of an op: twice its operand."""

    __props__ = ()

    def make_node(self, x: TensorLike) -> Any:
        """The Apply on an array."""
        x = T.as_tensor(x)
        return T.Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: list) -> None:
        """Double it."""
        output_storage[0][0] = inputs[0] * 2

    def infer_shape(self, node: Apply, i0_shapes: Sequence) -> Any:
        """The shape of the operand."""
        return i0_shapes

    def grad(self, inputs: TensorLike, output_grads: Sequence[TensorVariable]) -> list:
        """Twice the gradient."""
        return [output_grads[0] * 2]


# ---------------------------------------------------------------------- processes and texts
def subprocess_Popen(command: str | Sequence[str], **params: Any) -> Any:
    """A process."""
    return subprocess.Popen(command, **params)


def call_subprocess_Popen(command: str | Sequence[str], **params: Any) -> int:
    """The exit code of a process whose output is thrown away."""
    return subprocess.run(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, **params
    ).returncode


def output_subprocess_Popen(command: str | Sequence[str], **params: Any) -> tuple:
    """Output, errors and exit code of a process."""
    done = subprocess.run(command, capture_output=True, check=False, **params)
    return done.stdout, done.stderr, done.returncode


def cpuCount() -> int:
    """The number of processors."""
    return os.cpu_count() or 1


def render_string(string: str, sub: Mapping[str, Any]) -> str:
    """A text with `%(name)s` filled in."""
    return string % sub


def strip_leading_white_space(lines: list[str]) -> list[str]:
    """Lines without what all of them begin with."""
    return textwrap.dedent("\n".join(lines)).split("\n")


def pretty_format(string: str) -> str:
    """A text without the spaces that all lines begin with."""
    return textwrap.dedent(string).strip("\n")


__all__ = ["Callable"]
