"""x log(x) at 0, where its limit is 0 and not NaN."""

from termgraph.rules import Float, head, rule, ruleset
from termgraph.terms.ops.elementwise import eq, log, log1p, log2, switch


@ruleset("stabilize")
def entropies(x: Float, f: head[log, log2]):
    yield rule("log",             x * f(x),                          x * f(switch(eq(x, 0), 1, x)),
                                  assumes=["domain"])
    yield rule("log1p_neg",       (1 - x) * log1p(-x),               (1 - x) * log1p(-switch(eq(x, 1), 0, x)),
                                  assumes=["domain"])
    yield rule("log1p",           (1 + x) * log1p(x),                (1 + x) * log1p(switch(eq(x, -1), 0, x)),
                                  assumes=["domain"])
