"""PyMC's models on termgraph, beside PyTensor's own backends: correctness, compile time, time of a gradient, ops.

    python benchmarks/peers.py pymc                          # once: PyMC, Numba and JAX in an environment of their own
    python benchmarks/bayes.py check                         # logp and gradient against PyTensor's own, to 1e-10
    python benchmarks/bayes.py compile radon ode             # CPU seconds to compile and call once, cold and warm
    python benchmarks/bayes.py calls                         # microseconds of one logp and gradient, interleaved
    python benchmarks/bayes.py table                         # both: all backends of a model in one process, twice
    python benchmarks/bayes.py ops                           # which ops occur, and how many were called, not converted
    python benchmarks/bayes.py sample                        # pm.sample: posterior and time from end to end

Backends: tg (mode TERMGRAPH), tg_fast (TERMGRAPH_FAST_RUN), own (logp_and_grad), numba, c, jax. Everything runs in the
peers' environment, one process for each model and backend, with one thread.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
MODES = {
    "tg": "TERMGRAPH",
    "tg_fast": "TERMGRAPH_FAST_RUN",
    "numba": "NUMBA",
    "c": "CVM",
    "jax": "JAX",
    "py": "FAST_COMPILE",
}
BACKENDS = ("tg", "own", "numba", "c", "jax")
ONE_THREAD = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"),
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}


# ---------------------------------------------------------------------- in the peers' environment
def compiled(model, backend):
    """A function of one flat vector that gives the log-probability and its gradient."""
    if backend == "own":
        from termgraph.pytensor import logp_and_grad

        return logp_and_grad(model)
    f = model.logp_dlogp_function(ravel_inputs=True, mode=MODES[backend])
    f.set_extra_values({})
    f._pytensor_function.trust_input = True
    return f


def points(model, n=3):
    import numpy as np

    r = np.random.default_rng(5)
    size = sum(np.size(v) for v in model.initial_point().values())
    return [r.normal(size=size) * 0.1 for _ in range(n)]


def cpu() -> float:
    """CPU seconds of this process and of the compilers that it ran."""
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def work(what: str, name: str, backends: list[str]) -> dict:
    """One process: what is asked of one model."""
    sys.path[:] = [p for p in sys.path if Path(p or ".").resolve() != HERE]
    sys.path.insert(0, str(HERE.parent))
    import numpy as np
    import pytensor

    import termgraph.pytensor  # noqa: F401  makes the modes known

    sys.path.append(str(HERE))
    from bayes_models import MODELS

    if what == "names":
        return {"names": list(MODELS)}
    model = MODELS[name]()
    if what == "values":
        f = compiled(model, backends[0])
        return {"values": [[float(v), np.asarray(g).tolist()] for v, g in map(f, points(model))]}
    if what == "compile":
        x = pytensor.tensor.dvector("x")
        mode = MODES.get(backends[0], "TERMGRAPH")
        pytensor.function([x], x * 2, mode=mode)(np.ones(2))
        at, wall = cpu(), time.perf_counter()
        f = compiled(model, backends[0])
        f(points(model)[0])
        return {"cpu": cpu() - at, "wall": time.perf_counter() - wall}
    if what == "table":
        return everything(model, backends)
    if what == "calls":
        return {"calls": interleaved({b: compiled(model, b) for b in backends}, points(model)[0])}
    if what == "ops":
        f = compiled(model, "tg")
        c = f._pytensor_function.maker.linker.conversion
        return {"converted": dict(c.converted), "called": dict(c.called)}
    return sampled(model, backends[0])


def everything(model, backends: list[str]) -> dict:
    """CPU seconds to compile and call once, backend by backend, and of PyMC before it names one; then the calls."""
    import numpy as np
    import pymc
    import pytensor

    x, start = pytensor.tensor.dvector("x"), points(model)[0]
    compiled(model, "py")  # what is done once for all of them
    spent, functions = {}, {}
    built, compile_graph = [0.0], pymc.model.core.compile

    def seen(*inputs, **options):
        built.append(cpu() - at)
        return compile_graph(*inputs, **options)

    pymc.model.core.compile = seen
    for backend in backends:
        pytensor.function([x], x * 2, mode=MODES.get(backend, "TERMGRAPH"))(np.ones(2))
        at = cpu()
        functions[backend] = compiled(model, backend)
        functions[backend](start)
        spent[backend] = cpu() - at
    return {"cpu": spent, "built": float(np.median(built[1:])), "calls": interleaved(functions, start)}


def interleaved(functions: dict, x) -> dict[str, float]:
    """Microseconds of a call: the median of 15 batches, one backend after the other in each round."""
    import numpy as np

    batches: dict[str, list[float]] = {name: [] for name in functions}
    sizes = {}
    for name, f in functions.items():
        f(x)
        start = time.process_time()
        for _ in range(5):
            f(x)
        sizes[name] = max(3, int(0.04 / max((time.process_time() - start) / 5, 1e-6)))
    for _ in range(15):
        for name, f in functions.items():
            start = time.process_time()
            for _ in range(sizes[name]):
                f(x)
            batches[name].append((time.process_time() - start) / sizes[name])
    return {name: float(np.median(b) * 1e6) for name, b in batches.items()}


def of_backend(model, backend) -> dict:
    """How `pm.sample` is told of a backend; `default` says nothing."""
    import pymc as pm

    if backend == "own":
        return {"step": pm.NUTS(logp_dlogp_func=compiled(model, backend))}
    return {} if backend == "default" else {"compile_kwargs": {"mode": MODES[backend]}}


def sampled(model, backend) -> dict:
    """Of each number of the posterior the mean, its Monte Carlo error, the effective size and split R-hat; the time."""
    import arviz as az
    import pymc as pm

    start, at = time.perf_counter(), cpu()
    with model:
        given = of_backend(model, backend)
        trace = pm.sample(
            500, tune=500, chains=2, cores=1, random_seed=4, progressbar=False, nuts_sampler="pymc", **given
        )
    seconds, spent = time.perf_counter() - start, cpu() - at
    posterior = trace.posterior
    parts = {
        "mean": posterior.mean(("chain", "draw")), "error": az.mcse(posterior), "ess": az.ess(posterior),
        "rhat": az.rhat(posterior),
    }  # fmt: skip
    figures = {
        what: [float(v) for name in posterior.data_vars for v in found[name].values.ravel()]
        for what, found in parts.items()
    }
    return {"posterior": figures, "wall": seconds, "cpu": spent}


# ---------------------------------------------------------------------- here
def python() -> str:
    """The interpreter with PyMC: that of the peers, or this one."""
    sys.path.insert(0, str(HERE))
    import peers

    found = peers.manifest()["peers"].get("pymc")
    return found["python"] if found else sys.executable


def blas() -> str:
    """The flag that gives PyTensor's C code the BLAS of `benchmarks/peers.py openblas`; empty without one."""
    import peers

    found = peers.manifest().get("blas")
    return f",blas__ldflags={found}" if found else ""


