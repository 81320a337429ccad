"""The NumPy-like language: variables, constructors and functions. `import termgraph.tensor as T`.

Names are NumPy's where NumPy has them and Theano's where the seeds use them. Each module below exports its `__all__`
(or `EXPORTS`, when the list is made) here, and may give variables methods through a `METHODS` table.
"""

from importlib import import_module as _import_module

from numpy import e as e
from numpy import euler_gamma as euler_gamma
from numpy import inf as inf
from numpy import nan as nan
from numpy import newaxis as newaxis
from numpy import pi as pi

from termgraph.tensor.variable import TensorVariable
from termgraph.terms import facts as _facts
from termgraph.terms import relational as _relational  # noqa: F401  kanren understands terms from here on
from termgraph.terms import serial as _serial  # noqa: F401  and pickle writes them
from termgraph.terms.types import TensorType as TensorType

_MODULES = (
    "variable",
    "pickling",
    "wrap",
    "constructors",
    "operators",
    "numpys",
    "elemwise",
    "assuming",
    "reductions",
    "shaping",
    "creation",
    "joining",
    "indexing",
    "sharedvar",
    "updates",
    "graph",
    "userop",
    "checks",
    "testvalues",
    "random",
    "selecting",
    "sorting",
    "products",
    "padding",
    "convolution",
    "einstein",
    "placing",
    "grids",
)
_NAMESPACES = ("linalg", "nnet", "signal", "fft")  # used as T.linalg.solve, T.nnet.relu, T.fft.rfft

for _name in _MODULES:
    _module = _import_module(f"termgraph.tensor.{_name}")
    for _public in (*getattr(_module, "__all__", ()), *getattr(_module, "EXPORTS", ())):
        globals()[_public] = getattr(_module, _public)
    for _method, _function in getattr(_module, "METHODS", {}).items():
        setattr(TensorVariable, _method, _function)
for _name in _NAMESPACES:
    globals()[_name] = _import_module(f"termgraph.tensor.{_name}")
nlinalg = slinalg = globals()["linalg"]  # Theano's names
_facts.users_begin()
