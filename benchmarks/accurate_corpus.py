"""Expressions of the kind that books on numerical analysis warn of, written for this benchmark: a line for each.

`text ; x low high ; y low high`: an expression of x, y, z (functions as in `termgraph.tensor`), and ranges that matter.
Without a range, all numbers are tried at which the value is a finite number.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import termgraph.tensor as T

TEXT = """
# cancellation: differences of roots
sqrt(x + 1) - sqrt(x) ; x 0 1e300
sqrt(x + y) - sqrt(x) ; x 0 1e100 ; y 0 1e100
sqrt(x**2 + 1) - x ; x 0 1e150
sqrt(x**2 + 1) - 1
sqrt(x**2 + 1) + x
sqrt(1 + x) - 1 ; x -1 1e300
1 - sqrt(1 - x) ; x -1e10 1
1 - sqrt(1 - x**2) ; x -1 1
sqrt(1 + x) - sqrt(1 - x) ; x -1 1
sqrt(x + 2) - 2*sqrt(x + 1) + sqrt(x) ; x 0 1e10
(sqrt(1 + x) - 1) / x ; x -1 1e100
(1 - sqrt(1 - x)) / x ; x -1e100 1
x - sqrt(x**2 - 1) ; x 1 1e150
x - sqrt(x**2 - y) ; x 1 1e150 ; y 0 1
sqrt(x**2 + y**2) - x ; x 0 1e150 ; y 0 1e150
sqrt(x**2 + y**2) - y ; x 0 1 ; y 1 1e100
1/sqrt(x) - 1/sqrt(x + 1) ; x 0 1e300
cbrt(x + 1) - cbrt(x)
cbrt(1 + x) - 1
sqrt(x*(x + 1)) - x ; x 0 1e150
sqrt(x**2 + x) - x ; x 0 1e150
sqrt(y**2 + x) - y ; x 0 1e10 ; y 0 1e150

# cancellation: fractions and polynomials
1/(x + 1) - 1/x
1/(x + 1) - 2/x + 1/(x - 1) ; x 2 1e100
1/(1 - x) - 1/(1 + x)
x/(x + 1) - (x - 1)/x ; x 1 1e100
x/(x - 1) - (x + 1)/x ; x 2 1e100
1/x - 1/y
1/(x + y) - 1/x ; x 0 1e100 ; y 0 1e100
(x + y)**2 - x**2 ; x -1e100 1e100 ; y -1 1
(x + 1)**2 - x**2
(x + 1)**2 - 1
(1 + x)**3 - 1 ; x -1e90 1e90
(x + y)**3 - x**3 ; x -1e50 1e50 ; y -1 1
x**2 - y**2
x**3 - y**3 ; x -1e90 1e90 ; y -1e90 1e90
x**4 - y**4 ; x -1e70 1e70 ; y -1e70 1e70
(x**2 - y**2) / (x - y)
(x**2 - 1) / (x - 1)
(x - y) * (x + y) - x**2 ; x 0 1e100 ; y 0 1e100
x - (x - y)
(x + y) - x ; x 1 1e100 ; y -1 1
((x + y) - x) - y ; x 0 1e300 ; y 0 1e300
(1 + x) - (1 - x)
1 - (1 - x)
x*(1 + y) - x
(1 + x)*(1 - x) - 1 ; x -1e100 1e100
1/(1 - x) - 1
1 - 1/(1 + x)
(x + 1)/x - 1
1/(1 + x) - (1 - x) ; x -0.5 0.5
x/y - (x - 1)/y
(x + z)/y - x/y ; x -1e10 1e10 ; y 1e-10 1e10 ; z -1 1