def run(what: str, name: str, backends: list[str], cache: Path) -> dict:
    """The answer of a fresh process whose caches are in one folder."""
    interpreter = python()
    settings = {
        **os.environ, **ONE_THREAD, "XDG_CACHE_HOME": str(cache), "NUMBA_CACHE_DIR": str(cache / "numba"),
        "PYTENSOR_FLAGS": f"base_compiledir={cache / 'pytensor'}{blas()}", "PYTHONWARNINGS": "ignore",
    }  # fmt: skip
    command = [interpreter, str(HERE / "bayes.py"), "--worker", what, name, *backends]
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=settings, timeout=900)
    except subprocess.TimeoutExpired:
        return {"error": "no answer in 900 s"}
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["failed"])[-1][:200]}
    return json.loads(done.stdout.strip().splitlines()[-1])


def check(names: list[str], cache: Path) -> None:
    print("| model | value: tg | gradient: tg | value: own | gradient: own |\n|---|---|---|---|---|")
    for name in names:
        right = run("values", name, ["py"], cache)
        cells = []
        for backend in ("tg", "own"):
            got = run("values", name, [backend], cache)
            cells += [got["error"], ""] if "error" in got else differences(got, right)
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def differences(got: dict, right: dict) -> list[str]:
    """How far values and gradients are apart, relative to the largest number in them."""
    if "error" in right:
        return [right["error"], ""]
    worst = [0.0, 0.0]
    for (v, g), (w, h) in zip(got["values"], right["values"]):
        scale = max(map(abs, h)) or 1.0
        worst[0] = max(worst[0], abs(v - w) / max(abs(w), 1.0))
        worst[1] = max(worst[1], max(abs(a - b) for a, b in zip(g, h)) / scale)
    return [f"{w:.1e}" for w in worst]


def cache_of(name: str, cache: Path, apart: bool = False) -> Path:
    """The folder of a model's caches: one for all backends, which do not share files, but for `own` and `tg`."""
    return cache / name / ("own" if apart else "all")


