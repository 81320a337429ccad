"""What a call of compiled code costs, apart from what it computes, against NumPy's own `a + 1` in the same process.

    python benchmarks/glue.py [--repeat N]

Programs are written by hand against the ABI, so this needs neither rules nor lowering. Best of N repeats.
"""

import argparse
import timeit

import numpy as np

from termgraph.backends.c.build.program_library import build_library
from termgraph.backends.c.run import glue
from termgraph.backends.c.signature import CellInput, Input, Output, Signature, Update


def program(signature: Signature, body: str, plan: str = ""):
    head = "int tg_plan(int64_t *env, char *const *buf, tg_status *st)"
    text = f"{head} {{ env[{signature.work_env}] = 0; {plan} return 0; }}\n"
    text += f"int tg_run(char **buf, const int64_t *env, tg_status *st)\n{{\n{body}\n    return 0;\n}}\n"
    return build_library(text, "benchmark")


def sums(count: int, ndim: int, outputs: int, scalar: bool = False):
    """`count` arguments added up into each of `outputs` results."""
    shape, kind = (None,) * ndim, Output("float64", ndim, scalar)
    inputs = [Input(f"x{i}", "float64", shape) for i in range(count)]
    signature = Signature(inputs, outputs=[kind] * outputs, returns="one" if outputs == 1 else "list")
    lines = [f"    const double *x{i} = (void *)buf[{i}];" for i in range(count)]
    lines += [f"    double *restrict o{k} = (void *)buf[{signature.output_buf(k)}];" for k in range(outputs)]
    total = " + ".join(f"x{i}[i]" for i in range(count))
    stores = " ".join(f"o{k}[i] = s + {k + 1};" for k in range(outputs))
    length = f"    const int64_t n = {'env[0]' if ndim else 1};"
    loop = f"    for (int64_t i = 0; i < n; i++) {{ double s = {total}; {stores} }}"
    body = "\n".join([*lines, length, loop])
    plan = " ".join(f"env[{signature.output_env(k)}] = env[0];" for k in range(outputs)) if ndim else ""
    return glue.bind(program(signature, body, plan), signature)


def updates(count: int, mode: str):
    """`count` vectors of three, each decreased by the argument; nothing is returned."""
    signature = Signature(
        [Input("x", "float64", (None,))],
        [CellInput("float64", (None,))] * count,
        updates=[Update(k, "float64", 1, mode) for k in range(count)],
        returns="none",
    )
    steps = [
        f"    for (int64_t i = 0; i < env[0]; i++) ((double *)buf[{signature.update_buf(k)}])[i] = "
        f"((double *)buf[{signature.cell_buf(k)}])[i] - ((double *)buf[0])[i];"
        for k in range(count)
    ]
    plan = " ".join(f"env[{signature.update_env(k)}] = env[0];" for k in range(count))
    cells = [glue.cell(np.zeros(3)) for _ in range(count)]
    return glue.bind(program(signature, "\n".join(steps), plan), signature, cells=cells)


def microseconds(statement: str, repeat: int, **names) -> float:
    timer = timeit.Timer(statement, globals=names)
    number = max(1, timer.autorange()[0] // 4)
    return min(timer.repeat(repeat, number)) / number * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=15)
    repeat = parser.parse_args().repeat
    zero, three = np.array(1.0), np.ones(3)
    numpy = {0: microseconds("a + 1", repeat, a=zero), 1: microseconds("a + 1", repeat, a=three)}
    rows = [
        ("x + 1, scalar", 0, microseconds("f(a)", repeat, f=sums(1, 0, 1), a=zero)),
        ("x + 1, scalar, np.float64 out", 0, microseconds("f(a)", repeat, f=sums(1, 0, 1, True), a=zero)),
        ("x + 1, Python float in", 0, microseconds("f(1.5)", repeat, f=sums(1, 0, 1))),
        ("x + 1, vector of 3", 1, microseconds("f(a)", repeat, f=sums(1, 1, 1), a=three)),
        ("x + 1, vector of 3, by keyword", 1, microseconds("f(x0=a)", repeat, f=sums(1, 1, 1), a=three)),
        ("20 in, 1 out, scalars", 0, microseconds("f(*a)", repeat, f=sums(20, 0, 1), a=[zero] * 20)),
        ("20 in, 1 out, vectors of 3", 1, microseconds("f(*a)", repeat, f=sums(20, 1, 1), a=[three] * 20)),
        ("20 in, 20 out, scalars", 0, microseconds("f(*a)", repeat, f=sums(20, 0, 20), a=[zero] * 20)),
        ("20 in, 20 out, vectors of 3", 1, microseconds("f(*a)", repeat, f=sums(20, 1, 20), a=[three] * 20)),
        ("1 update, two buffers", 1, microseconds("f(a)", repeat, f=updates(1, "fresh"), a=three)),
        ("1 update, in place", 1, microseconds("f(a)", repeat, f=updates(1, "overwrite"), a=three)),
        ("20 updates, in place", 1, microseconds("f(a)", repeat, f=updates(20, "overwrite"), a=three)),
    ]
    print(f"NumPy a + 1: scalar {numpy[0]:.3f} us, vector of 3 {numpy[1]:.3f} us")
    print(f"{'':34}{'us/call':>9}{'/ NumPy':>9}")
    for name, ndim, time in rows:
        print(f"{name:34}{time:9.3f}{time / numpy[ndim]:9.2f}")
    print(f"\n{'x + 1, GB/s read and written':34}{'compiled':>9}{'NumPy':>9}")
    f = sums(1, 1, 1)
    for n in (10**5, 10**6, 10**7):
        a = np.ones(n)
        ours, theirs = (microseconds(s, repeat, f=f, a=a) for s in ("f(a)", "a + 1"))
        print(f"{n:<34}{16e-3 * n / ours:9.1f}{16e-3 * n / theirs:9.1f}")


if __name__ == "__main__":
    main()
