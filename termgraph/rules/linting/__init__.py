"""Parts of the rule checker: unification of left sides, overlaps, termination. `termgraph.rules.linter` is the door."""
