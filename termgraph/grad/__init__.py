"""Gradients: drivers over the derivative rules in rules/grad*.py. May import terms, tensor, rules and db."""