def compile_times(names: list[str], backends: list[str], cache: Path) -> None:
    print(f"CPU seconds, cold / warm\n| model | {' | '.join(backends)} |\n{'|---' * (len(backends) + 1)}|")
    for name in names:
        cells = []
        for backend in backends:
            folder = cache_of(name, cache, backend == "own")
            if backend in ("own", backends[0]):
                shutil.rmtree(folder, ignore_errors=True)
            cold = run("compile", name, [backend], folder)
            warm = run("compile", name, [backend], folder) if "error" not in cold else cold
            cells.append(cold.get("error") or f"{cold['cpu']:.1f} / {warm['cpu']:.1f}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def calls(names: list[str], backends: list[str], cache: Path) -> None:
    heads = ["model", *backends, "tg / best peer", "own / best peer"]
    print(f"microseconds of CPU\n| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    for name in names:
        got = run("calls", name, backends, cache_of(name, cache))  # with --cache, what `compile` made is there
        if "error" in got:
            print(f"| {name} | {got['error']} |", flush=True)
            continue
        us = got["calls"]
        best = min([us[b] for b in backends if b in ("numba", "c", "jax")], default=float("nan"))
        cells = [f"{us[b]:.1f}" for b in backends] + [f"{us.get(b, best) / best:.2f}" for b in ("tg", "own")]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def table(names: list[str], backends: list[str], cache: Path) -> None:
    heads = ["model", *backends, "PyMC alone, warm", "cold: tg / numba", "warm: tg / best peer"]
    heads += ["call: tg / best peer", "call: own / best"]
    print(
        f"CPU seconds cold / warm: microseconds of a call\n| {' | '.join(heads)} |\n{'|---' * len(heads)}|", flush=True
    )
    peers = [b for b in backends if b in ("numba", "c", "jax")]
    for name in names:
        folder = cache_of(name, cache)
        shutil.rmtree(folder, ignore_errors=True)
        cold = run("table", name, backends, folder)
        warm = run("table", name, backends, folder) if "error" not in cold else cold
        if "error" in warm:
            print(f"| {name} | {warm['error']} |", flush=True)
            continue
        at_first, then, us = cold["cpu"], warm["cpu"], warm["calls"]
        cells = [f"{at_first[b]:.1f} / {then[b]:.1f}: {us[b]:.1f}" for b in backends]
        best = min(us[b] for b in peers)
        shares = [at_first["tg"] / at_first["numba"], then["tg"] / min(then[b] for b in peers), us["tg"] / best]
        cells += [f"{share:.2f}" for share in [warm["built"], *shares, us["own"] / best]]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def ops(names: list[str], cache: Path) -> None:
    total: dict[str, list[int]] = {}
    called: dict[str, int] = {}
    for name in names:
        got = run("ops", name, ["tg"], cache)
        for op, n in got["converted"].items():
            total.setdefault(op, []).append(n)
        for op, n in got["called"].items():
            called[op] = called.get(op, 0) + n
    print("| op | nodes | models |\n|---|---|---|")
    for op, counts in sorted(total.items(), key=lambda item: -sum(item[1])):
        print(f"| {op} | {sum(counts)} | {len(counts)} |")
    print(f"{sum(map(sum, total.values()))} nodes of {len(total)} kinds; called, not converted: {called or 'none'}")


def sample(names: list[str], backends: list[str], cache: Path) -> None:
    for name in names:
        runs = {b: run("sample", name, [b], cache) for b in backends}
        for b, got in runs.items():
            print(name, b, got.get("error") or of_run(got), flush=True)
        good = [got["posterior"] for got in runs.values() if "error" not in got]
        if len(good) == 2:
            z = distances(*good)
            far = sum(d > 1.96 for d in z)
            print(f"  differences of means over their errors: largest {max(z):.2f}, {far} of {len(z)} above 1.96")


def of_run(got: dict) -> str:
    found = got["posterior"]
    worst = f"least effective size {min(found['ess']):.0f}, largest R-hat {max(found['rhat']):.3f}"
    return f"{got['wall']:.1f} s wall, {got['cpu']:.1f} s CPU; {worst}"


def distances(a: dict, b: dict) -> list[float]:
    """How far the means of two posteriors are apart, in Monte Carlo standard errors of the difference."""
    pairs = zip(a["mean"], b["mean"], a["error"], b["error"])
    return [abs(m - n) / ((e**2 + f**2) ** 0.5 or 1.0) for m, n, e, f in pairs]


def main() -> int:
    if sys.argv[1:2] == ["--worker"]:
        what, name, *backends = sys.argv[2:]
        print(json.dumps(work(what, name, backends)))
        return 0
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["check", "compile", "calls", "table", "ops", "sample"])
    parser.add_argument("models", nargs="*", help="which models (default: all)")
    parser.add_argument("--backends", default=None, help="comma-separated: " + ", ".join([*MODES, "own"]))
    parser.add_argument("--cache", type=Path, default=None, help="a folder for all caches (default: a temporary one)")
    asked = parser.parse_args()
    backends = asked.backends.split(",") if asked.backends else None
    with tempfile.TemporaryDirectory() as folder:
        cache = asked.cache or Path(folder) / "cache"
        names = asked.models or run("names", "", [], cache)["names"]
        if asked.what == "check":
            check(names, cache)
        elif asked.what == "compile":
            compile_times(names, backends or list(BACKENDS), cache)
        elif asked.what == "calls":
            calls(names, backends or list(BACKENDS), cache)
        elif asked.what == "table":
            table(names, backends or list(BACKENDS), cache)
        elif asked.what == "ops":
            ops(names, cache)
        else:
            sample(names, backends or ["tg", "default"], cache)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
