"""Makes the pictures of pages that the documentation shows, with a browser: python scripts/make_pictures.py"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import termgraph as tg
import termgraph.tensor as T

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/viz"))
from browser import Browser  # noqa: E402

STEP = """
x, y = T.dmatrix("x"), T.dmatrix("y")
w = tg.shared(np.zeros((8, 3)), name="w")
cost = -(y * T.log(T.nnet.softmax(T.dot(x, w)))).sum()
step = tg.function([x, y], cost, updates=[(w, w - 0.1 * tg.grad(cost, w))], profile=True, name="step")
"""


def trained():
    """A step of softmax regression, after fifty calls."""
    names = {"T": T, "tg": tg, "np": np}
    exec(compile(STEP, "model.py", "exec"), names)  # the pictures show a user's file, not the path of this one
    for _ in range(50):
        names["step"](np.ones((2000, 8)), np.eye(3)[np.arange(2000) % 3])
    return names["step"]


def main() -> None:
    """Write the pictures into docs/assets."""
    f, folder = trained(), Path(tempfile.mkdtemp())
    shots = {
        "graph": (tg.viz.d3viz, "picture.openAll(true); picture.search('log_softmax'); step(1); fit(0.3)", 1000, 640),
        "timeline": (tg.viz.timeline, "timeline.go(steps.findIndex(s => s.stage.stage === 'stabilize'))", 1000, 560),
        "profile": (tg.viz.profile, "0", 1000, 420),
    }
    with Browser() as browser:
        for name, (write, script, width, height) in shots.items():
            page = browser.open(write(f, folder / f"{name}.html"), width, height)
            page.run(script)
            page.frame()
            page.photograph(ROOT / f"docs/assets/{name}.png")
            page.close()


if __name__ == "__main__":
    main()
