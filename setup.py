"""Lists the packages to install; everything else about the project is declared in pyproject.toml.

The rule library lives in the top-level folder rules/ and is installed as the package termgraph.rulelib.
"""

from setuptools import find_packages, setup

RULES, RULELIB = "rules", "termgraph.rulelib"

setup(
    packages=[
        *find_packages(include=["termgraph", "termgraph.*"]),
        RULELIB,
        *(f"{RULELIB}.{name}" for name in find_packages(RULES)),
    ],
    package_dir={RULELIB: RULES},
)
