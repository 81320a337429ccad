"""Messages for those who ask: loggers of Python's `logging`, in one tree under "termgraph".

A program that does not use `logging` does not wait for it to be imported; nobody has asked for messages then.
"""

from __future__ import annotations

import sys
from typing import Any

ROOT = "termgraph"
DEBUG, INFO, WARNING = 10, 20, 30  # the numbers of `logging`


class Log:
    """The logger of a room: `Log("cache")` is `logging.getLogger("termgraph.cache")`, found when it is needed."""

    __slots__ = ("name",)

    def __init__(self, room: str) -> None:
        self.name = f"{ROOT}.{room}"

    def debug(self, text: str, *values: object) -> None:
        """Say what only those want to know who look for something."""
        self._say(DEBUG, text, values)

    def info(self, text: str, *values: object) -> None:
        """Say what was done."""
        self._say(INFO, text, values)

    def warning(self, text: str, *values: object) -> None:
        """Say what may be wrong, though the work goes on."""
        self._say(WARNING, text, values)

    def wanted(self, level: int = DEBUG) -> bool:
        """Whether somebody hears messages of this level: ask before computing what only a message needs."""
        logger = self._logger()
        return logger is not None and logger.isEnabledFor(level)

    def _say(self, level: int, text: str, values: tuple[object, ...]) -> None:
        logger = self._logger()
        if logger is not None and logger.isEnabledFor(level):
            logger.log(level, text, *values, stacklevel=3)

    def _logger(self) -> Any:
        logging = sys.modules.get("logging")
        if logging is None or not hasattr(logging, "getLogger"):
            return None
        root = logging.getLogger(ROOT)
        if not root.handlers:  # without one Python prints warnings on stderr for programs that have not asked
            root.addHandler(logging.NullHandler())
        return logging.getLogger(self.name)
