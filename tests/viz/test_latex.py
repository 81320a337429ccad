"""LaTeX of expressions: what notebooks show, whole and well formed whatever the expression is."""

import re
import subprocess
import sys

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.viz.latex import latex

X, Y = T.dvectors("xy")
M, N = T.dmatrix("m"), T.dmatrix("n")
A, I = T.dscalar("alpha"), T.lscalar("i")
K = T.lvector("k")

CASES = [
    (T.sqrt(X / (1 + Y**2)), r"\sqrt{\frac{x}{1 + y^{2}}}"),
    (T.exp(-X) ** 2, r"\left(e^{-x}\right)^{2}"),
    (T.switch(X > 0, X, -X), r"\begin{cases} x & \text{if } x > 0 \\ -x & \text{otherwise} \end{cases}"),
    (T.sum(M, axis=0) * A, r"\left(\sum_{0} m\right) \alpha"),
    (T.prod(X * Y), r"\prod x \odot y"),
    (M.T @ N @ X, r"m^{\mathsf{T}} \, n \, x"),
    (M @ (N @ X), r"m \, \left(n \, x\right)"),
    (T.dot(X, Y), r"x \cdot y"),
    (X - (Y - X), r"x - \left(y - x\right)"),
    ((X - Y) - X, "x - y - x"),
    (X + (-2) * Y, r"x + \left(-2 y\right)"),
    (-(X + Y) * A, r"-\left(x + y\right) \alpha"),
    (X[0] ** 2 + X[I], "x_{0}^{2} + x_{i}"),
    (T.dmatrix("w_1")[0][1], r"\left(\left(w_{1}\right)_{0}\right)_{1}"),
    (T.outer(X, Y), r"x_{:, \text{None}} \odot y"),
    ((X > 0) & ~(Y > 0), r"\left(x > 0\right) \land \lnot \left(y > 0\right)"),
    (K & ~K, r"\operatorname{bitwise\_and}\left(k, \operatorname{invert}\left(k\right)\right)"),
    (1e-5 * A, r"10^{-5} \alpha"),
    (2.5e30 * A, r"2.5 \cdot 10^{30} \alpha"),
    (T.constant(-np.inf) * A, r"-\infty \alpha"),
    (T.constant([[1.0, -2.0]]) @ M, r"\begin{bmatrix} 1 & -2 \end{bmatrix} \, m"),
    (T.nnet.softmax(M), r"\operatorname{softmax}_{1}\left(m\right)"),
    (T.maximum(abs(X), T.floor(Y)), r"\max\left(\left|x\right|, \left\lfloor y\right\rfloor\right)"),
    (T.dvector("sigma2") + T.dvector("w_hidden"), r"\sigma_{2} + w_{\mathrm{hidden}}"),
    (T.dvector("a b$") + T.dvector("größe"), r"\text{a b\$} + \mathrm{größe}"),
]


@pytest.mark.parametrize(("expression", "expected"), CASES, ids=[str(i) for i in range(len(CASES))])
def test_an_expression_in_the_signs_of_mathematics(expression, expected):
    assert latex(expression) == expected


def well_formed(text):
    """Whether braces and brackets pair, and nothing has two indices."""
    bare = re.sub(r"\\[{}_\\]", "", text)
    signs = {a: len(re.findall(rf"\\{a}(?![a-z])", bare)) for a in ("left", "right", "begin", "end")}
    return (
        bare.count("{") == bare.count("}")
        and signs["left"] == signs["right"]
        and signs["begin"] == signs["end"]
        and not re.search(r"_\{[^{}]*\}_\{", bare)
    )


def test_the_test_of_form_can_fail():
    assert well_formed(r"\left(x\right)_{1}") and well_formed(r"x\_1")
    assert not any(well_formed(t) for t in ("{x", r"\left(x)", "x_{1}_{2}", r"\begin{cases} x"))


def test_large_expressions_are_cut_off_whole():
    long = wide = X
    for _ in range(10_000):
        long = T.sqrt(long + 1) / Y
    for _ in range(30):
        wide = wide * wide + 1
    for e in (long, wide):
        text = latex(e)
        assert r"\cdots" in text and len(text) < 5000 and well_formed(text)


def test_what_has_no_sign_is_a_call_and_well_formed():
    loop = tg.scan(lambda a, b: a + b, sequences=[X], outputs_info=[T.constant(0.0)])[0]
    one = T.constant(1 + 2j)
    written = [T.inc_subtensor(X[0], 1.0), M[K], M[I, K[0] :], loop, T.arange(I), T.dvector() + 1, T.zeros((4, 4)) @ M,
               one * A, T.stack([X, Y])[0], M.dimshuffle(1, "x", 0), M.mean(), T.linalg.inv(M).trace()]  # fmt: skip
    for e in [*written, tg.grad(T.sum(T.exp(X) ** 2), X)]:
        assert well_formed(latex(e)), latex(e)


def test_notebooks_ask_for_it():
    assert (X + 1)._repr_latex_() == r"$\displaystyle x + 1$"
    assert (X + 1).term._repr_latex_().startswith(r"$\displaystyle ")


def test_importing_termgraph_does_not_import_it():
    code = "import sys, termgraph; sys.exit('termgraph.viz.latex' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