# exponentials near zero
exp(x) - 1
exp(x) - 1 - x ; x -700 700
exp(x) - exp(-x) ; x -700 700
exp(x) + exp(-x) - 2 ; x -300 300
(exp(x) - 1) / x ; x -700 700
x / (exp(x) - 1) ; x -700 700
(exp(x) - 1 - x) / x**2 ; x -100 100
1 - exp(-x)
1/x - 1/(exp(x) - 1) ; x -100 100
exp(x + y) - exp(x) ; x -100 100 ; y -1 1
exp(x) - exp(y) ; x -300 300 ; y -300 300
(exp(x) - exp(-x)) / 2 ; x -700 700
(exp(x) - exp(-x)) / (exp(x) + exp(-x))
(exp(2*x) - 1) / (exp(2*x) + 1)
(exp(2*x) - 1) / (exp(x) - 1) ; x -300 300
exp(x)/(exp(x) - 1)
1/(exp(x) - 1)
sqrt((exp(2*x) - 1) / (exp(x) - 1)) ; x -300 300
exp(x)*exp(-x)
exp(x) / (1 + exp(x))
1 / (1 + exp(-x))
1 - 1 / (1 + exp(-x))
1/(1 + exp(-x)) - 0.5
exp(x) - (1 + x + x**2/2) ; x -50 50
exp(-x**2) - 1
x*exp(x) - x ; x -300 300
2**x - 1
(1 - exp(-x)) / x ; x -300 700
cosh(x) - 1 ; x -700 700
cosh(x) - exp(x) / 2 ; x -700 700
cosh(x) - sinh(x)
sinh(x) - x ; x -300 300
tanh(x) - x
1 - tanh(x)
sinh(x)/x - 1 ; x -300 300
cosh(x + y) - cosh(x) ; x -100 100 ; y -1 1
cosh(x)**2 - sinh(x)**2
x/tanh(x) - 1
1/tanh(x) - 1/x
exp(x)**2 - 1 ; x -300 300

# logarithms
log(1 + x)
log(1 + x) - x ; x -1 1e100
log(1 - x)
log(x + 1) - log(x) ; x 0 1e300
log(x + y) - log(x) ; x 0 1e300 ; y 0 1e300
log(x) - log(y) ; x 0 1e300 ; y 0 1e300
log(x / y) ; x 0.5 2 ; y 0.5 2
log(1 + 1/x) ; x 0 1e300
log((1 + x) / (1 - x)) ; x -1 1
log((1 - x) / (1 + x)) ; x -1 1
log(1 + x) - log(1 - x) ; x -1 1
log(1 - x) / log(1 + x) ; x -1 1
log(1 + x) / x ; x -1 1e100
(log(1 + x) - x) / x**2 ; x -1 1e50
log(1 + exp(x))
log(1 - exp(x)) ; x -1e10 0
log(exp(x) - 1) ; x 0 700
log(1 + exp(x)) - x ; x -700 700
log(exp(x) + exp(y)) ; x -1e4 1e4 ; y -1e4 1e4
log(exp(x) + exp(y)) - x ; x -1e3 1e3 ; y -1e3 1e3
log(exp(x)) ; x -1e5 1e5
log(sqrt(x**2 + y**2)) ; x -1e3 1e3 ; y -1e3 1e3
log(x**2 + y**2) / 2 ; x 0 2 ; y 0 2
log(x + sqrt(x**2 + 1))
log(x + sqrt(x**2 - 1)) ; x 1 1e300
log(sqrt(1 + x**2) - x) ; x 0 1e150
log(1 - sqrt(1 - x)) ; x 0 1
log(cosh(x))
log(sinh(x)/x) ; x -1e5 1e5
log(cos(x)) ; x -1.5 1.5
log(x**2)
log(x*y) ; x 0 1e300 ; y 0 1e300
log(x**y) ; x 0 1e300 ; y -1e3 1e3
x*log(x) - x*log(y) ; x 0 1e100 ; y 0 1e100
x*log(x/y) - (x - y) ; x 0.5 2 ; y 0.5 2
(x + 1)*log(x + 1) - x*log(x) - 1 ; x 1 1e15
log(1 + x**2)
log(1 + x + x**2) ; x -1e50 1e50
log(x) - log(x - 1) ; x 1 1e300
log(x/(1 - x)) ; x 0 1
-log(1/x - 1) ; x 0 1
log(1 + x)**2 - x**2 ; x -0.9 0.9
log(log(1 + exp(x))) ; x -500 500
log2(1 + x)
log10(1 + x)

