"""Warm starts: a program from the cache does what the compiled one did, and shows what the compiled one showed."""

import json
import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from termgraph.backends.c import cprogram
from termgraph.backends.c.build.compilers import find_compiler

LINKER = "auto"
PROGRAM = Path(__file__).with_name("warm_program.py")
IN_PARTS = ("parts", "values", "inverse")  # Python runs a part of them
NAMES = (*IN_PARTS, "stable", "lengths", "index", "update", "constants", "product", "default", "scan")

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")


def run(cache, code, **environment):
    """What a fresh interpreter with this cache prints; `state` is there for code that is given as text."""
    if code[0] == "-c":
        code = ["-c", f"def state(f): return 'warm' if f.maker.work.warm else 'cold'\n{code[1]}", *code[2:]]
    given = {**os.environ, "TERMGRAPH_FLAGS": f"cache.dir={cache}", **environment}
    done = subprocess.run([sys.executable, *code], env=given, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def starts(tmp_path_factory):
    """What warm_program.py shows at the first start, with an empty cache, and at the second."""
    cache = tmp_path_factory.mktemp("cache")
    return [json.loads(run(cache, [str(PROGRAM)])) for _ in range(2)]


@pytest.mark.parametrize("name", NAMES)
def test_the_second_start_finds_the_program_and_loads_no_rules(starts, name):
    first, second = (start[name] for start in starts)
    assert (first["kept"], first["reason"]) == ("cold", None)
    assert (second["kept"], second["reason"]) == ("warm", None)
    assert first["native"] == second["native"] and (first["native"] is not None) == (name in IN_PARTS)
    assert second["quiet"] and not first["quiet"]


@pytest.mark.parametrize("what", ["results", "rules", "source", "error", "trace", "nodes", "python", "copied"])
@pytest.mark.parametrize("name", NAMES)
def test_the_second_start_shows_the_same(starts, name, what):
    first, second = starts
    assert second[name][what] == first[name][what]


def test_errors_of_a_warm_function_name_the_line_and_the_values(starts):
    second = starts[1]
    assert "warm_program.py" in second["index"]["error"] and "IndexError" in second["index"]["error"]
    assert "index 7" in second["index"]["error"]
    assert "warm_program.py" in second["lengths"]["error"] and "2" in second["lengths"]["error"]
    assert "log1p" in " ".join(second["stable"]["rules"]) or second["stable"]["trace"]


ONE = """
import sys, termgraph as tg, termgraph.tensor as T
x = T.dvector(sys.argv[1])
f = tg.function([x], T.log(1 + x) * 2, name="one")
assert f([0.0])[0] == 0
print(state(f), f.maker.work.not_kept)
"""


def test_names_do_not_matter_but_the_mode_does(tmp_path):
    assert run(tmp_path, ["-c", ONE, "x"]).split() == ["cold", "None"]
    assert run(tmp_path, ["-c", ONE, "another"]).split() == ["warm", "None"]
    other = ONE.replace('name="one"', 'mode="-stabilize"')
    assert run(tmp_path, ["-c", other, "x"]).split() == ["cold", "None"]


def test_a_program_made_with_other_flags_of_the_compiler_is_not_found(tmp_path):
    """They may forbid vectors, and what is written is chosen for vectors of some length."""
    code = "import termgraph as tg, termgraph.tensor as T; x = T.dvector('x'); print(state(tg.function([x], x + 1)))"
    flags = [f"cache.dir={tmp_path}{more}" for more in (",cflags=-O1", "", "")]
    assert [run(tmp_path, ["-c", code], TERMGRAPH_FLAGS=f).strip() for f in flags] == ["cold", "cold", "warm"]


@pytest.mark.parametrize(
    ("change", "environment", "reason"),
    [
        ("", {"TERMGRAPH_RULES": "no_such_file.py"}, "TERMGRAPH_RULES"),
        ("from termgraph.rules import fact, odd; fact(odd, T.log)\n", {}, "facts about ops were added"),
        ("tg.db.load('nothing.py')\ntg.db.load(sys.argv[2])\n", {}, "rules were added"),
        ("tg.config.cache.programs = False\n", {}, "cache.programs is off"),
    ],
)
def test_other_rules_than_those_shipped_start_cold_and_explain_says_why(tmp_path, change, environment, reason):
    mine = tmp_path / "mine.py"
    mine.write_text(
        "from termgraph.rules import rule, ruleset\nimport termgraph.tensor as T\n"
        "@ruleset('canonicalize', 'fast_run')\ndef mine(x):\n    yield rule('cosh', T.cosh(T.cosh(x)), T.sinh(x))\n"
    )
    code = ONE.replace("x = T.dvector", f"import warnings; warnings.simplefilter('ignore')\n{change}x = T.dvector")
    for _ in range(2):
        kind, _, why = run(tmp_path, ["-c", code, "x", str(mine)], **environment).partition(" ")
        assert kind == "cold" and reason in why
    explained = run(tmp_path, ["-m", "termgraph", "cache", "explain", "one"])
    assert "made anew in every process" in explained and reason in explained


def test_the_command_line_lists_explains_and_clears_programs(tmp_path):
    run(tmp_path, ["-c", ONE, "x"])
    listed = run(tmp_path, ["-m", "termgraph", "cache", "list", "one"])
    assert "program" in listed and "library" in listed
    explained = run(tmp_path, ["-m", "termgraph", "cache", "explain", "one"])
    assert "+fast_run linker=auto" in explained and "graph " in explained
    run(tmp_path, ["-m", "termgraph", "cache", "clear", "one"])
    assert run(tmp_path, ["-c", ONE, "x"]).split()[0] == "cold"


COUNTED = """
import pickle, sys
import termgraph as tg, termgraph.tensor as T
from termgraph.lower import lowering
lowered = []
counted = lowering.Stage("counted", lambda region: lowered.append(1) or region)
lowering.LOWERING = (counted, *lowering.LOWERING)
if sys.argv[1] == "save":
    x = T.dvector("x")
    functions = [tg.function([x], T.exp(x) + 1, updates=[(tg.shared(0.0), 1.0)]), tg.function([x], T.unique(x * 2) + 1)]
    pickle.dump(functions, open(sys.argv[2], "wb"))
else:
    functions = pickle.load(open(sys.argv[2], "rb"))
assert functions[0]([0.0])[0] == 2 and functions[1]([2.0, 1.0]).tolist() == [3, 5]
print(len(lowered), "termgraph.rules" in sys.modules, *[f.maker.work.not_kept for f in functions])
"""


def test_saved_functions_are_lowered_once(tmp_path):
    cache, file = tmp_path / "cache", str(tmp_path / "functions")
    assert run(cache, ["-c", COUNTED, "save", file]).split() == ["3", "True", "None", "None"]
    assert run(cache, ["-c", COUNTED, "load", file]).split() == ["3", "False", "None", "None"]
    assert run(cache, ["-c", COUNTED, "load", file]).split() == ["0", "False", "None", "None"]


DAMAGED = """
import warnings, glob, json, os, sys, termgraph as tg, termgraph.tensor as T
from termgraph.backends.c.build.cache import default_cache, key_of
x = T.dvector("x")
f = tg.function([x], T.log(1 + x) * 2)
parts, cache = f.maker.work.key.parts, default_cache()
entry = cache.lookup(key_of(parts))
if sys.argv[1] == "bytes":
    open(entry.file("program.json"), "ab").write(b" ")
else:
    cache.discard(entry.key)
    def make(directory):
        for name in ("source.c", "constants.bin"):
            open(f"{directory}/{name}", "wb").close()
        open(f"{directory}/program.json", "w").write(sys.argv[1])
    cache.get_or_make(parts, make)
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    g = tg.function([x], T.log(1 + x) * 2)
assert abs(g([1.0])[0] - 1.3862943611198906) < 1e-15
print(state(g), "|".join(str(w.message) for w in seen))
print(state(tg.function([x], T.log(1 + x) * 2)))
"""


@pytest.mark.parametrize("damage", ["bytes", "[1, 2]", '{"signature": {"returns": "what"}}'])
def test_a_damaged_entry_is_reported_and_made_again(tmp_path, damage):
    kind, _, rest = run(tmp_path, ["-c", DAMAGED, damage]).partition(" ")
    told, second = rest.strip().split("\n")
    assert kind == "cold" and "damaged" in told and "made again" in told
    assert second == "warm"


PICKLED = """
import pickle, sys, numpy as np, termgraph as tg, termgraph.tensor as T
x, w = T.dvector("x"), tg.shared(np.ones(2), "w")
f = tg.function([x], T.log(1 + x) * w, updates=[(w, w + x)], name="saved")
print(state(f))
g = pickle.loads(pickle.dumps(f))
g([1.0, 2.0])
assert g.get_shared()[0].get_value().tolist() == [2.0, 3.0] and w.get_value().tolist() == [1.0, 1.0]
h = f.copy(delete_updates=True)
assert np.allclose(h([1.0, 2.0]), np.log1p([1.0, 2.0])) and w.get_value().tolist() == [1.0, 1.0]
"""


def test_warm_functions_are_saved_and_copied_like_others(tmp_path):
    assert [run(tmp_path, ["-c", PICKLED]).strip() for _ in range(2)] == ["cold", "warm"]


NOT_KEPT = """
import termgraph as tg, termgraph.tensor as T
from termgraph import _installed, _rulelib
@tg.as_op(itypes=[T.dvector], otypes=[T.dvector])
def doubled(a):
    return 2 * a

x = T.dvector("x")
f = tg.function([x], doubled(x) + 1)
assert "not one of the library's" in f.maker.work.not_kept and f([1.0]).tolist() == [3.0]
assert "timed or watched" in tg.function([x], x + 1, profile=True).maker.work.not_kept
assert "not compiled to C" in tg.function([x], x + 1, mode=tg.Mode(linker="py")).maker.work.not_kept
_rulelib.IMPORTED = 0  # as if the files were newer
_installed.changed_since_import.cache_clear()
assert "changed after" in tg.function([x], x + 1).maker.work.not_kept
print("done")
"""


def test_ops_of_the_user_and_watched_functions_are_not_kept(tmp_path):
    assert run(tmp_path, ["-c", NOT_KEPT]).split()[-1] == "done"  # in a process in which no rules were added


def test_every_field_of_a_program_is_kept_or_made_again():
    special = {"source", "signature", "constants"}
    kept = special | set(cprogram.IN_JSON) | set(cprogram.MADE_AGAIN)
    assert {f.name for f in fields(cprogram.CProgram)} == kept


def test_a_program_survives_its_files():
    from termgraph.backends.c.generate import generate
    from termgraph.terms.ops.elementwise import add, mul
    from termgraph.terms.term import Arg, Const
    from termgraph.terms.types import TensorType

    vector = TensorType("float64", (None,))
    a, cell = Arg(0, vector), Arg(1, vector)
    code = generate([a], [add(a, Const(np.arange(5.0)))], [(0, mul(cell, 0.5))], [cell], ["a"], "one")
    files = cprogram.to_files(code, rules={"algebra.x": 2})
    again, more = cprogram.from_files(files.__getitem__)
    assert more == {"rules": {"algebra.x": 2}} and again.source == code.source and again.flags == code.flags
    assert [c.tolist() for c in again.constants] == [c.tolist() for c in code.constants]
    for name in ("cells", "outputs", "updates", "workspaces", "env_size", "buf_size", "returns"):
        assert getattr(again.signature, name) == getattr(code.signature, name)


LITTLE = """
import sys, termgraph as tg, termgraph.tensor as T
x = T.dvector("x")
f = tg.function([x], x + 1)
parts = [m for m in ("rules", "lower", "backends.c.generate") if f"termgraph.{m}" in sys.modules]
print(state(f), *parts)
"""


READS = """
import sys
import numpy as np, termgraph as tg, termgraph.tensor as T
opened, before = [], set(sys.modules)
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
x, w = T.fmatrix("x"), tg.shared(np.ones((4, 3), "float32"))
cost = (T.tanh(x @ w) ** 2).mean()
f = tg.function([x], [cost, tg.grad(cost, w)])
f(np.ones((2, 4), "float32"))
texts = {name.rpartition("/")[2] for name in opened if "/run/" in name and name.endswith((".c", ".h"))}
new = [name for name in sys.modules if name not in before and name.startswith("termgraph")]
others = [name for name in opened if not name.endswith((".pyc", "entry_points.txt"))]
print(state(f), len(new), len(others), *sorted(texts))
"""


def test_what_a_warm_start_reads(tmp_path):
    """Counted, as times are not tested: modules, files beside them, texts of C."""
    kept = {"PYTHONDONTWRITEBYTECODE": ""}  # as users have it: else each module is read as text
    run(tmp_path, ["-c", READS], **kept)
    state, modules, files, *texts = run(tmp_path, ["-c", READS], **kept).split()
    assert state == "warm" and texts == ["abi.h", "bind.h", "veclib.h"]  # in front of every program, not the glue's
    assert int(modules) <= 20 and int(files) <= 26


def test_a_warm_start_imports_neither_rules_nor_what_generates_code(tmp_path):
    assert run(tmp_path, ["-c", LITTLE]).split() == ["cold", "rules", "lower", "backends.c.generate"]
    assert run(tmp_path, ["-c", LITTLE]).split() == ["warm"]
