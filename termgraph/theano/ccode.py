"""C code written for Theano's ops, compiled: each application becomes a C function over the arrays of NumPy's C API.

Needs a C compiler and the headers of Python and NumPy; `CannotCompile` says which of them is missing. May import the C
backend.
"""

from __future__ import annotations

import ctypes
import os
import re
import sysconfig
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from termgraph.backends.c.build.compilers import find_compiler
from termgraph.backends.c.build.library import build_plain
from termgraph.tensor.variable import Apply
from termgraph.terms.types import TensorType
from termgraph.theano.tools import MethodNotDefined

_MARK = re.compile(r"^\s*#\s*section\s+(\w+)\s*$", re.MULTILINE)
SECTIONS = (
    "init_code", "init_code_apply", "init_code_struct", "support_code", "support_code_apply", "support_code_struct",
    "cleanup_code_struct", "code", "code_cleanup",
)  # fmt: skip


class CannotCompile(NotImplementedError):
    """C code that cannot be compiled here, and why."""


def c_function(op: Any, node: Apply) -> Callable[[Sequence[Any], list], None]:
    """The op's C code for the types of one application, as a function of values and output storage."""
    for v in (*node.inputs, *node.outputs):
        if not isinstance(v.type, TensorType):
            raise CannotCompile(f"{op}: C code is compiled for arrays only, not for {v.type}")
    text, options = _source(op, node)
    run = _built(type(op).__name__, text, **options).tg_theano
    run.argtypes, run.restype = [ctypes.py_object, ctypes.py_object], ctypes.c_int

    def call(inputs: Sequence[Any], output_storage: list) -> None:
        values = [np.asarray(v) for v in inputs]
        if run(values, output_storage):
            raise RuntimeError(f"{op}: the C code failed")  # it has set no exception of its own

    return call


def _built(name: str, text: str, headers: list, folders: list, libraries: list, flags: list) -> Any:
    include = sysconfig.get_paths()["include"]
    if find_compiler() is None:
        raise CannotCompile(f"{name}: there is no C compiler; see `termgraph doctor`")
    if not os.path.exists(os.path.join(include, "Python.h")):
        raise CannotCompile(f"{name}: the headers of Python ({include}/Python.h) are missing")
    paths = [f"-I{d}" for d in (include, np.get_include(), *folders)]
    library = build_plain([text], name, flags=(*paths, *flags, "-w"), libraries=(*libraries, "-lm"), defined=False)
    handle = ctypes.PyDLL(library.handle._name)  # holds the GIL and looks for exceptions, as this code needs
    if handle.tg_theano_start():
        raise CannotCompile(f"{name}: NumPy's C interface could not be loaded")
    return handle


# ---------------------------------------------------------------------- the text
def _source(op: Any, node: Apply) -> tuple[str, dict[str, list]]:
    inputs = [f"V{2 * i + 1}" for i in range(len(node.inputs))]
    outputs = [f"V{2 * (len(inputs) + i) + 1}" for i in range(len(node.outputs))]
    name = "node_0"
    sub = {"fail": "{ if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, \"the C code failed\"); goto fail; }",
           "params": "PARAMS"}  # fmt: skip
    say = _Says(op)
    body = op.c_code(node, name, inputs, outputs, sub)
    parts = {
        "headers": "\n".join(f"#include {h if h[:1] in '<' + chr(34) else f'<{h}>'}" for h in say("c_headers")),
        "support": "\n".join([
            say.text("c_support_code"), _dtypes(node, inputs, outputs), say.text("c_support_code_apply", node, name),
            say.text("c_support_code_struct", node, name),
        ]),
        "init": "\n".join([say.text("c_init_code"), say.text("c_init_code_apply", node, name)]),
        "start": say.text("c_init_code_struct", node, name, sub),
        "cleanup": say.text("c_code_cleanup", node, name, inputs, outputs, sub),
    }  # fmt: skip
    options = {
        "headers": [], "folders": say("c_header_dirs"),
        "libraries": [*[f"-L{d}" for d in say("c_lib_dirs")], *[f"-l{x}" for x in say("c_libraries")]],
        "flags": say("c_compile_args"),
    }  # fmt: skip
    return _TEMPLATE.format(
        **parts, body=body, declare=_declared(inputs, outputs), keep=_kept(outputs), drop=_dropped(inputs, outputs)
    ), options


