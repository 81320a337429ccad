"""`termgraph.printing`: everything that shows a graph as text or as a picture. The work is done in `termgraph.viz`."""

from termgraph.tensor.checks import Print
from termgraph.viz.infix import pp
from termgraph.viz.picture import pydotprint
from termgraph.viz.tree import debugprint, dprint

pprint = pp

__all__ = ["Print", "debugprint", "dprint", "pp", "pprint", "pydotprint"]
