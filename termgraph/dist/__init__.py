"""Training on many workers: `mean`, `Step`, `train`, and the rules by which workers come together.

The words for users are in docs/dist.md.
"""

from termgraph.dist.crew import Event, WorkerError, WorkersLost
from termgraph.dist.data import Arrays, Loader
from termgraph.dist.driver import STOP, Progress
from termgraph.dist.mark import mean
from termgraph.dist.replica import Worker
from termgraph.dist.rules import ASGD, EASGD, Rule, Synchronous
from termgraph.dist.step import Step
from termgraph.dist.train import Result, train

__all__ = [
    "ASGD", "EASGD", "STOP", "Arrays", "Event", "Loader", "Progress", "Result", "Rule", "Step", "Synchronous", "Worker",
    "WorkerError", "WorkersLost", "mean", "train",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
