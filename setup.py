"""Lists the packages to install; everything else about the project is declared in pyproject.toml.

The rule library lives in the top-level folder rules/ and is installed as the package termgraph.rulelib. An editable
installation leaves it where it is, as a plain checkout does (`termgraph/_rulelib.py` finds it): then all packages lie
in one folder, which is put on the path by its name, and type checkers find them. For folders that are mapped one by
one there would be a hook of Python's import, which no checker asks.
"""

import sys

from setuptools import find_packages, setup

RULES, RULELIB = "rules", "termgraph.rulelib"

packages = find_packages(include=["termgraph", "termgraph.*"])
if "editable_wheel" in sys.argv:
    setup(packages=packages, package_dir={"": "."})
else:
    library = [RULELIB, *(f"{RULELIB}.{name}" for name in find_packages(RULES))]
    setup(packages=[*packages, *library], package_dir={RULELIB: RULES})
