# ruff: noqa: E501, B002
# fmt: off
# # Build termgraph from nothing
#
# This page is a program. It builds the idea of termgraph, from a term to a compiled kernel, with nothing but NumPy and a
# C compiler. Read it from top to bottom in half an hour, or run `python examples/from_nothing.py`: it tests itself.
#
# Five steps: **terms** (what an expression is), **rules** (how it gets better), **derivatives** (by the same means),
# **kernels** (loops in C), and **function()**, which puts them in a row. Arrays are vectors of `double`, all of one length.

import ctypes
import itertools
import math
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

# ## 1. Terms
#
# An expression is a *term*: an operation and the terms it is applied to. Nothing else is needed, and nothing is computed yet.
# Two things matter. A term never changes, and **equal terms are the same object**: before a term is made, a table is asked
# whether it exists. So equality is `is`, common parts are shared by themselves, and a result noted once for a term (its
# derivative, its simplest form) holds wherever the term occurs.

TABLE: dict = {}


class Term:
    """An operation applied to terms. `value` is the name of an input or the number of a constant."""

    op: str
    args: tuple
    rank: int
    value = None

    def __new__(cls, op, *args, value=None):
        key = (op, args, value)
        if key not in TABLE:
            made = TABLE[key] = object.__new__(cls)
            made.op, made.args, made.value = op, args, value
            made.rank = 1 if op == "vector" else 0 if op == "sum" else max([a.rank for a in args], default=0)  # 1: vectors
        return TABLE[key]

    def __add__(self, other): return Term("add", self, lift(other))
    def __radd__(self, other): return Term("add", lift(other), self)
    def __mul__(self, other): return Term("mul", self, lift(other))
    def __rmul__(self, other): return Term("mul", lift(other), self)
    def __sub__(self, other): return self + -lift(other)
    def __rsub__(self, other): return lift(other) + -self
    def __truediv__(self, other): return Term("div", self, lift(other))
    def __rtruediv__(self, other): return Term("div", lift(other), self)
    def __neg__(self): return Term("neg", self)

    def __repr__(self):
        return str(self.value) if not self.args else f"{self.op}({', '.join(map(repr, self.args))})"


def lift(x):
    return x if isinstance(x, Term) else Term("const", value=float(x))


def vector(name): return Term("vector", value=name)
def scalar(name): return Term("scalar", value=name)
def exp(x): return Term("exp", lift(x))
def log(x): return Term("log", lift(x))
def log1p(x): return Term("log1p", lift(x))
def softplus(x): return Term("softplus", lift(x))
def sigmoid(x): return Term("sigmoid", lift(x))
def total(x): return Term("sum", x)


# What do the operations mean? One table says it for NumPy. It is the judge in all tests: whatever rules and compilers do,
# the numbers must stay these.

MEANING = {
    "add": np.add, "mul": np.multiply, "div": np.divide, "neg": np.negative, "exp": np.exp, "log": np.log, "log1p": np.log1p,
    "softplus": lambda x: np.logaddexp(0, x), "sigmoid": lambda x: 0.5 * (1 + np.tanh(x / 2)), "sum": np.sum,
}


def children_first(roots):
    """Every term below the roots once, operands before what uses them. No recursion: expressions get deep."""
    order, seen, stack = [], set(), [(r, False) for r in reversed(roots)]
    while stack:
        t, ready = stack.pop()
        if ready:
            order.append(t)
        elif t not in seen:
            seen.add(t)
            stack.append((t, True))
            stack += [(a, False) for a in reversed(t.args)]
    return order


def evaluate(roots, given):
    """The values of the roots by the meaning of each operation; `given` has the values of the inputs by name."""
    values = {}
    for t in children_first(roots):
        values[t] = MEANING[t.op](*[values[a] for a in t.args]) if t.args else given.get(t.value, t.value)
    return [values[r] for r in roots]


# ## 2. Rules
#
# A simplification is a pair of terms with *holes* in them: what a hole on the left matched is put into the hole on the
# right. That is all a rule is: data. It can be printed, counted, searched, tried on random numbers, and read from right
# to left. `add` and `mul` match in either order, so no rule is written twice.


