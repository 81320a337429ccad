"""The quick start: author a rule, query the database, compile with function()."""

import kanren
import numpy as np

import termgraph as tg
import termgraph.tensor as T
from termgraph import db
from termgraph.rules import RuleSet, rule, ruleset

# An expression is written as with NumPy. Nothing is computed yet.
x, y = T.dvector("x"), T.dvector("y")
z = T.log(1 + T.exp(y)) + x * y / y
print("an expression:      ", tg.pp(z))
print("its graph:")
tg.dprint(z)


# A simplification is one line: name, left side, right side. Both sides are expressions over metavariables.
@ruleset("canonicalize")
def my_rules(a, b):
    yield rule("difference_of_squares", (a + b) * (a - b), a**2 - b**2, assumes=["reassoc"])


mine = RuleSet(my_rules)
print("\nmy rule:            ", my_rules["difference_of_squares"])
squares = mine.rewrite((x + y) * (x - y))
print("(x + y) * (x - y) becomes", tg.pp(squares))

# The same rule, run backwards by miniKanren: what becomes that?
q = kanren.var("q")
print("backwards:          ", *kanren.run(1, q, mine.relation(q, squares.term)))

# The database knows all rules. Which ones make a softplus?
print("\nrules of FAST_RUN:  ", len(db.query("+fast_run")))
print("rules that make softplus:", [r.name for r in db.makes(T.softplus)])

# function() rewrites the graph, compiles it (to C, where a compiler is found), and gives a callable.
f = tg.function([x, y], z)
print("\nafter rewriting:")
tg.dprint(f)
print("what was done:")
for record in f.trace:
    print("  ", record)
print("f([1, 2], [0, 800]) =", f(np.array([1.0, 2.0]), np.array([0.0, 800.0])))

# Derivatives are rules too.
g = tg.function([y], tg.grad(T.log(1 + T.exp(y)).sum(), y))
print("its derivative at 0: ", g(np.zeros(1)))
