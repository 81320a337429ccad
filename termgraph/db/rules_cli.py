"""The subcommand `termgraph rules`: list, show, explain, check and prove rules.

termgraph rules list "+fast_run &stabilize"        termgraph rules show logs.log1p
termgraph rules why "log(1 + exp(x))"              termgraph rules prove my_rules.py
"""

from __future__ import annotations

import argparse
import json
import re
import runpy
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import termgraph.tensor as T
from termgraph.db import checking, database, loading
from termgraph.db.asked import family_of
from termgraph.db.catalogue import PAGES, page_of
from termgraph.db.discovering import discover
from termgraph.db.explain import find_rule, why_not
from termgraph.rules.checking.directions import HEADINGS, KINDS, forbids, kind_of_rule, share, tabulate
from termgraph.rules.checking.examples import examples
from termgraph.rules.checking.report import Table, counts_text
from termgraph.rules.definition import Rule
from termgraph.tensor.variable import Constant, Variable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.dtypes import numpy_dtype

SUCCESS, FOUND = 0, 1
_UNCUT = 10_000  # columns: every reason is worth reading
_STAGES = ("canonicalize", "stabilize", "canonicalize", "specialize")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the arguments of `termgraph rules`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = _action(actions, "list", "one line per rule")
    listing.add_argument("--head", metavar="OP", help="only rules whose left side has this operator at its root")
    listing.add_argument("--makes", metavar="OP", help="only rules whose right side brings in this operator")
    showing = _action(actions, "show", "everything about rules: both sides, conditions, tags, place, an example")
    why = actions.add_parser("why", help="what becomes of an expression, rule by rule, or why a rule does not apply")
    why.add_argument("expression", help='such as "log(1 + exp(x))"; unknown names are vectors of floats')
    why.add_argument("rule", nargs="?", help="ask why this rule does not apply")
    why.add_argument("--type", action="append", default=[], metavar="NAME=TYPE", help="such as x=fmatrix or n=iscalar")
    why.add_argument("--strict", action="store_true", help="only rules that take nothing on trust")
    linting = _action(actions, "lint", "check for loops, dead rules, duplicates and pairs whose order matters")
    linting.add_argument("--accepted", metavar="FILE", help="JSON list of findings that are known and meant")
    linting.add_argument("--pairs", type=int, default=4000, help="how many overlaps to try per stage (%(default)s)")
    proving = _action(actions, "prove", "try rules numerically against what they assume")
    proving.add_argument("--samples", type=_positive, default=24, help="terms to try per rule (%(default)s)")
    proving.add_argument("--jobs", type=int, default=checking.processors(), help="processes (%(default)s)")
    proving.add_argument("--all", action="store_true", help="print a line for every rule, not only what is wrong")
    counting = _action(actions, "count", "how rules are written, topic by topic, and which of them run backwards")
    discovering = actions.add_parser("discover", help="find rules that the library has not, and prove them")
    discovering.add_argument("--ops", required=True, metavar="OPS", help='operators, such as "exp log + *"')
    discovering.add_argument("--size", type=int, default=5, help="operations and inputs of a term (%(default)s)")
    discovering.add_argument("--facts", default="", help='what is known of all inputs, such as "positive"')
    discovering.add_argument("--dtype", default="float64", help="of the inputs (%(default)s)")
    discovering.add_argument("--numbers", default="0 1 2", help='that may occur ("%(default)s")')
    discovering.add_argument("--variables", type=int, default=3, help="how many inputs (%(default)s)")
    discovering.add_argument("--without", default="", metavar="TOPICS", help="rules taken for unknown")
    discovering.add_argument("--corpus", metavar="FILE", help="Python file with expressions to rank the rules on")
    discovering.add_argument("--seconds", type=float, default=60, help="how long to search (%(default)s)")
    discovering.add_argument("--table", action="store_true", help="print a table, not a file of rules")
    for action in (linting, proving):
        action.add_argument("--seed", type=int, default=0, help="of the random terms (%(default)s)")
    for action in (listing, showing, counting, why, linting, proving):
        action.add_argument("--json", action="store_true", help="print JSON")


