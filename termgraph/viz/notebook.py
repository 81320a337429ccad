"""What notebooks show for variables, terms and compiled functions: a picture where it is clear, else text; a picture
with boxes to open is a small page.

The top of the house gives this to the classes, so that nothing is imported until then.
"""

from __future__ import annotations

from html import escape
from typing import Any

from termgraph.tensor.variable import Variable
from termgraph.terms.term import is_term
from termgraph.viz.graph_page import HEAT, graph_page
from termgraph.viz.infix import pp
from termgraph.viz.latex import latex as written_in_latex
from termgraph.viz.page import framed
from termgraph.viz.picture import scene_to_svg
from termgraph.viz.scene import scenes_of
from termgraph.viz.tree import dprint

CLEAR = 60  # boxes; of larger graphs the tree is shown, its first lines
LINES = 80


def html(obj: object) -> str:
    """The HTML of a variable, term or compiled function."""
    heading = f"<code>{escape(_heading(obj))}</code>"
    if isinstance(obj, Variable) and obj.owner is None:
        return heading
    try:
        scenes = scenes_of(obj, most=CLEAR)
    except ValueError:
        return f"{heading}<pre>{escape(str(dprint(obj, file='str', limit=LINES)))}</pre>"
    if len(scenes) > 1:  # boxes that can be opened
        return f"{heading}<br>{framed(graph_page(scenes, obj), 460)}"
    note = f"<div style='opacity:.7;font-size:85%'>{HEAT}</div>" if scenes[0].timed else ""
    return f"{heading}<br>{scene_to_svg(scenes[0])}{note}"


def svg(obj: object) -> str | None:
    """The picture alone; None for a graph that is too large for one."""
    try:
        return scene_to_svg(scenes_of(obj, most=CLEAR)[0])
    except ValueError:
        return None


def latex(obj: object) -> str:
    """The formula of a variable or term, as SymPy's is shown."""
    return rf"$\displaystyle {written_in_latex(obj)}$"


def _heading(obj: Any) -> str:
    if not isinstance(obj, Variable) and not is_term(obj):
        return repr(obj)
    kind = f": {obj.type}" if getattr(obj, "type", None) is not None else ""
    name = f"{obj.name} = " if isinstance(obj, Variable) and obj.name and obj.owner else ""
    return f"{name}{pp(obj, limit=200)}{kind}"
