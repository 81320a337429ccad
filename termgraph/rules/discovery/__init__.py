"""Rules found by machine: terms are enumerated, grouped by their values, and what rules do not join yet becomes rules.

from termgraph.rules.discovery.search import discover
"""
