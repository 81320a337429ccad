"""Whether a rule keeps the value: expressions before and after, in float64 and float32, against mpmath.

`check_rule` asks for the rule to fire on an expression written the natural way, for the expected form, and that no
value gets worse anywhere, extreme points included.
"""

import functools
import importlib
import itertools

import mpmath
import numpy as np

import termgraph.tensor as T
from termgraph import _rulelib
from termgraph.rules import RuleSet
from termgraph.rules.defined import DEFINED
from termgraph.terms.evaluate import evaluate
from termgraph.terms.op import CONST
from termgraph.terms.traverse import children_first

mp = mpmath.mp.clone()
mp.dps = 350  # so that 1 - exp(-700) is not 1
TRUSTED = frozenset(("finite", "nonzero"))
EXTREMES = (
    0.0, -0.0, 1e-20, -1e-20, 1e-5, -1e-5, 0.1, 0.3, -0.3, 0.5, 0.75, 1.0, -1.0, 1.5, 2.5, -2.5, 7.0, -7.0, 30.0,
    -30.0, 90.0, -90.0, 700.0, -700.0, 720.0, 1e5, -1e5, np.inf, -np.inf,
)  # fmt: skip


# ---------------------------------------------------------------------- rewriting
@functools.cache
def stage(tag, assume=TRUSTED):
    """The rules of a stage, of the whole library."""
    _rulelib.package()
    for path in _rulelib.files():
        importlib.import_module(_rulelib.module_name(path))
    chosen = [r for r in DEFINED.values() if tag in r.tags and r.where.startswith(str(_rulelib.folder()))]
    return RuleSet(chosen, assume, tag)


def rewritten(expr, *stages, strict=True):
    """The expression after the stages (canonicalize, stabilize and canonicalize again), and the rules that fired."""
    fired = []
    for tag in stages or ("canonicalize", "stabilize", "canonicalize"):
        expr, trace = stage(tag).rewrite_traced(expr, strict=strict)
        fired += [step.rule for step in trace]
    return expr, fired


def optimized(expr):
    """All stages that rewrite expressions, and the rules that fired."""
    return rewritten(expr, "canonicalize", "stabilize", "canonicalize", "specialize")


def _term(expr):
    return getattr(expr, "term", expr)


def form(expr):
    """The expression as a table of nodes, in which constants are just numbers."""
    found = {}
    root = _term(expr)
    for t in children_first([root]):
        uniform = t.op is CONST and t.scalar is not None
        key = float(t.scalar) if uniform else (t.op, *[found[a] for a in t.args]) if t.args else t
        found[t] = key
    return found[root]


# ---------------------------------------------------------------------- exact values
def _stable_softplus(x):
    return x + mp.log1p(mp.exp(-x)) if x > 0 else mp.log1p(mp.exp(x))


def _pow(x, y):
    return mp.mpf(0) if x == 0 and y > 0 else mp.power(x, y)


def _log(x):
    return mp.ninf if x == 0 else mp.log(x)


ONE = {
    "exp": lambda x: mp.exp(x), "log": _log, "log2": lambda x: _log(x) / mp.log(2), "log1p": lambda x: mp.log1p(x),
    "expm1": lambda x: mp.expm1(x), "exp2": lambda x: mp.power(2, x), "neg": lambda x: -x, "abs": lambda x: abs(x),
    "sqr": lambda x: x * x, "sqrt": lambda x: mp.sqrt(x), "reciprocal": lambda x: 1 / x, "sin": lambda x: mp.sin(x),
    "cos": lambda x: mp.cos(x), "tan": lambda x: mp.tan(x), "sinh": lambda x: mp.sinh(x), "cosh": lambda x: mp.cosh(x),
    "tanh": lambda x: mp.tanh(x), "arcsinh": lambda x: mp.asinh(x), "arccosh": lambda x: mp.acosh(x),
    "arctanh": lambda x: mp.atanh(x), "sigmoid": lambda x: 1 / (1 + mp.exp(-x)), "softplus": _stable_softplus,
    "log1mexp": lambda x: mp.log(-mp.expm1(x)) if x > -1 else mp.log1p(-mp.exp(x)),
    "erf": lambda x: mp.erf(x), "erfc": lambda x: mp.erfc(x),
    "erfcx": lambda x: mp.exp(x * x) * mp.erfc(x), "gamma": lambda x: mp.gamma(x), "sign": lambda x: mp.sign(x),
    "gammaln": lambda x: mp.log(abs(mp.gamma(x))),
}  # fmt: skip
TWO = {
    "sub": lambda x, y: x - y, "true_div": lambda x, y: x / y, "pow": _pow, "eq": lambda x, y: x == y,
    "hypot": lambda x, y: mp.sqrt(x * x + y * y), "gt": lambda x, y: x > y, "lt": lambda x, y: x < y,
    "logaddexp": lambda x, y: max(x, y) + mp.log1p(mp.exp(-abs(x - y))), "ge": lambda x, y: x >= y,
    "logaddexp2": lambda x, y: mp.log(mp.power(2, x) + mp.power(2, y)) / mp.log(2), "le": lambda x, y: x <= y,
    "xlogy": lambda x, y: mp.mpf(0) if x == 0 else x * mp.log(y),
}  # fmt: skip
MANY = {
    "add": lambda x, y: x + y, "mul": lambda x, y: x * y, "maximum": lambda x, y: max(x, y),
    "minimum": lambda x, y: min(x, y),
}  # fmt: skip


