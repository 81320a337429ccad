"""From terms to loops: index pushing, what gets storage, the loop tree, the memory plan.

Knows nothing of C or CUDA: backends walk the loop tree.
"""
