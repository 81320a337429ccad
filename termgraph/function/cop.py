"""COp: ops that users write in C, inline or in a file with sections, with their own headers and libraries.

The code sees arrays as pointers, lengths and strides, and knows nothing of Python.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from termgraph._blake import blake2b
from termgraph._lazy import pattern
from termgraph.backends.c.build.library import build_plain
from termgraph.tensor.userop import build_node
from termgraph.tensor.variable import Apply, Variable
from termgraph.terms import userop
from termgraph.terms.op import Op
from termgraph.terms.types import TensorType

# In this order they become one C file; `code` and `code_cleanup` are the body of the function that is called.
SECTIONS = (
    "support_code", "support_code_apply", "support_code_struct", "init_code", "init_code_apply", "init_code_struct",
    "code", "code_cleanup", "cleanup_code_struct",
)  # fmt: skip
CUDA_SECTIONS = ("support_code", "code")
_QUOTES = ("<", '"')
_MARK = pattern(r"^\s*#\s*section\s+(\w+)\s*$", re.MULTILINE)
_PRELUDE = """#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
/* An array: strides count elements. */
typedef struct { void *data; int64_t ndim; const int64_t *shape, *strides; } tg_array;
/* Stop with a message, as printf takes it: the call raises RuntimeError. */
#define TG_FAIL(...) do { snprintf(error, 256, __VA_ARGS__); failed = 1; goto tg_cleanup; } while (0)
"""


_CTYPES = {"float32": "float", "float64": "double", "bool": "_Bool"}
_CTYPES |= {f"{kind}{bits}": f"{kind}{bits}_t" for kind in ("int", "uint") for bits in (8, 16, 32, 64)}


class COpError(RuntimeError):
    """What the C code of an op reported with TG_FAIL."""


class _Array(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("ndim", ctypes.c_int64),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
    ]


class COp(Op):
    """An op whose values are computed by C code. A class says what goes in and comes out, and where the code is:

    `itypes`, `otypes` (or `make_node`); `c_code`, the body as text or a dictionary of sections, or `c_file`, the path
    of a file with lines `#section name`; `c_headers` (lines after `#include`), `c_include_dirs`, `c_libraries` (`"m"`
    or `"-lm"`), `c_flags`. The body finds arrays `in[0], in[1], ...` and `out[0], ...`, each with `data`, `ndim`,
    `shape` and `strides`, inputs in row-major order. `out_shapes(*shapes)` gives the lengths of the results; without
    it they are those of the first input. With `c_strided = True` inputs come as they lie in memory, whatever their
    strides. `TG_FAIL("...", ...)` raises. Sections `support_code*` stand in front of the function, `init_code*` runs
    once before the first call, `code_cleanup` after every call, also one that failed, and `cleanup_code_struct` when
    the process ends.

    In place of all that, `c_element` is an expression for one element, of `x0`, `x1`, ... and the functions of math.h:
    inputs broadcast, and compiled functions compute it within their own loops, also on a GPU (`cuda_element` is another
    text for it there).

    `cuda_code`, or `cuda_file`, is a CUDA kernel for functions on a GPU: the body as text, or sections `support_code`
    and `code`. It finds `x0`, `x1`, ... and the result `y0` as pointers to contiguous elements, their lengths in
    `x0_shape`, ..., `y0_shape`, and the number of elements of the result in `size`. `cuda_launch(*shapes)`, given the
    shapes of inputs and result, says how many blocks of how many threads there are; without it there are enough for
    each element, up to 16 blocks per processor of the GPU.

    >>> import numpy as np, termgraph as tg, termgraph.tensor as T
    >>> class Steps(tg.COp):
    ...     __props__ = ()
    ...     itypes, otypes = [T.dvector], [T.dvector]
    ...     c_code = '''
    ...         const double *x = in[0].data;
    ...         double *y = out[0].data;
    ...         for (int64_t i = 0; i < in[0].shape[0]; i++) y[i] = x[i] >= 0;
    ...     '''
    >>> x = T.dvector("x")
    >>> tg.function([x], Steps()(x) * 2)([-1.0, 3.0])
    array([0., 2.])
    """

    kind = "kernel"  # it is compiled already: linker="c" takes it as it is
    c_code: Any = None
    c_file: str | os.PathLike[str] | None = None
    c_element: str | None = None
    c_strided = False
    cuda_code: Any = None
    cuda_file: str | os.PathLike[str] | None = None
    cuda_element: str | None = None
    c_headers: Sequence[str] = ()
    c_include_dirs: Sequence[str] = ()
    c_libraries: Sequence[str] = ()
    c_flags: Sequence[str] = ()

    def make_node(self, *inputs: Variable) -> Apply:
        """An Apply by `itypes` and `otypes`."""
        return build_node(self, inputs)

    def out_shapes(self, *shapes: tuple[int, ...]) -> Sequence[tuple[int, ...]]:
        """The lengths of the results for inputs of these lengths."""
        return [shapes[0] if self.c_element is None else np.broadcast_shapes(*shapes)] * self.nout

    def cuda_launch(self, *shapes: tuple[int, ...]) -> Any:
        """(blocks, threads of a block), each a number or up to three; None: by the number of elements of the result."""
        return None

    # ------------------------------------------------------------------ the code
    def cuda_sections(self) -> dict[str, str]:
        """The CUDA text of each section, with `#line` marks that name its file; empty if there is none."""
        if self.cuda_code is not None and self.cuda_file is not None:
            raise TypeError(f"{type(self).__name__} must define one of cuda_code and cuda_file, not both")
        if self.cuda_file is not None:
            parts = _from_file(os.path.abspath(os.fspath(self.cuda_file)), CUDA_SECTIONS)
        else:
            parts = _marked(self.cuda_code, f"{type(self).__name__}.cuda_code", CUDA_SECTIONS)
        if parts and "code" not in parts:
            raise ValueError(f"{type(self).__name__}: the CUDA text has no section code, the body of the kernel")
        return parts

    def sections(self) -> dict[str, str]:
        """The C text of each section, with `#line` marks that name its file."""
        if [self.c_code, self.c_file, self.c_element].count(None) != 2:
            raise TypeError(f"{type(self).__name__} must define one of c_code, c_file and c_element")
        if self.c_element is not None:
            return {"code": self._loop_over_elements()}
        if self.c_file is not None:
            return _from_file(os.path.abspath(os.fspath(self.c_file)), SECTIONS)
        return _marked(self.c_code, f"{type(self).__name__}.c_code", SECTIONS)

    def _loop_over_elements(self) -> str:
        """The body that an expression for one element stands for."""
        node = userop.node_for(self, next(iter(self._tc)))
        if len(node.outputs) != 1:
            raise TypeError(f"{type(self).__name__}.c_element computes one result, the op has {len(node.outputs)}")
        names = [f"x{i}" for i in range(len(node.inputs))]
        types = [_ctype(self, v.type) for v in (*node.inputs, *node.outputs)]
        reads = [f"const {c} *in_{x} = in[{i}].data;" for i, (c, x) in enumerate(zip(types, names))]
        values = [f"const {c} {x} = in_{x}[i];" for c, x in zip(types, names)]
        count = "int64_t count = 1; for (int64_t d = 0; d < out[0].ndim; d++) count *= out[0].shape[d];"
        head = [*reads, f"{types[-1]} *made = out[0].data;", count, "for (int64_t i = 0; i < count; i++) {", *values]
        return "\n".join([*head, f'#line 1 "{type(self).__name__}.c_element"', f"made[i] = {self.c_element};", "}"])

    @property
    def source(self) -> str:
        """The C file that is compiled."""
        parts = self.sections()
        headers = [*self.c_headers, *(["math.h"] if self.c_element is not None else [])]
        includes = "".join(f"#include {h if h[:1] in _QUOTES else '<' + h + '>'}\n" for h in headers)
        support = [parts[s] for s in SECTIONS[:3] if s in parts]
        run = _function("tg_call", [parts[s] for s in ("code",) if s in parts], [parts.get("code_cleanup", "")])
        start = _function("tg_start", [parts[s] for s in SECTIONS[3:6] if s in parts])
        stop = _function("tg_stop", [parts.get("cleanup_code_struct", "")])
        return "\n".join([_PRELUDE, includes, *support, start, run, stop])

    def compiled(self) -> Any:
        """The C function, built or taken from the cache when first needed."""
        if "_called" not in self.__dict__:
            self._called = self._build()
        return self._called

    def _build(self) -> Any:
        libraries = [name if name.startswith("-") else f"-l{name}" for name in self.c_libraries]
        folders = [f"-I{os.path.abspath(d)}" for d in self.c_include_dirs]
        if self.c_file is not None:
            folders.append(f"-I{os.path.dirname(os.path.abspath(os.fspath(self.c_file)))}")
        library = build_plain(
            [self.source], type(self).__name__, flags=(*self.c_flags, *folders), libraries=(*libraries, "-lm"),
            parts={"headers": _headers_digest(folders)},
        )  # fmt: skip
        error = ctypes.create_string_buffer(256)
        if library.handle.tg_start(None, None, error):
            raise COpError(f"{self}: {error.value.decode(errors='replace')}")
        if "cleanup_code_struct" in self.sections():
            atexit.register(library.handle.tg_stop, None, None, error)
        return library.handle.tg_call

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[Any]]) -> None:
        """Run the C function on new arrays for the results; other threads go on meanwhile."""
        shapes = self.out_shapes(*[v.shape for v in inputs])
        if self.c_element is not None:
            inputs = np.broadcast_arrays(*inputs)
        given = [v if not v.ndim or self._takes(v) else np.ascontiguousarray(v) for v in inputs]
        made = [np.empty(shape, v.type.np_dtype) for shape, v in zip(shapes, node.outputs, strict=True)]
        error = ctypes.create_string_buffer(256)
        if self.compiled()(_arrays(given), _arrays(made), error):
            raise COpError(error.value.decode(errors="replace"))
        for cell, value in zip(output_storage, made):
            cell[0] = value

    def _takes(self, v: np.ndarray) -> bool:
        """Whether the code can read an array as it lies: by strides that are whole elements, if it has said so."""
        return self.c_strided and v.flags.aligned and all(s % v.itemsize == 0 for s in v.strides)

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k not in ("_called", "_elements")}


def _ctype(op: COp, type_: TensorType) -> str:
    found = _CTYPES.get(type_.dtype)
    if found is None:
        raise TypeError(f"{type(op).__name__}.c_element: there is no C type for elements of {type_.dtype}")
    return found


def _function(name: str, body: Sequence[str], cleanup: Sequence[str] = ()) -> str:
    return "\n".join([
        f'#line 1 "{name}"', f"int {name}(const tg_array *in, tg_array *out, char *error)", "{", "int failed = 0;", "{",
        *body, "}", "tg_cleanup: ;", "{", *cleanup, "}", "return failed;", "}",
    ])  # fmt: skip


def _arrays(values: Sequence[np.ndarray]) -> Any:
    """The arrays as C sees them; lengths and strides live as long as the result."""
    table: Any = (_Array * max(len(values), 1))()
    table.kept = []
    for entry, v in zip(table, values):
        n = v.ndim
        lengths = (ctypes.c_int64 * max(n, 1))(*v.shape)
        strides = (ctypes.c_int64 * max(n, 1))(*[s // v.itemsize for s in v.strides])
        table.kept += [lengths, strides]
        entry.data, entry.ndim, entry.shape, entry.strides = v.ctypes.data, n, lengths, strides
    return table


def _marked(code: str | Mapping[str, str] | None, where: str, known: Sequence[str]) -> dict[str, str]:
    """The sections of text or a dictionary."""
    given = code if isinstance(code, Mapping) else {} if code is None else {"code": code}
    _refuse_unknown(given, where, known)
    owner = where.partition(".")[0]
    return {name: f'#line 1 "{owner}.{name}"\n{text}' for name, text in given.items()}


def _from_file(path: str, known: Sequence[str]) -> dict[str, str]:
    """The sections of a file; the lines keep their numbers."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    marks = list(_MARK.finditer(text))
    if not marks:
        return {"code": f'#line 1 "{path}"\n{text}'}
    _refuse_unknown([m[1] for m in marks], path, known)
    out: dict[str, str] = {}
    for m, following in zip(marks, [*marks[1:], None]):
        end = len(text) if following is None else following.start()
        line = text.count("\n", 0, m.end()) + 2
        out[m[1]] = out.get(m[1], "") + f'#line {line} "{path}"\n{text[m.end() + 1 : end]}\n'
    return out


def _refuse_unknown(names: Iterable[str], where: str, known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            raise ValueError(f"{where}: there is no section {name!r}; the sections are {', '.join(known)}")


def _headers_digest(folders: Sequence[str]) -> str:
    """What the user's header files contain: code that includes them depends on it."""
    h = blake2b(digest_size=16)
    for folder in folders:
        for name in sorted(os.listdir(folder[2:])) if os.path.isdir(folder[2:]) else ():
            if name.endswith((".h", ".inc")):
                with open(os.path.join(folder[2:], name), "rb") as file:
                    h.update(name.encode() + b"\0" + file.read())
    return h.hexdigest()
