"""The `termgraph` command, also `python -m termgraph`.

A subcommand lives in the room that implements it and is imported only when it is called. This is the top of the
house: it may import everything, and nothing below imports it.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import termgraph

FAILED, MISUSED = 1, 2


class Subcommand(NamedTuple):
    """A subcommand: its name, the module that implements it, and one line of help.

    The module has `add_arguments(parser)`, which describes the arguments of `termgraph NAME` to an argparse parser,
    and `run(arguments)`, which returns the exit code: 0 for success, 1 for "no". A ValueError, LookupError or
    OSError from `run` is shown in one line as the user's mistake, exit code 2; other exceptions are ours.
    """

    name: str
    module: str
    help: str


SUBCOMMANDS = (
    Subcommand("rules", "termgraph.db.rules_cli", "list, show, lint and prove rules, and ask why one fired"),
    Subcommand("cache", "termgraph.backends.c.build.cache_cli", "list, clear, purge and explain compiled code"),
    Subcommand("stages", "termgraph.function.stages_cli", "what each stage of compiling made of an expression"),
    Subcommand("viz", "termgraph.viz.viz_cli", "draw a graph, or a timeline of its rewrites"),
    Subcommand("bench", "termgraph.bench_cli", "time termgraph on this machine, beside other libraries"),
    Subcommand("dist", "termgraph.dist.dist_cli", "run a training script on several workers"),
    Subcommand("fuzz", "termgraph.fuzz_cli", "run random programs in every mode and print the smallest that disagree"),
    Subcommand("config", "termgraph.config_cli", "show flags, their values and where these come from"),
    Subcommand("doctor", "termgraph.doctor", "check this installation and say how to repair it"),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv`; the answer is the exit code: 0 success, 1 a check said no, 2 misuse."""
    words = sys.argv[1:] if argv is None else list(argv)
    called = next((word for word in words if not word.startswith("-")), "")
    parser, implementation = _parser(called)
    if not words:  # somebody looks around
        parser.print_help()
        return 0
    arguments = parser.parse_args(words)
    assert implementation is not None, "argparse has refused every other word"
    return _run(implementation, arguments)


def _run(implementation: ModuleType, arguments: argparse.Namespace) -> int:
    try:
        status = implementation.run(arguments)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except (ValueError, LookupError, OSError) as error:
        if os.environ.get("TERMGRAPH_DEBUG", "0") not in ("", "0"):
            raise
        message = error.args[0] if isinstance(error, KeyError) and error.args else error
        print(f"termgraph {arguments.command}: {message}", file=sys.stderr)
        return MISUSED


def _parser(called: str) -> tuple[argparse.ArgumentParser, ModuleType | None]:
    """The parser for everything, and the module of the subcommand called; only that one is imported."""
    description = (termgraph.__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog="termgraph", description=description, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"termgraph {termgraph.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    implementation = None
    for name, module, text in SUBCOMMANDS:
        if exists(module):
            subparser = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
            if name == called:
                implementation = import_module(module)
                implementation.add_arguments(subparser)
    return parser, implementation


def exists(module: str) -> bool:
    """Whether a module is part of this installation. Nothing is imported to find out."""
    path = Path(termgraph.__file__).parent.joinpath(*module.split(".")[1:])
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()
