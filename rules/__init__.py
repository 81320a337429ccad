"""The rule library: what is true about tensors, one topic per file.

The folder rules/ is installed as the package termgraph.rulelib. A file here may import termgraph.terms,
termgraph.tensor and termgraph.rules, and nothing else of termgraph: how rules are used is decided elsewhere.
"""
