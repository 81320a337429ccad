"""The same graphs come out under every hash seed and whatever order the rule files are loaded in."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
import importlib, random, sys
import numpy as np
from termgraph import _rulelib
files = _rulelib.files()
random.Random(int(sys.argv[1])).shuffle(files)
_rulelib.package()
for path in files:
    importlib.import_module(_rulelib.module_name(path))
from termgraph import db
import termgraph as tg
import termgraph.tensor as T
from tests.rulelib import test_random_graphs, test_random_stages

rng = np.random.default_rng(3)
for seed in range(40):
    terms = [t.term for t in test_random_graphs.grown(rng, 12)][-2:]
    x, y = T.dmatrix("x"), T.dmatrix("y")
    made = test_random_stages.random_graph(np.random.default_rng(seed), [x, y], 7)
    terms += [made.term, tg.grad(T.sum(made), x, disconnected_inputs="ignore").term]
    for stage in ("canonicalize", "stabilize", "canonicalize", "specialize"):
        terms, _ = db.query("+fast_run", f"&{stage}").rewrite_traced(terms)
    print(*terms, sep="\\n")
"""


def output(hash_seed, order):
    environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT) + os.pathsep + str(ROOT / "tests")}
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT, order]
    return subprocess.run(command, env=environment, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def test_the_same_graphs_come_out():
    outputs = {output(seed, order) for seed, order in (("0", "1"), ("1", "2"), ("4321", "3"))}
    assert len(outputs) == 1 and len(outputs.pop().splitlines()) == 160
