"""theano's logger. Imports nothing of termgraph."""

import logging

theano_logger = logging.getLogger("theano")
logging_default_handler: logging.Handler = logging.NullHandler()
logging_default_formatter = logging.Formatter("%(levelname)s (%(name)s): %(message)s")


def disable_log_handler(logger: logging.Logger = theano_logger, handler: logging.Handler | None = None) -> None:
    """Take Theano's handler off."""
    if theano_logger.handlers:
        theano_logger.removeHandler(handler or logging_default_handler)
