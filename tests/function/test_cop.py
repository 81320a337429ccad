"""Ops written in C by users (FEATURES 64)."""

import pickle
import textwrap

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compiler_errors import CompileError
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.function.cop import COpError

LINKER = "auto"
pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler on this machine")
v = T.dvector("v")


class Scaled(tg.COp):
    __props__ = ("factor",)
    itypes, otypes = [T.dvector], [T.dvector]

    def __init__(self, factor):
        self.factor = factor

    @property
    def c_code(self):
        return {
            "support_code": f"static const double factor = {self.factor!r};",
            "code": """
                const double *x = in[0].data;
                double *y = out[0].data;
                for (int64_t i = 0; i < in[0].shape[0]; i++) {
                    if (x[i] < 0) TG_FAIL("element %d is negative: %g", (int)i, x[i]);
                    y[i] = factor * x[i];
                }
            """,
        }

    def grad(self, inputs, output_grads):
        return [self.factor * output_grads[0]]


def test_f64_inline_code():
    f = tg.function([v], [Scaled(3.0)(T.exp(v)) + 1, Scaled(0.5)(v[::2]).sum()], mode=tg.Mode(linker="c"))
    first, second = f([0.0, 1.0, 2.0])
    np.testing.assert_allclose(first, 3 * np.exp([0.0, 1.0, 2.0]) + 1)
    assert second == 1.0
    assert Scaled(3.0)(v).owner.op is Scaled(3.0)(v).owner.op
    g = tg.function([v], tg.grad(Scaled(3.0)(v).sum(), v))
    assert g([1.0, 2.0]).tolist() == [3, 3]
    h = pickle.loads(pickle.dumps(tg.function([v], Scaled(2.0)(v))))
    assert h([4.0]).tolist() == [8]


def test_f64_failure_in_the_code_changes_nothing_and_cites_the_line():
    w = tg.shared(np.zeros(2), "w")
    f = tg.function([v], updates=[(w, w + Scaled(3.0)(v))])
    with pytest.raises(COpError, match=r"(?s)test_cop.py.*Scaled\(3.0\)\(v\).*element 1 is negative: -2"):
        f([1.0, -2.0])
    assert w.get_value().tolist() == [0, 0]


def in_file(tmp_path, text, **attributes):
    path = tmp_path / "op.c"
    path.write_text(textwrap.dedent(text))
    given = {"__props__": (), "itypes": [T.dmatrix], "otypes": [T.dvector], "c_file": str(path), **attributes}
    return type("FromFile", (tg.COp,), given)()


def test_f64_file_with_sections_own_header_and_library(tmp_path):
    (tmp_path / "mine.h").write_text("#define TWICE(x) (2 * (x))\n")
    op = in_file(
        tmp_path,
        """
        #section support_code
        #include "mine.h"
        static int calls = 0, limit = 0;

        #section init_code
        limit = 100;

        #section code
        const double *x = in[0].data;
        double *y = out[0].data;
        int64_t n = in[0].shape[0], m = in[0].shape[1];
        if (++calls > limit) TG_FAIL("called too often");
        for (int64_t i = 0; i < n; i++) {
            y[i] = 0;
            for (int64_t j = 0; j < m; j++) y[i] += TWICE(cbrt(x[i * m + j]));
        }

        #section code_cleanup
        calls--;
        """,
        c_headers=["math.h"],
        c_libraries=["m"],
        out_shapes=lambda self, shape: [shape[:1]],
    )
    m = T.dmatrix("m")
    f = tg.function([m], op(m.T))
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_allclose(f(x), 2 * np.cbrt(x.T).sum(axis=1))


def test_f64_errors_cite_the_file_and_line(tmp_path):
    op = in_file(tmp_path, "#section code\nint a = 1;\ndouble *y = out[0].daata;\n")
    m = T.dmatrix("m")
    f = tg.function([m], op(m))
    with pytest.raises(CompileError, match=r"(?s)op\.c:3: .*daata.*double \*y = out\[0\]\.daata;") as info:
        f(np.ones((2, 2)))
    assert (info.value.file, info.value.line) == (str(tmp_path / "op.c"), 3)
    with pytest.raises(ValueError, match=r"op\.c: there is no section 'cod'; the sections are support_code, "):
        in_file(tmp_path, "#section cod\n").source
    with pytest.raises(TypeError, match="must define one of c_code, c_file and c_element"):
        in_file(tmp_path, "", c_code="x").source
    with pytest.raises(TypeError, match=r"input 0 of FromFile must have type TensorType\(float64, \(\?, \?\)\)"):
        op(v)


class Soft(tg.COp):
    __props__ = ()
    itypes, otypes = [T.dvector, T.fvector], [T.dvector]
    c_element = "x0 > x1 ? x0 + exp(-fabs(x1)) : 0.1 * x0"


def test_an_expression_for_one_element_is_fused():
    u = T.fvector("u")
    out = T.tanh(Soft()(v * 2, u) + 1).sum()
    a, b = np.array([1.0, -2.0, 3.0]), np.array([0.0, 0.0, 5.0], "float32")
    want = np.tanh(np.where(2 * a > b, 2 * a + np.exp(-abs(b.astype(float))), 0.2 * a) + 1).sum()
    for linker in ("py", "c"):
        f = tg.function([v, u], out, mode=tg.Mode(linker=linker))
        np.testing.assert_allclose(f(a, b), want)
        assert f(a[:0], b[:0]) == 0
    assert f.maker.work.not_native is None and f.source("c").count("static void kernel") == 1
    assert pickle.loads(pickle.dumps(f))(a, b) == f(a, b)
    with pytest.raises(ValueError, match="length"):
        f(a, b[:2])


def test_an_expression_for_one_element_in_the_steps_of_a_loop():
    u = T.fvector("u")
    out = tg.scan(lambda h, u: Soft()(h, u) * 0.5, outputs_info=v, non_sequences=u, n_steps=20)[0][-1]
    made = [tg.function([v, u], out, mode=tg.Mode(linker=linker)) for linker in ("py", "c")]
    want, got = [f(np.arange(4.0), np.ones(4, "float32")) for f in made]
    np.testing.assert_allclose(got, want, rtol=1e-12)


class Strides(tg.COp):
    __props__ = ()
    itypes, otypes = [T.dmatrix], [T.lvector]
    c_strided = True
    c_code = "int64_t *y = out[0].data; y[0] = in[0].strides[0]; y[1] = in[0].strides[1];"

    def out_shapes(self, shape):
        return [(2,)]


def test_code_that_follows_strides_gets_arrays_as_they_lie():
    m = T.dmatrix("m")
    f = tg.function([m], Strides()(m))
    a = np.zeros((3, 4))
    assert [f(x).tolist() for x in (a, a.T, a[::-1, ::2])] == [[4, 1], [1, 4], [-4, 2]]
    odd = np.zeros((2, 2), [("a", "i1"), ("b", "f8")])["b"]
    assert f(odd).tolist() == [2, 1]


def test_an_op_has_one_kind_of_code():
    class Both(tg.COp):
        __props__ = ()
        itypes, otypes = [T.dvector], [T.dvector]
        c_code, c_element = "", "x0"

    with pytest.raises(TypeError, match="must define one of c_code, c_file and c_element"):
        tg.function([v], Both()(v), mode=tg.Mode(linker="py"))([1.0])
