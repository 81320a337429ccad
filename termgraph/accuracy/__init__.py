"""Accuracy as a goal: exact values, forms of an expression, which of them loses fewest bits, and where.

It stands above the rule database, whose rules give the forms. Public: `tg.accurate`, the mode ACCURATE.
"""
