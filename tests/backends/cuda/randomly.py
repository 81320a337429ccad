"""Whole random graphs above a driver, compared with the NumPy meaning: python randomly.py DRIVER FIRST LAST."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from lower.randomgraphs import Graphs, agree

from emucuda.driver import packaged_device
from termgraph.backends.cuda import placement
from termgraph.backends.cuda.link import link
from termgraph.backends.cuda.run import device
from termgraph.function.cuda import placement_rules
from termgraph.function.mode import get_mode
from termgraph.terms.evaluate import evaluate
from termgraph.terms.ops.transfer import Judge, judging
from termgraph.vm.machine import Machine


def compare(seed):
    g = Graphs(seed).grow(4 + seed % 7)
    outputs = g.outputs()
    judge = Judge(placement.why_not)
    with judging(judge):
        roots, _ = placement_rules(get_mode(None).options()).rewrite_terms(outputs)
    machine = Machine(link(g.args, roots, judge, device.numbered, "f", {}))
    with np.errstate(all="ignore"):
        want = evaluate(outputs, dict(zip(g.args, g.values)))
        for _ in range(3):  # run, record, replay
            agree([np.asarray(a) for a in machine(list(g.values))], want, g, outputs, seed)


if __name__ == "__main__":
    device.use(packaged_device(sys.argv[1]))
    seeds = range(int(sys.argv[2]), int(sys.argv[3]))
    for seed in seeds:
        compare(seed)
    print(f"{len(seeds)} graphs agree")
