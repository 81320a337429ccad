"""Gradients: drivers over the derivative rules in rules/grad*.py."""