def hole(name): return Term("hole", value=name)


def matches(pattern, t, bound):
    """Every way to fill the holes of a pattern so that it is `t`, each a dictionary."""
    if pattern.op == "hole":
        if bound.get(pattern, t) is t:
            yield {**bound, pattern: t}
    elif pattern.op == t.op and pattern.value == t.value and len(pattern.args) == len(t.args):
        orders = [t.args, t.args[::-1]] if t.op in ("add", "mul") else [t.args]
        for args in orders:
            found = [bound]
            for p, a in zip(pattern.args, args):
                found = [more for b in found for more in matches(p, a, b)]
            yield from found


def filled(pattern, bound):
    if pattern.op == "hole":
        return bound[pattern]
    return Term(pattern.op, *[filled(a, bound) for a in pattern.args], value=pattern.value)


x, y = hole("x"), hole("y")
RULES = {
    "add_zero": (x + 0, x),
    "mul_one": (x * 1, x),
    "neg_neg": (-(-x), x),
    "mul_neg": (x * -y, -(x * y)),
    "log_exp": (log(exp(x)), x),
    "log1p": (log(1 + x), log1p(x)),                      # keeps the digits of small x
    "softplus": (log1p(exp(x)), softplus(x)),             # does not overflow
    "sigmoid": (exp(x) / (1 + exp(x)), sigmoid(x)),       # neither does this
    "sigmoid_inverse": (1 / (1 + exp(-x)), sigmoid(x)),
    "sigmoid_exp": (sigmoid(x) * exp(-x), sigmoid(-x)),   # nor a large number times a tiny one
    "div_self": (x / x, lift(1)),                         # an assumption: x is not 0
}


def simplified(roots, rules=RULES):
    """The roots with every rule used wherever it fits, and the list of what was done: (rule, before, after)."""
    best, trace = {}, []
    for t in children_first(roots):
        now = Term(t.op, *[best[a] for a in t.args], value=t.value)
        while True:
            step = next(((n, filled(right, b)) for n, (left, right) in rules.items() for b in matches(left, now, {})), None)
            if step is None:
                break
            trace.append((step[0], now, step[1]))
            now = step[1]
            if now in best:
                now = best[now]
        best[t] = best[now] = now
    return [best[r] for r in roots], trace


def backwards(t, rules=RULES):
    """What one rule turns into `t`: the rules read from right to left. A hole that is only on the left may be anything."""
    return [(n, filled(left, b)) for n, (left, right) in rules.items() for b in matches(right, t, {})
            if all(h in b for h in children_first([left]) if h.op == "hole")]


# ## 3. Derivatives
#
# The derivative of a whole is a sum over ways through it. Walk from the result to the inputs and keep for each term how much
# the result changes with it; an operation says what it hands to its operands. These are terms like others, so what was
# built for expressions holds for their derivatives: sharing, rules, kernels.

SLOPES = {
    "add": lambda g, t, a, b: (g, g),
    "mul": lambda g, t, a, b: (g * b, g * a),
    "div": lambda g, t, a, b: (g / b, -(g * t) / b),
    "neg": lambda g, t, a: (-g,),
    "exp": lambda g, t, a: (g * t,),
    "log": lambda g, t, a: (g / a,),
    "log1p": lambda g, t, a: (g / (1 + a),),
    "softplus": lambda g, t, a: (g * sigmoid(a),),
    "sigmoid": lambda g, t, a: (g * t * (1 - t),),
    "sum": lambda g, t, a: (g,),
}


def grad(cost, wrt):
    """The derivatives of a number by each of the inputs."""
    slope = {cost: lift(1)}
    for t in reversed(children_first([cost])):
        if t.args and t in slope:
            for a, g in zip(t.args, SLOPES[t.op](slope[t], t, *t.args)):
                g = total(g) if a.rank < g.rank else g  # a number was used by every element
                slope[a] = slope[a] + g if a in slope else g
    return [slope.get(w, lift(0)) for w in wrt]


