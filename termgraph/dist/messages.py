"""What the driver and the workers say to each other. Arrays do not go this way."""

from __future__ import annotations

from termgraph._records import record
from termgraph.dist.layout import Spec


# ---------------------------------------------------------------------- from a worker
@record
class Ready:
    """The step is compiled: what it looks like."""

    specs: list[Spec]
    state: list[tuple[str, str, tuple[int, ...]]]  # name, dtype and shape of what a step changes
    params: int  # so many of these are parameters
    outputs: list[str]
    on_device: bool = False  # whether the means can be taken on the GPUs


@record
class Report:
    """Cost and outputs of some steps, one row each."""

    generation: int
    steps: list[int]
    rows: list[list[float]]


@record
class Halted:
    """This worker has left its generation, with so many steps done."""

    generation: int
    step: int


@record
class Finished:
    """All is done."""

    generation: int
    step: int


@record
class Given:
    """The state is written, where Give wanted it."""

    step: int


@record
class Late:
    """Others of this generation have kept this worker waiting for the whole of the time allowed."""

    generation: int
    members: list[int]


@record
class Saved:
    """A checkpoint is written (or was refused: why)."""

    step: int
    refused: str = ""


@record
class Failed:
    """The user's code raised an exception here; this worker is gone."""

    where: str
    text: str
    error: Exception | None


# ---------------------------------------------------------------------- from the driver
@record
class Give:
    """Write your state to the file that comes with this, and report what the driver does not know of your history."""

    known: int


@record
class Join:
    """Take part in a generation, whose memory comes with this; then the file of a state, if `state`."""

    generation: int
    rank: int
    numbers: list[int]  # the workers that are members, by rank
    step: int
    known: int  # so many rows of the history are with the driver
    state: bool
    on_device: bool = False  # the means are taken on the GPUs
    life: int = 0  # how often this member has joined the centre of an asynchronous training


@record
class Stop:
    """End."""


ToDriver = Ready | Report | Halted | Finished | Given | Late | Saved | Failed
ToWorker = Give | Join | Stop
