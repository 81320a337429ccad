"""Training, in small parts: first values of parameters, batches of data, and a loop with progress and checkpoints.

Each part is a function or an iterator over NumPy arrays; none knows of the others. docs/train.md shows them together.
"""

from termgraph.train.data import Batches, batches
from termgraph.train.initial import glorot_normal, glorot_uniform, he_normal, he_uniform, lecun_normal, orthogonal
from termgraph.train.loop import Epoch, History, loop, progress

__all__ = [
    "Batches", "Epoch", "History", "batches", "glorot_normal", "glorot_uniform", "he_normal", "he_uniform",
    "lecun_normal", "loop", "orthogonal", "progress",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
