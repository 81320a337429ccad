"""Looking at graphs: trees, one-line text, pictures."""

from termgraph.viz.graph_page import d3viz
from termgraph.viz.picture import to_dot, to_svg
from termgraph.viz.profile_page import profile
from termgraph.viz.timeline import timeline

__all__ = ["d3viz", "profile", "timeline", "to_dot", "to_svg"]


def __dir__() -> list[str]:
    return __all__
