"""Looking at graphs: trees, one-line text, pictures."""

from termgraph.viz.picture import d3viz, to_dot, to_svg
from termgraph.viz.timeline import timeline

__all__ = ["d3viz", "timeline", "to_dot", "to_svg"]