# trigonometry
1 - cos(x) ; x -10 10
(1 - cos(x)) / x ; x -10 10
(1 - cos(x)) / x**2 ; x -10 10
(1 - cos(x)) / sin(x) ; x -3 3
x - sin(x) ; x -10 10
(x - sin(x)) / x**3 ; x -10 10
(x - sin(x)) / (x - tan(x)) ; x -1 1
tan(x) - x ; x -1.5 1.5
sin(x)/x - 1 ; x -10 10
cos(x) - 1 + x**2/2 ; x -10 10
sin(x + y) - sin(x) ; x -10 10 ; y -1 1
cos(x + y) - cos(x) ; x -10 10 ; y -1 1
sin(x + y) - sin(x - y) ; x -10 10 ; y -1 1
tan(x + y) - tan(x) ; x -1.5 1.5 ; y -0.01 0.01
sin(x)**2 + cos(x)**2 - 1 ; x -100 100
cos(x)**2 - sin(x)**2 ; x -10 10
1 - cos(x)**2 ; x -10 10
1 - sin(x)**2 ; x -10 10
1 - sin(x) ; x 1 2
1/sin(x) - 1/x ; x -3 3
1/x - cos(x)/sin(x) ; x -3 3
1/x**2 - 1/sin(x)**2 ; x -3 3
1/sin(x) - cos(x)/sin(x) ; x -3 3
sin(x) - tan(x) ; x -1.5 1.5
sin(x)*cos(y) - cos(x)*sin(y) ; x -3 3 ; y -3 3
arctan(x + 1) - arctan(x) ; x 0 1e100
arctan(x) - arctan(y) ; x 0 1e10 ; y 0 1e10
arctan(x) - x ; x -10 10
arcsin(x) - x ; x -1 1
arccos(1 - x) ; x 0 2
arccos(x) ; x 0.5 1
2*arcsin(sqrt((1 - x)/2)) ; x -1 1
sqrt(2 - 2*cos(x)) ; x 0 3
sin(x)**2/(1 + cos(x)) ; x -3 3
tan(x)**2 - sin(x)**2 ; x -1 1
(cos(x) - exp(-x**2/2)) ; x -1 1

# roots of quadratics and cubics
(-y + sqrt(y**2 - 4*x*z)) / (2*x)
(-y - sqrt(y**2 - 4*x*z)) / (2*x)
(-y + sqrt(y**2 - 4*x*z)) / (2*x) ; x 1e-5 1e5 ; y 0 1e10 ; z -1e5 1e5
(-y - sqrt(y**2 - 4*x*z)) / (2*x) ; x 1e-5 1e5 ; y -1e10 1e10 ; z -1e5 1e5
-y + sqrt(y**2 - z) ; y -1e10 1e10 ; z 0 1e10
-y - sqrt(y**2 - z) ; y -1e10 1e10 ; z 0 1e10
(-y + sqrt(y**2 - x*z)) / x ; x 1e-5 1e5 ; y -1e10 1e10 ; z -1e5 1e5
2*z / (-y + sqrt(y**2 - 4*x*z)) ; x 1e-5 1e5 ; y -1e10 1e10 ; z -1e5 1e5
(1 - sqrt(1 - 4*x*y)) / (2*x) ; x -1 1 ; y -0.2 0.2
x - sqrt(x**2 + 4) ; x 0 1e150
(x - sqrt(x**2 + 4)) / 2
(-1 + sqrt(1 + 4*x)) / 2 ; x 0 1e100

# lengths, overflow and underflow on the way
sqrt(x**2 + y**2)
sqrt(x**2 + y**2 + z**2)
sqrt(x*y)
sqrt(x**2)
sqrt(x**2 - y**2) ; x 0 1e300 ; y 0 1e300
x / sqrt(x**2 + y**2)
x / sqrt(x**2 + 1)
x**2 / y
x**2 / y**2
x*y / z
x*y / (x*z)
(x*y)*z / y
x / (x*y)
(x + y) / 2
x / (x**2 + y**2)
(x*y + z) / y
sqrt(x)*sqrt(x)
sqrt(x**2 + x**2)
1 / (1 + x**2)
x**2 / (1 + x**2)
exp(x)/exp(y) ; x -1e4 1e4 ; y -1e4 1e4
exp(x)*exp(y) ; x -1e4 1e4 ; y -1e4 1e4
exp(x)*y / exp(z) ; x -1e3 1e3 ; y 0 1e10 ; z -1e3 1e3
sqrt(exp(x)) ; x -1400 1400
exp(x)**2 / (1 + exp(x)**2)
cosh(x)/sinh(x)
sinh(x)/cosh(x)

