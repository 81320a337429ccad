"""Checking rules: the prover tries them on random operands, the linter looks at how they meet. No compile imports this.

`termgraph.rules.prove` and `termgraph.rules.lint` are the doors; tests and the catalogue draw examples from here too.
"""