def _guarded(function):
    """Undefined and complex results are NaN."""

    @functools.wraps(function)
    def value(*xs):
        if any(isinstance(x, mp.mpf) and mp.isnan(x) for x in xs):
            return mp.nan
        try:
            found = function(*xs)
        except (ValueError, ZeroDivisionError, OverflowError, mpmath.libmp.NoConvergence):
            return mp.nan
        return mp.nan if isinstance(found, mp.mpc) else found

    return value


def _lse(x, axis):
    return np.frompyfunc(_guarded(_log), 1, 1)(np.sum(np.frompyfunc(_guarded(ONE["exp"]), 1, 1)(x), axis=axis))


def _kept(x, axis):
    return np.expand_dims(x, axis)


def _exact_op(op, args):
    name = op.name
    if name in ONE:
        return np.frompyfunc(_guarded(ONE[name]), 1, 1)(*args)
    if name in TWO:
        return np.frompyfunc(_guarded(TWO[name]), 2, 1)(*args)
    if name in MANY:
        return functools.reduce(np.frompyfunc(_guarded(MANY[name]), 2, 1), args)
    if name == "switch":
        return np.frompyfunc(lambda c, x, y: x if c else y, 3, 1)(*args)
    if name == "clip":
        return np.frompyfunc(lambda x, a, b: min(max(x, a), b), 3, 1)(*args)
    if name in ("cast", "assume"):
        return args[0]
    axis = op.params.get("axis")
    if name in ("sum", "prod", "max"):
        return {"sum": np.sum, "prod": np.prod, "max": np.max}[name](args[0], axis=axis)
    if name == "logsumexp":
        return _lse(args[0], axis)
    if name == "dot":
        return np.asarray(np.dot(*args), dtype=object)
    if name in ("softmax", "log_softmax"):
        logs = args[0] - _kept(_lse(args[0], axis), axis)
        return logs if name == "log_softmax" else np.frompyfunc(_guarded(ONE["exp"]), 1, 1)(logs)
    return op.meaning(*args)


def exact(expr, given):
    """The value with 350 digits: an object array of mpmath numbers."""
    values = {getattr(k, "term", k): _lifted(v) for k, v in given.items()}
    root = _term(expr)
    for t in children_first([root]):
        if t not in values:
            values[t] = _lifted(t.value) if t.op is CONST else _exact_op(t.op, [values[a] for a in t.args])
    return np.asarray(values[root], dtype=object)


def _lifted(v):
    v = np.asarray(v)
    if v.dtype.kind in "biu":
        return v
    return np.frompyfunc(lambda x: mp.mpf(float(x)), 1, 1)(v)


# ---------------------------------------------------------------------- comparing
def error(value, truth, dtype, near):
    """The distance in units of the last place (of the truth, or of `near` if that is larger); inf if hopeless."""
    info = np.finfo(dtype)
    if mp.isnan(truth) or np.isnan(value):
        return 0.0 if mp.isnan(truth) and np.isnan(value) else np.inf
    if abs(truth) >= mp.mpf(float(info.max)):
        return (
            0.0
            if np.isinf(value) and (value > 0) == (truth > 0)
            else float(abs(value) < info.max * 0.99) * np.inf
            if not np.isinf(truth)
            else np.inf
        )
    if np.isinf(value):
        return np.inf
    if abs(mp.mpf(float(value)) - truth) < mp.mpf(float(info.smallest_normal)):
        return 0.0  # gradual underflow is not counted: vector functions may leave it out
    size = max(abs(truth), mp.mpf(near))
    return float(abs(mp.mpf(float(value)) - truth) / (size * mp.mpf(float(info.eps))))