# powers and growth
(1 + x)**y - 1 ; x -0.5 1 ; y 0 100
((1 + x)**y - 1) / x ; x -0.5 1 ; y 0 100
1 - (1 - x)**y ; x 0 0.5 ; y 0 100
(1 + 1/x)**x ; x 1 1e15
(1 + x/y)**y ; x -1 1 ; y 1 1e15
x**y - 1 ; x 0.5 2 ; y -1 1
(x + 1)**0.25 - x**0.25 ; x 0 1e300
(x + 1)**(1/3) - x**(1/3) ; x 0 1e300
x**1.5 - y**1.5 ; x 0 1e100 ; y 0 1e100
(1 + x)**0.5 - (1 + y)**0.5 ; x -0.1 0.1 ; y -0.1 0.1
z*x / (1 - (1 + x)**(-y)) ; x 0 1 ; y 1 400 ; z 0 1e6
(1 - x)**2 - (1 - 2*x) ; x -1 1
(1 + x)**4 - (1 - x)**4 ; x -1 1

# statistics and other formulas
x*(1 - x) - x ; x 0 1
x**2 - 2*x*y + y**2
(x - y)**2 / (x + y)
x/(x + y) - 1
y/(x + y) - 0.5 ; x 0.5 2 ; y 0.5 2
exp(-x)*(1 + x) - 1 ; x -1 1
x*exp(-x**2/2) ; x -50 50
1 - erf(x)
erf(x) - 1 ; x 0 20
exp(x**2)*(1 - erf(x)) ; x 0 26
1 - x/sqrt(1 + x**2)
sqrt(1 + 1/x**2) - 1 ; x 1 1e150
(1 + x)*exp(-x) - 1 ; x -1 1
log(1 + x) - 2*x/(2 + x) ; x -0.5 0.5
sqrt(x) - sqrt(y) ; x 0 1e300 ; y 0 1e300
(sqrt(x) - sqrt(y))**2 ; x 0 1e300 ; y 0 1e300
1/sqrt(1 - x**2) - 1 ; x -1 1
x/(sqrt(x + 1) - 1) ; x 0 1e100
"""


class Entry(NamedTuple):
    """One expression: topic, text, variables and the ranges of these."""

    topic: str
    text: str
    expr: Any
    inputs: dict[str, Any]
    ranges: dict[Any, tuple[float, float]]


def corpus(dtype: str = "float64") -> list[Entry]:
    """All expressions, each of vectors of its own."""
    out, topic = [], ""
    for line in TEXT.strip().splitlines():
        if line.startswith("#"):
            topic = line[2:]
        elif line.strip():
            out.append(_entry(topic, line, dtype))
    return out


def _entry(topic: str, line: str, dtype: str) -> Entry:
    text, *stated = [part.strip() for part in line.split(";")]
    variables = {n: T.tensor(n, dtype=dtype, shape=(None,)) for n in "xyz"}
    names = {f: getattr(T, f) for f in _FUNCTIONS if f in text}
    expr = eval(text, {"__builtins__": {}}, names | variables)  # the lines above, nothing else
    used = {n: v for n, v in variables.items() if n in _words(text)}
    ranges = {}
    for part in stated:
        name, low, high = part.split()
        ranges[used[name]] = (float(low), float(high))
    return Entry(topic, text, expr, used, ranges)


_FUNCTIONS = (
    "sqrt", "cbrt", "exp", "log", "log2", "log10", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh",
    "tanh", "erf",
)  # fmt: skip


def _words(text: str) -> set[str]:
    return set("".join([c if c.isalnum() else " " for c in text]).split())


__all__ = ["Entry", "corpus"]
