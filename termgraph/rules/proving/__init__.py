"""How the prover makes examples of rules and judges them: drawing typed terms, values, comparing results.

`termgraph.rules.prover` is the door; the tests and the catalogue draw examples from here too.
"""
