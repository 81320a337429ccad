"""Real and imaginary parts."""

from termgraph.rules import Complex, Float, Real, head, param, rule, ruleset, this
from termgraph.terms.ops.elementwise import abs_, cast, complex_, conj, imag, real


@ruleset("canonicalize")
def complexes(y: Complex, u: Real, v: Real, w: Float, z: Complex, d: param, p: head[real, abs_],
              q: head[real, conj], r: head[real, imag, conj]):
    yield rule("real",           q(u),                       u)
    yield rule("imag_real",      imag(u),                    0)
    yield rule("real_complex",   real(complex_(u, v)),       u)
    yield rule("imag_complex",   imag(complex_(u, v)),       v)
    yield rule("conj_complex",   conj(complex_(u, w)),       complex_(u, -w))
    yield rule("of_conj",        p(conj(z)),                 p(z))
    yield rule("imag_conj",      imag(conj(z)),              -imag(z))
    yield rule("parts",          complex_(real(z), imag(z)), z)
    yield rule("real_cast",      real(cast(u, dtype=d)),     cast(u, dtype=this.dtype))
    yield rule("imag_cast",      imag(cast(u, dtype=d)),     0)
    yield rule("of_neg",         r(-z),                      -r(z))
    yield rule("conj_mul_conj",  conj(z) * conj(y),          conj(z * y), assumes=["reassoc"])