def _action(actions: Any, name: str, text: str) -> argparse.ArgumentParser:
    parser = actions.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
    parser.add_argument(
        "what", nargs="*", help='rules, topics, tags, queries such as "+fast_run -unsafe &stabilize", or rule files'
    )
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Do what was asked; the answer is the exit code."""
    actions = {
        "list": _list, "show": _show, "count": _count, "why": _why, "lint": _lint, "prove": _prove,
        "discover": _discover,
    }  # fmt: skip
    return actions[arguments.action](arguments)


# ---------------------------------------------------------------------- choosing
def _chosen(what: list[str]) -> tuple[list[Rule], list[Path], list[str]]:
    """The rules that words name, the rule files among the words, and what was wrong with these."""
    if not what:
        return database.all_rules(), [], []
    database.all_rules()  # mistakes in installed rule files are not this file's
    files = [Path(word) for word in what if word.endswith(".py")]
    already = len(loading.ERRORS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loaded = {name for file in files for name in database.load(file)}
    refused = [str(error) for error in loading.ERRORS[already:]]
    asked = {r.name for word in what if not word.endswith(".py") for r in database.named(word)}
    chosen = [rule for rule in database.all_rules() if rule.name in loaded or rule.name in asked]
    return chosen, files, refused


def _record(rule: Rule) -> dict[str, Any]:
    return {
        "rule": rule.name, "before": rule.before, "after": rule.after, "conditions": rule.conditions(),
        "assumes": sorted(rule.assumes), "tags": sorted(rule.tags), "where": rule.where, "doc": rule.doc,
        "written": kind_of_rule(rule), "forbids": forbids(rule),
    }  # fmt: skip


def _print_json(value: object) -> None:
    print(json.dumps(value, indent=2))


# ---------------------------------------------------------------------- list, show
def _list(arguments: argparse.Namespace) -> int:
    chosen, _, refused = _chosen(arguments.what)
    if arguments.head:
        found = set(database.rules(head=family_of(arguments.head)))
        chosen = [r for r in chosen if r in found]
    if arguments.makes:
        found = set(database.rules(makes=family_of(arguments.makes)))
        chosen = [r for r in chosen if r in found]
    if arguments.json:
        _print_json([_record(r) for r in chosen])
    elif chosen:
        print("\n\n".join(_by_topic(chosen)))
        print(f"\n{len(chosen)} rules")
    else:
        print("no rules")
    return _refusals(refused, arguments.json)


def _by_topic(chosen: list[Rule]) -> list[str]:
    """The rules as they are sorted in the catalogue: by stage, then by topic, each with the file it is in.

    Tags are left to `show` and `--json`: beside them a rule would not fit into 80 columns.
    """
    groups: dict[tuple[int, str, str], list[Rule]] = {}
    for r in chosen:
        stage = page_of(r)
        groups.setdefault((list(PAGES).index(stage), r.topic, f"{stage} / {r.topic} ({_file_of(r)})"), []).append(r)
    out = []
    for (_, _, heading), members in sorted(groups.items(), key=lambda item: item[0]):
        rows = [(r.name, kind_of_rule(r), f"{r.before} -> {r.after}") for r in members]
        out.append(f"{heading}\n{Table(('rule', 'written as', 'says'), rows).text()}")
    return out


def _file_of(rule: Rule) -> str:
    path = Path(rule.where.rpartition(":")[0])
    return f"{path.parent.name}/{path.name}"


def _refusals(refused: list[str], quiet: bool) -> int:
    if not quiet:
        for error in refused:
            print(f"\nrefused: {error}")
    return FOUND if refused else SUCCESS


def _show(arguments: argparse.Namespace) -> int:
    if not arguments.what:
        raise LookupError("name a rule, such as logs.log1p; `termgraph rules list` shows what exists")
    if len(arguments.what) == 1 and "." in arguments.what[0] and not arguments.what[0].endswith(".py"):
        find_rule(arguments.what[0])  # a message with near names
    chosen, _, refused = _chosen(arguments.what)
    rows = []
    for rule in chosen:
        shown = [] if "grad" in rule.tags else examples(rule, 1)
        example = {"before": repr(shown[0].before), "after": repr(shown[0].after)} if shown else None
        rows.append(_record(rule) | {"example": example})
    if arguments.json:
        _print_json(rows)
    else:
        print("\n\n".join(map(_paragraph, rows)))
    return _refusals(refused, arguments.json)


def _paragraph(row: dict[str, Any]) -> str:
    lines = [row["rule"], f"  {row['before']}  ->  {row['after']}"]
    lines += [f"  if {', '.join(row['conditions'])}"] if row["conditions"] else []
    lines += [f"  {row['doc']}"] if row["doc"] else []
    lines.append(f"  written as {row['written']}; backwards: {row['forbids'] or 'yes'}")
    lines.append(f"  takes on trust: {', '.join(row['assumes']) or 'nothing'}")
    lines.append(f"  tags: {', '.join(row['tags']) or 'none'}")
    lines.append(f"  defined at {row['where']}")
    if row["example"]:
        lines.append(f"  example: {row['example']['before']:.200}  ->  {row['example']['after']:.200}")
    return "\n".join(lines)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"a number of at least 1 is needed, not {text}")
    return number


# ---------------------------------------------------------------------- count
def _count(arguments: argparse.Namespace) -> int:
    chosen, _, refused = _chosen(arguments.what)
    if arguments.json:
        _print_json([{"rule": r.name, "written": kind_of_rule(r), "forbids": forbids(r)} for r in chosen])
    else:
        print(Table(HEADINGS, tabulate(chosen)).text(_UNCUT))
        print("\n" + "\n".join(f"{kind}: {text}" for kind, text in KINDS.items()))
        print("\n" + share(chosen))
    return _refusals(refused, arguments.json)


# ---------------------------------------------------------------------- why
_MODULES = ("T", "np", "numpy", "jnp", "pt", "tt", "tensor")  # what people call a module of such functions


class _Names(dict):
    """The tensor language by name; any other name is a new input."""

    def __init__(self, types: dict[str, str]) -> None:
        super().__init__(vars(T))
        self.types, self.tensor = types, T

    def __missing__(self, name: str) -> Any:
        if name in _MODULES:
            return self.tensor
        if name.startswith("__"):
            raise KeyError(name)
        make = getattr(self.tensor, self.types.get(name, "vector"), None)
        if not callable(make):
            raise LookupError(f"there is no type {self.types[name]!r} for {name}; use one such as vector or fmatrix")
        self[name] = made = make(name)
        return made


def expression(text: str, typed: list[str]) -> Any:
    """The variable that a text on the command line stands for; `typed` has words NAME=TYPE."""
    types = {}
    for pair in typed:
        name, equals, kind = pair.partition("=")
        if not (name.isidentifier() and equals and kind):
            raise ValueError(f"--type takes NAME=TYPE, such as x=fmatrix, not {pair!r}")
        types[name] = kind
    names = _Names(types)
    numbers = [n for n, v in names.items() if isinstance(v, float) and re.search(rf"\b{n}\.[a-zA-Z]", text)]
    for name in (*types, *numbers):  # a name of the language may be given a type too; numbers have no methods
        names.pop(name, None)
    try:
        found = eval(text, {"__builtins__": {}}, names)  # the user's own words, on the user's own command line
        several = isinstance(found, (list, tuple))
        made = [as_tensor(v) for v in (found if several else [found])]
        return made if several else made[0]
    except (SyntaxError, TypeError, AttributeError, NameError, ArithmeticError) as err:
        raise ValueError(f"{text!r} is not an expression: {err}{_hint(text, err, names)}") from None


def _hint(text: str, err: Exception, names: _Names) -> str:
    """What else may have been meant: a function that is no method or has another name, a file that is not there."""
    missing = getattr(err, "name", None)
    if isinstance(err, AttributeError) and missing in vars(names.tensor):
        return f"; it is a function, not a method: write {missing}(...)"
    called = re.findall(r"(?<![\w.])([a-zA-Z_]\w*)\s*\(", text)
    for name in called:
        if isinstance(names.get(name), Variable):
            try:
                getattr(names.tensor, name)
            except AttributeError as unknown:
                return f"; {unknown}"
    a_path = isinstance(err, AttributeError) and ("/" in text or Path(text).suffix in (".tg", ".pkl"))
    return "; there is no such file either" if a_path else ""


def _why(arguments: argparse.Namespace) -> int:
    asked = expression(arguments.expression, arguments.type)
    if isinstance(asked, (list, Constant)):
        reason = "several expressions; ask about one" if isinstance(asked, list) else "a constant; no rule is needed"
        raise ValueError(f"{arguments.expression!r} is {reason}")
    term = asked.term
    if arguments.rule:
        answer = why_not(arguments.rule, term, () if arguments.strict else database.query().assume)
        if arguments.json:
            _print_json({"rule": arguments.rule, "applies": answer.applies, "reasons": answer.lines})
        else:
            print(answer)
        return SUCCESS if answer.applies else FOUND
    steps, after = [], term
    for stage in _STAGES:
        rules = database.query("+fast_run -unsafe", f"&{stage}", assume=() if arguments.strict else None)
        after, trace = rules.rewrite_traced(after)
        steps += [
            {"stage": stage, "rule": r.rule, "before": repr(r.before), "after": repr(r.after), "where": r.where}
            for r in trace
        ]
    if arguments.json:
        _print_json({"before": repr(term), "after": repr(after), "steps": steps})
        return SUCCESS
    for s in steps:
        print(f"{s['rule']}  {s['before']:.80}  ->  {s['after']:.80}   ({s['where']})")
    print(f"{term!r} stays as it is" if after is term else f"{term!r} becomes {after!r}")
    return SUCCESS


# ---------------------------------------------------------------------- lint, prove
def _lint(arguments: argparse.Namespace) -> int:
    chosen, _, refused = _chosen(arguments.what)
    accepted = checking.accepted_findings(arguments.accepted) if arguments.accepted or not arguments.what else []
    findings, summary = checking.lint_records(chosen, accepted, arguments.seed, arguments.pairs)
    ok = not refused and (summary["ok"] if accepted else not any(f["error"] for f in findings))
    if arguments.json:
        _print_json(summary | {"ok": ok, "findings": findings, "refused": refused})
        return SUCCESS if ok else FOUND
    for f in findings:
        if not f["accepted"]:
            place = f"  ({f['where']})" if f["where"] else ""
            print(f"{f['kind']}: {f['subject']}{place}\n" + "\n".join(f"    {x}" for x in f["text"].splitlines()))
    _refusals(refused, quiet=False)
    new = Counter(f["kind"] for f in findings if not f["accepted"])
    known = sum(bool(f["accepted"]) for f in findings)
    print(
        f"{summary['rules']} rules, {summary['overlaps']} overlaps tried: {counts_text(new)}; {known} accepted findings"
    )
    return SUCCESS if ok else FOUND


def _prove(arguments: argparse.Namespace) -> int:
    chosen, files, refused = _chosen(arguments.what)
    rows = checking.prove_records(chosen, arguments.samples, arguments.seed, arguments.jobs, files)
    ok = not refused and all(row["ok"] for row in rows)
    if arguments.json:
        _print_json({"ok": ok, "verdicts": rows, "refused": refused})
        return SUCCESS if ok else FOUND
    if arguments.all and rows:
        cells = [(r["rule"], r["verdict"], str(r["trials"]), ", ".join(r["assumes"]), r["says"]) for r in rows]
        print(Table(("rule", "verdict", "trials", "assumes", "says"), cells).text() + "\n")
    for row in rows:
        if not row["ok"]:
            print(row["details"] + "\n")
    _refusals(refused, quiet=False)
    print(f"{len(rows)} rules: {counts_text(Counter(_verdict(r) for r in rows))}")
    return SUCCESS if ok else FOUND


def _verdict(row: dict[str, Any]) -> str:
    return row["verdict"] + (" (undeclared)" if row["undeclared"] else "")


# ---------------------------------------------------------------------- discover
def _discover(arguments: argparse.Namespace) -> int:
    kind = int if numpy_dtype(arguments.dtype).kind in "iu" else float
    found = discover(
        arguments.ops, arguments.size, facts=arguments.facts, dtype=arguments.dtype,
        numbers=[kind(n) for n in arguments.numbers.split()], variables=arguments.variables,
        without=arguments.without.split(), corpus=_corpus(arguments.corpus), seconds=arguments.seconds,
        report=lambda line: print(line, file=sys.stderr, flush=True),
    )  # fmt: skip
    if arguments.table:
        print(found)
    else:
        print(found.text(), end="")
        print(found.summary, file=sys.stderr)
    return SUCCESS


def _corpus(path: str | None) -> list[Any]:
    """The expressions that a Python file gives names, or puts into lists."""
    if path is None:
        return []
    values = [v for name, v in runpy.run_path(path).items() if not name.startswith("_")]
    flat = [item for v in values for item in (v if isinstance(v, (list, tuple)) else (v,))]
    found = [v for v in flat if isinstance(v, Variable)]
    if not found:
        raise ValueError(f"{path} gives no expression a name: write e = T.log(1 + x), or a list of such")
    return found