def points(count, choice=None, limit=150):
    """Arrays of extreme points, one per variable: all combinations, or a fixed sample of them."""
    grid = list(itertools.product(choice or EXTREMES, repeat=count))
    if len(grid) > limit:
        rng = np.random.default_rng(7)
        grid = [grid[i] for i in rng.choice(len(grid), limit, replace=False)]
    return [np.array(column) for column in zip(*grid, strict=True)]


def check_values(old, new, given, dtype, ulps=4.0, near=0.0, assumes=()):
    """No value of `new` is worse than that of `old`, wherever the assumptions hold; NaN may become a number."""
    with np.errstate(all="ignore"):
        was, now = evaluate([old, new], given)
    truth, promised = exact(new, given), exact(old, given)
    inputs = np.broadcast_arrays(*given.values(), was)[:-1] if was.shape == next(iter(given.values())).shape else []
    finite = all(np.isfinite(v).all() for v in given.values())
    assert now.dtype == was.dtype and now.shape == was.shape
    for i in np.ndindex(was.shape):
        place = {k.name: v[i] for k, v in zip(given, inputs)} if inputs else i
        if "finite" in assumes and not (all(np.isfinite(v[i]) for v in inputs) if inputs else finite):
            continue
        if np.isnan(was[i]) and "domain" in assumes:
            continue
        t, p = truth[i], promised[i]
        if mp.isnan(t):  # no exact value: outside the domain, or infinities
            infinite = not all(np.isfinite(v[i]) for v in inputs) if inputs else not finite
            same = now[i] == was[i] or np.isnan(was[i]) or (np.isnan(now[i]) and not infinite)
            assert same, f"{dtype} at {place}: {now[i]!r}, was {was[i]!r}; exactly {t} ({p} before)"
            continue
        if mp.mpf("1e-25") < abs(p) < mp.mpf("1e25"):
            assert abs(t - p) <= 4 * mp.mpf(float(np.finfo(dtype).eps)) * max(abs(p), mp.mpf(near)), (
                f"not an identity at {place}: {p} -> {t}"
            )
        before, after = error(was[i], t, dtype, near), error(now[i], t, dtype, near)
        assert after <= max(ulps, 1.01 * before), (
            f"{dtype} at {place}: {now[i]!r} is {after:.3g} ulps off, {was[i]!r} was {before:.3g}; "
            f"exactly {mp.nstr(t, 20)}"
        )


def check_rule(name, build, expected, *, at=None, ulps=4.0, near=0.0, shape=None, assume=None, specialize=False):
    """The rule fires on `build(variables)`, which becomes `expected(variables)`, and no value gets worse.

    `at` lists the points (numbers for all variables, or one list per variable); `shape` makes matrices of them.
    """
    count = build.__code__.co_argcount
    rule = stage("specialize" if specialize else "stabilize")[name]
    for dtype in ("float64", "float32"):
        data = at(dtype) if callable(at) else at
        columns = points(count, data) if shape is None else data
        columns = [np.asarray(c, dtype=dtype) for c in columns]
        variables = [T.tensor(f"x{k}", dtype=dtype, shape=(None,) * c.ndim) for k, c in enumerate(columns)]
        used = [T.assume(v, **assume) if assume else v for v in variables]
        old = build(*used)
        new, fired = (optimized if specialize else rewritten)(old)
        assert name in fired, f"{name} did not fire: {_term(old)} became {_term(new)} by {fired}"
        want, again = (optimized if specialize else rewritten)(expected(*used))
        assert name not in again or expected is None
        assert form(new) == form(want), f"{name}: expected {_term(want)}, got {_term(new)} by {fired}"
        check_values(old, new, dict(zip(variables, columns, strict=True)), dtype, ulps, near, rule.assumes)
    return True


def quiet(expr, *names):
    """None of the rules (all rules of a topic, for a topic's name) fires on the expression."""
    _, fired = optimized(expr)
    hit = [n for n in fired if n in names or n.partition(".")[0] in names]
    return not hit