# ## 4. Kernels
#
# NumPy computes an operation at a time and writes each array to memory. We know the whole expression, so we write the loop
# that a person would write: one that reads inputs, keeps everything between in registers, and stores results. A sum is a
# loop that adds up. What needs the sum must wait for it; all else can share a loop. So a term's *stage* is the number of
# sums that must be finished before it, and there is one loop for each stage.

C = {
    "add": "{} + {}", "mul": "{} * {}", "div": "{} / {}", "neg": "-{}", "exp": "exp({})", "log": "log({})", "log1p": "log1p({})",
    "softplus": "fmax({0}, 0) + log1p(exp(-fabs({0})))", "sigmoid": "0.5 * (1 + tanh({} / 2))",
}


def stages(order):
    found = {}
    for t in order:
        found[t] = max([found[a] + (a.op == "sum") for a in t.args], default=0)
    return found


def kernel(inputs, outputs):
    """The C text of a function that computes the outputs, and the number of its loops."""
    order = children_first(outputs)
    stage, name = stages(order), {t: f"t{k}" for k, t in enumerate(order)}
    for t in inputs:
        name[t] = t.value + ("[i]" if t.rank else "[0]")
    for t in order:
        if t.op == "const":
            name[t] = repr(t.value) if math.isfinite(t.value) else "INFINITY"
    lines = [f"    double {name[t]} = 0;" for t in order if t.op == "sum"]
    loops = 0
    for s in range(max(stage.values(), default=0) + 1):
        here = [t for t in order if stage[t] <= s and t.args and t.op != "sum"]
        numbers = [t for t in here if t.rank == 0 and stage[t] == s]
        lines += [f"    const double {name[t]} = {C[t.op].format(*[name[a] for a in t.args])};" for t in numbers]
        sums = [t for t in order if t.op == "sum" and stage[t] == s]
        stored = [k for k, t in enumerate(outputs) if t.rank == 1 and stage[t] == s]
        if sums or stored:
            loops += 1
            needed = set(children_first([*[t.args[0] for t in sums], *[outputs[k] for k in stored]]))
            lines.append("    for (long i = 0; i < n; i++) {")
            lines += [f"        const double {name[t]} = {C[t.op].format(*[name[a] for a in t.args])};"
                      for t in here if t.rank == 1 and t in needed]
            lines += [f"        {name[t]} += {name[t.args[0]]};" for t in sums]
            lines += [f"        out{k}[i] = {name[outputs[k]]};" for k in stored]
            lines.append("    }")
    lines += [f"    out{k}[0] = {name[t]};" for k, t in enumerate(outputs) if t.rank == 0]
    arguments = [f"const double *{t.value}" for t in inputs] + [f"double *out{k}" for k in range(len(outputs))]
    return "\n".join(["#include <math.h>", f"void run(long n, {', '.join(arguments)})", "{", *lines, "}"]), loops


# ## 5. function()
#
# Simplify, print, compile, load. Without a compiler the meaning of the operations computes the same numbers.

FOLDER = tempfile.TemporaryDirectory()  # for compiled kernels; it goes when the program ends
COUNT = itertools.count()


def built(text):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    source = Path(FOLDER.name, f"kernel{next(COUNT)}.c")
    source.write_text(text)
    library = source.with_suffix(".so")
    subprocess.run([compiler, "-O3", "-shared", "-fPIC", "-o", library, source, "-lm"], check=True)
    return ctypes.CDLL(str(library)).run


def function(inputs, outputs):
    """A callable that takes arrays for the inputs and gives the values of the outputs."""
    best, trace = simplified(outputs)
    text, loops = kernel(inputs, best)
    run = built(text)

    def call(*values):
        arrays = [np.ascontiguousarray(v, dtype=float) for v in values]
        if run is None:
            return evaluate(best, {t.value: v for t, v in zip(inputs, arrays)})
        n = max([len(a) for a, t in zip(arrays, inputs) if t.rank], default=0)
        results = [np.empty(n if t.rank else ()) for t in best]
        run(ctypes.c_long(n), *[ctypes.c_void_p(a.ctypes.data) for a in [*arrays, *results]])
        return results

    call.trace, call.source, call.loops = trace, text, loops
    return call


