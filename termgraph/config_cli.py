"""The subcommand `termgraph config`: shows flags, their values and where these come from."""

import argparse
import json

from termgraph.config import describe, paragraph


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the arguments of `termgraph config`."""
    parser.add_argument("flag", nargs="*", help="flags, or groups of flags, to show (default: all)")
    parser.add_argument("--changed", action="store_true", help="only flags that are not at their defaults")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print the flags asked for with value, source and meaning."""
    rows = describe(names=arguments.flag)
    if arguments.changed:
        rows = [row for row in rows if row["source"] != "default"]
    if arguments.json:
        print(json.dumps(rows, indent=2))
    else:
        print("\n".join(paragraph(row) for row in rows) or "All flags are at their defaults.")
    return 0
