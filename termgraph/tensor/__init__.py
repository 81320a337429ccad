"""The NumPy-like language: variables, constructors and functions. `import termgraph.tensor as T`.

Names are NumPy's where NumPy has them and Theano's where the seeds use them. Each module below exports its `__all__`
(or `EXPORTS`, when the list is made) here, and may give variables methods through a `METHODS` table.
"""

from importlib import import_module as _import_module
from types import ModuleType as _ModuleType

from numpy import e as e
from numpy import euler_gamma as euler_gamma
from numpy import inf as inf
from numpy import nan as nan
from numpy import newaxis as newaxis
from numpy import pi as pi

from termgraph.tensor.protocols import ABOVE as _ABOVE
from termgraph.tensor.protocols import no_such_function as _no_such_function
from termgraph.tensor.protocols import refuse_in as _refuse_in
from termgraph.tensor.variable import TensorVariable
from termgraph.terms import facts as _facts
from termgraph.terms import relational as _relational  # noqa: F401  kanren understands terms from here on
from termgraph.terms import serial as _serial  # noqa: F401  and pickle writes them
from termgraph.terms.ops import fft as _fft  # noqa: F401  ops of namespaces that come later are no user's
from termgraph.terms.ops import pooling as _pooling  # noqa: F401
from termgraph.terms.ops import resampling as _resampling  # noqa: F401
from termgraph.terms.ops import triangles as _triangles  # noqa: F401
from termgraph.terms.types import TensorType as TensorType

_MODULES = (
    "variable", "pickling", "wrap", "constructors", "operators", "numpys", "protocols", "elemwise", "assuming",
    "reductions", "shaping", "creation", "joining", "indexing", "sharedvar", "updates", "graph", "userop", "checks",
    "testvalues", "random", "selecting", "sorting", "products", "padding", "convolution", "einstein", "placing",
    "grids", "joined", "arranging", "array_api", "nans", "quantiles", "histograms", "statistics", "sets", "polynomials",
    "windows", "inserting", "comparing", "running", "special", "segments",
)  # fmt: skip
_NAMESPACES = ("linalg",)  # used as T.linalg.solve
_LATER = ("nnet", "signal", "fft", "ndimage", "stats")  # namespaces that are imported when somebody asks for them

for _name in _MODULES:
    _module = _import_module(f"termgraph.tensor.{_name}")
    for _public in (*getattr(_module, "__all__", ()), *getattr(_module, "EXPORTS", ())):
        globals()[_public] = getattr(_module, _public)
    for _method, _function in getattr(_module, "METHODS", {}).items():
        setattr(TensorVariable, _method, _function)
for _name in _NAMESPACES:
    _module = globals()[_name] = _import_module(f"termgraph.tensor.{_name}")
    for _method, _function in getattr(_module, "METHODS", {}).items():
        setattr(TensorVariable, _method, _function)
    _module.__dict__.setdefault("__getattr__", _refuse_in(f".{_name}"))
nlinalg = slinalg = globals()["linalg"]  # Theano's names


def __getattr__(name: str) -> object:
    if name in _LATER:
        return _import_module(f"termgraph.tensor.{name}")  # which is an attribute from then on
    if name in _ABOVE:
        return _ABOVE[name]()
    raise _no_such_function(name)


def __dir__() -> list[str]:
    spaces = {*_NAMESPACES, *_LATER, "nlinalg", "slinalg", "random"}
    names = [n for n, value in globals().items() if n in spaces or not isinstance(value, _ModuleType)]
    return sorted({*names, *_LATER, *_ABOVE})


_facts.users_begin()