# ## What came of it
#
# Logistic regression with one weight, as one would write it down. The cost overflows if it is computed as it stands.


def show():
    data, w = vector("data"), scalar("w")
    cost = total(log(1 + exp(-(w * data))))
    f = function([data, w], [cost, *grad(cost, [w])])
    print("written:   ", cost)
    print("compiled:  ", simplified([cost])[0][0])
    for rule, before, after in f.trace[:3]:
        print(f"  {rule:10} {before} -> {after}")
    print("value and derivative at w = -1:", *f([1.0, 800.0], -1.0))
    print("loops:     ", f.loops)
    print("backwards: ", *[t for rule, t in backwards(softplus(vector("v"))) if rule == "softplus"])
    return f


# ## Tests
#
# The tests that matter are few: terms are shared, rules keep the numbers, derivatives agree with differences, kernels agree
# with the meaning, and loops are as few as can be.


def tests():
    a, b, s = vector("a"), vector("b"), scalar("s")
    assert exp(a) + b is exp(a) + b and exp(a) is not exp(b)

    rng = np.random.default_rng(0)
    given = {"x": rng.uniform(0.5, 2, 9), "y": rng.uniform(0.5, 2, 9)}
    for left, right in RULES.values():  # holes are evaluated like inputs
        one, other = evaluate([left, right], given)
        np.testing.assert_allclose(one, np.broadcast_to(other, np.shape(one)), rtol=1e-12)

    assert simplified([log(exp(a) + 1)])[0] == [softplus(a)]  # in either order
    assert simplified([(a * 1 + 0) / (a + 0)])[0] == [lift(1)]
    assert ("softplus", log1p(exp(a))) in backwards(softplus(a))

    cost = total(log(1 + exp(a * s)) / (2 + b * b) + total(a) * sigmoid(-b))
    values: dict = {"a": rng.normal(size=7), "b": rng.normal(size=7), "s": np.array(0.7)}
    slopes = evaluate(grad(cost, [a, b, s]), values)
    for t, slope in zip([a, b, s], slopes):
        step = 1e-6 * rng.normal(size=values[t.value].shape)
        up, down = [evaluate([cost], {**values, t.value: values[t.value] + sign * step})[0] for sign in (1, -1)]
        np.testing.assert_allclose(np.sum(slope * step) * 2, up - down, rtol=1e-5, atol=1e-12)

    f = function([a, b, s], [cost, exp(a) + b, *grad(cost, [a, s])])
    expected = evaluate([cost, exp(a) + b, *grad(cost, [a, s])], values)
    for got, want in zip(f(values["a"], values["b"], values["s"]), expected):
        np.testing.assert_allclose(got, want, rtol=1e-12)
    assert function([a, b], [total(a * b), total(a), a + b]).loops == 1  # three results, one loop
    assert function([a], [a / total(exp(a))]).loops == 2  # the sum first

    value, slope = show()([1.0, 800.0], -1.0)
    assert np.isfinite(value) and np.isfinite(slope)
    deep = a
    for _ in range(3000):
        deep = deep * 1 + 0
    assert simplified([deep])[0] == [a]  # no recursion over the depth of expressions


if __name__ == "__main__":
    tests()
    print("all tests passed")

# ## What the real thing adds
#
# | here | in termgraph |
# |---|---|
# | eleven rules, tried one after the other | 850, compiled into a matcher that looks at each once ([rules](../rules.md)) |
# | `x / x` is 1, trust me | facts and goals: what must be known, and what is assumed ([facts](../rules.md#goals)) |
# | `matches` and `backwards` | miniKanren: any question, in any direction |
# | vectors of one length | any rank, dtype and broadcasting; indexing, loops, linear algebra |
# | one loop for each stage | fusion, blocks, vectors, threads, memory that is used again ([lowering](../dev/lowering.md)) |
# | derivatives in a table | derivatives are rules as well, of every operation ([gradients](../gradients.md)) |
# | C | C and CUDA ([the road](../dev/architecture.md#the-road)) |
