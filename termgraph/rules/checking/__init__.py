"""Checking rules: the prover tries them on random operands, the linter looks at how they meet. No compile imports this.

`termgraph.rules.prove` and `termgraph.rules.lint` are the doors; tests and the catalogue draw examples from here too.
"""

# they fill the table of samplers: whatever is drawn finds them there
from termgraph.rules.checking import conv_samplers as conv_samplers
from termgraph.rules.checking import indexing_samplers as indexing_samplers
from termgraph.rules.checking import linalg_samplers as linalg_samplers
from termgraph.rules.checking import samplers as samplers