_TEMPLATE = """#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <numpy/arrayobject.h>
{headers}
{support}
static int tg_started = 0;
static int tg_array(void) {{ import_array1(-1); return 0; }}
int tg_theano_start(void) {{ if (tg_array()) return 1; {{ {init} }} return 0; }}
int tg_theano(PyObject *tg_in, PyObject *tg_out)
{{
    int tg_failed = 1;
    {declare}
    if (!tg_started) {{ tg_started = 1; {start} }}
    {{
{body}
    }}
    {{
{cleanup}
    }}
    tg_failed = 0;
    {keep}
fail:
    {drop}
    return PyErr_Occurred() ? -1 : tg_failed;
}}
"""


class _Says:
    """What an op's optional methods say; a method that is missing, or raises MethodNotDefined, says nothing."""

    def __init__(self, op: Any) -> None:
        self.op = op

    def __call__(self, method: str) -> list:
        found = self._ask(method)
        return [found] if isinstance(found, str) else list(found or ())

    def text(self, method: str, *arguments: object) -> str:
        """A method's text."""
        return self._ask(method, *arguments) or ""

    def _ask(self, method: str, *arguments: object) -> Any:
        try:
            return getattr(self.op, method)(*arguments)
        except (MethodNotDefined, AttributeError):
            return None


def _dtypes(node: Apply, inputs: Sequence[str], outputs: Sequence[str]) -> str:
    """`dtype_V1` for the elements of V1, as C code of Theano's ops writes them."""
    types = [v.type.dtype for v in (*node.inputs, *node.outputs)]
    return "\n".join(f"typedef npy_{d} dtype_{v};" for d, v in zip(types, (*inputs, *outputs), strict=True))


def _declared(inputs: Sequence[str], outputs: Sequence[str]) -> str:
    """The arrays: inputs are borrowed from their list, outputs are what the storage holds from an earlier call."""
    lines = [f"PyArrayObject *{v} = (PyArrayObject *)PyList_GET_ITEM(tg_in, {i});" for i, v in enumerate(inputs)]
    lines += [f"Py_INCREF({v});" for v in inputs]
    for i, v in enumerate(outputs):
        lines.append(f"PyArrayObject *{v} = (PyArrayObject *)PyList_GET_ITEM(PyList_GET_ITEM(tg_out, {i}), 0);")
        lines.append(f"if ((PyObject *){v} == Py_None) {v} = NULL; else Py_INCREF({v});")
    return "\n    ".join(lines)


def _kept(outputs: Sequence[str]) -> str:
    lines = []
    for i, v in enumerate(outputs):
        lines.append(
            f"if ({v}) {{ Py_INCREF({v}); PyList_SetItem(PyList_GET_ITEM(tg_out, {i}), 0, (PyObject *){v}); }}"
        )
    return "\n    ".join(lines)


def _dropped(inputs: Sequence[str], outputs: Sequence[str]) -> str:
    return " ".join(f"Py_XDECREF({v});" for v in (*inputs, *outputs))


# ---------------------------------------------------------------------- code in files with sections
def sections_of(path: str) -> dict[str, str]:
    """The sections of a C file, marked by lines `#section name`; a file without marks is support code."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    marks = list(_MARK.finditer(text))
    if not marks:
        return {"support_code": text}
    found: dict[str, str] = {}
    for mark, after in zip(marks, [*marks[1:], None]):
        if mark[1] not in SECTIONS:
            raise ValueError(f"{path}: there is no section {mark[1]!r}; the sections are {', '.join(SECTIONS)}")
        found[mark[1]] = found.get(mark[1], "") + text[mark.end() : after.start() if after else len(text)]
    return found


def macros(op: Any, node: Apply, name: str) -> tuple[str, str]:
    """The macros that code in files is written with, and their removal."""
    lines = [f"#define APPLY_SPECIFIC(str) str##_{name}"]
    for kind, variables in (("INPUT", node.inputs), ("OUTPUT", node.outputs)):
        for i, v in enumerate(variables):
            if isinstance(v.type, TensorType):
                lines.append(f"#define DTYPE_{kind}_{i} npy_{v.type.dtype}")
                lines.append(f"#define TYPENUM_{kind}_{i} {v.type.np_dtype.num}")
                lines.append(f"#define ITEMSIZE_{kind}_{i} {v.type.np_dtype.itemsize}")
    for prop in getattr(op, "__props__", ()):
        value = getattr(op, prop)
        if isinstance(value, (bool, int)):
            lines.append(f"#define {prop.upper()} {int(value)}")
    undone = [f"#undef {line.split()[1].partition('(')[0]}" for line in lines]
    return "\n".join(lines) + "\n", "\n" + "\n".join(undone) + "\n"
