"""theano.Op: ops written for Theano, in Python or with C code. May import the tensor language and `ccode`."""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Sequence
from typing import Any

from termgraph.tensor.variable import Apply
from termgraph.terms.op import Op as NativeOp
from termgraph.theano.ccode import CannotCompile, c_function, macros, sections_of
from termgraph.theano.tools import MethodNotDefined


class _AnyOp(type(NativeOp)):  # type: ignore[misc]
    """`isinstance(op, theano.Op)` holds for every op."""

    def __instancecheck__(cls, obj: object) -> bool:
        return isinstance(obj, NativeOp) if cls.__dict__.get("_is_base") else type.__instancecheck__(cls, obj)


class Op(NativeOp, metaclass=_AnyOp):
    """An op written by a user: `make_node` (or `itypes` and `otypes`), and `perform` or `c_code` or both.

    C code is compiled where a compiler and the headers of Python and NumPy are found. Where it cannot be, `perform` is
    used after one warning; without `perform` calling the function raises.
    """

    _is_base = True

    def __init_subclass__(cls, **options: Any) -> None:
        if "_is_base" not in cls.__dict__:
            cls._is_base = False
        has_code, python = _defines(cls, "c_code"), getattr(cls, "perform", None)
        if has_code and "c_code" in cls.__dict__ or has_code and "perform" in cls.__dict__:
            cls._python = None if getattr(python, "runs_c_code", False) else python
            cls.perform = _by_c
        super().__init_subclass__(**options)


def _defines(cls: type, method: str) -> bool:
    return any(method in base.__dict__ for base in cls.__mro__)


def _by_c(self: Any, node: Apply, inputs: Sequence[Any], output_storage: list, params: Any = None) -> None:
    """Run the op's C code, or its Python code where that cannot be compiled."""
    runs = self.__dict__.setdefault("_called", {})
    key = tuple([v.type for v in node.inputs])
    run = runs.get(key)
    if run is None:
        run = runs[key] = _runner(self, node)
    run(inputs, output_storage)


_by_c.runs_c_code = True  # type: ignore[attr-defined]
_told: set[type] = set()


def _runner(op: Any, node: Apply) -> Any:
    python = type(op)._python
    try:
        return c_function(op, node)
    except (CannotCompile, MethodNotDefined, NotImplementedError) as err:
        if python is None:
            raise CannotCompile(f"{op} has C code that cannot be compiled here, and no perform: {err}") from None
        if not isinstance(err, MethodNotDefined) and type(op) not in _told:
            _told.add(type(op))
            warnings.warn(f"{op} runs in Python: {err}", stacklevel=3)
        return lambda inputs, storage: python(op, node, inputs, storage)


PureOp = CLinkerOp = CLinkerObject = Op
ops_with_inner_function: dict[Any, str] = {}


class OpenMPOp(Op):
    """An op whose C code may use OpenMP: it is compiled with `-fopenmp` if it asks for it."""

    _is_base = False

    def __init__(self, openmp: bool | None = None) -> None:
        self.openmp = bool(openmp)

    def c_compile_args(self) -> list[str]:
        """The option of the compiler."""
        return ["-fopenmp"] if self.openmp else []

    def c_headers(self) -> list[str]:
        """The header of OpenMP."""
        return ["omp.h"] if self.openmp else []

    def update_self_openmp(self) -> None:
        """Accepted: nothing has to be found out."""


class COp(Op):
    """An op whose C code is in files with sections: `super().__init__(files, function)`."""

    _is_base = False
    func_files: Sequence[str] = ()
    func_name: str | None = None

    def __init__(self, func_files: Any, func_name: str | None = None) -> None:
        listed = [func_files] if isinstance(func_files, str) else list(func_files)
        self.func_files = [self.get_path(f) for f in listed]
        self.func_name = func_name
        self.code_sections: dict[str, str] = {}
        for path in self.func_files:
            for name, text in sections_of(path).items():
                self.code_sections[name] = self.code_sections.get(name, "") + "\n" + text
        if (func_name is None) == ("code" not in self.code_sections):
            raise ValueError(f"{type(self).__name__}: give the name of a function, or a section 'code' in the file")

    @classmethod
    def get_path(cls, f: str) -> str:
        """The path of a file beside the module of the class."""
        if os.path.isabs(f):
            return f
        return os.path.join(os.path.dirname(inspect.getfile(cls)), f)

    def _section(self, name: str) -> str:
        if name not in self.code_sections:
            raise MethodNotDefined(name)
        return self.code_sections[name]

    def _applied(self, section: str, node: Apply, name: str) -> str:
        text = self._section(section)
        on, off = macros(self, node, name)
        return on + text + off

    def c_support_code(self) -> str:
        """The section of the same name."""
        return self._section("support_code")

    def c_support_code_apply(self, node: Apply, name: str) -> str:
        """The section of the same name."""
        return self._applied("support_code_apply", node, name)

    def c_support_code_struct(self, node: Apply, name: str) -> str:
        """The section of the same name."""
        return self._applied("support_code_struct", node, name)

    def c_init_code_struct(self, node: Apply, name: str, sub: dict) -> str:
        """The section of the same name."""
        on, off = macros(self, node, name)
        return f"{on}\n#define FAIL {sub['fail']}\n{self._section('init_code_struct')}\n#undef FAIL\n{off}"

    def c_code(self, node: Apply, name: str, inputs: Sequence[str], outputs: Sequence[str], sub: dict) -> str:
        """A call of the function, or the section `code`."""
        on, off = macros(self, node, name)
        for kind, names in (("INPUT", inputs), ("OUTPUT", outputs)):
            on += "".join(f"#define {kind}_{i} {v}\n" for i, v in enumerate(names))
            off += "".join(f"#undef {kind}_{i}\n" for i in range(len(names)))
        if self.func_name is None:
            return f"{on}\n#define FAIL {sub['fail']}\n{self.code_sections['code']}\n#undef FAIL\n{off}"
        arguments = ", ".join([*inputs, *[f"&{v}" for v in outputs]])
        return f"{on}\n{{ if ({self.func_name}({arguments}) != 0) {{ {sub['fail']} }} }}\n{off}"


def simple_meth(tag: str) -> Any:
    """A method that gives a section."""
    return lambda self: self._section(tag)


def apply_meth(tag: str) -> Any:
    """A method that gives a section with the macros of an application."""
    return lambda self, node, name: self._applied(tag, node, name)
