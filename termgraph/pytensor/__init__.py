"""Programs of PyTensor, PyMC's among them, on termgraph: `import termgraph.pytensor`, then `mode="TERMGRAPH"`.

    import termgraph.pytensor
    f = pytensor.function([x], y, mode="TERMGRAPH")
    pytensor.config.mode = "TERMGRAPH"                       # for everything
    pm.sample(compile_kwargs=dict(mode="TERMGRAPH"))         # PyMC's own sampler
    termgraph.pytensor.logp_and_grad(model)                  # converts the log-probability, differentiates by our rules
    termgraph.pytensor.from_pytensor(v), to_pytensor(term)   # graphs alone, there and back

`conversion.py` is the driver; the tables of what becomes what are `elementwise.py`, `arrays.py`, `indices.py`,
`linear.py` and `loops.py`. Only this package imports PyTensor.
"""

try:
    import pytensor as _pytensor  # noqa: F401
except ImportError as error:
    raise ImportError(
        "termgraph.pytensor runs PyTensor's graphs, and PyTensor is not installed; "
        "install it with: pip install 'termgraph[pytensor]'"
    ) from error

from termgraph.pytensor import arrays, calls, elementwise, indices, linear, loops  # noqa: F401  they fill the table
from termgraph.pytensor.conversion import BridgeError, Conversion
from termgraph.pytensor.graphs import from_pytensor, rewrite, to_pytensor
from termgraph.pytensor.linker import TermgraphLinker, install
from termgraph.pytensor.model import LogpAndGrad, logp_and_grad

install()

__all__ = [
    "BridgeError", "Conversion", "LogpAndGrad", "TermgraphLinker", "from_pytensor", "install", "logp_and_grad",
    "rewrite", "to_pytensor",
]  # fmt: skip
