"""Every promise that is kept has a test of its number: `test_f58_...` is about number 58. This is the list."""

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent.parent
PROMISES = {
    1: "variables and applications, acyclic",
    2: "fields of variables",
    3: "Apply and its other names",
    4: "ops",
    5: "types",
    6: "TensorType and constructors",
    7: "constants",
    8: "literals",
    9: "operators and broadcasting",
    10: "short and long ways to build a graph",
    11: "the user's graph is never changed",
    12: "clients",
    13: "the compiled graph",
    14: "printing",
    15: "pictures",
    16: "walking the graph",
    17: "gradients that are not defined",
    18: "smaller graphs by rewriting",
    19: "function(inputs, outputs, ...)",
    20: "In",
    21: "Out, forms of results, output_keys",
    22: "givens and rebuild_collect_shared",
    23: "updates",
    24: "default_update and no_default_updates",
    25: "allow_input_downcast",
    26: "on_unused_input",
    27: "accept_inplace, name, profile",
    28: "FunctionMaker",
    29: "Mode",
    30: "borrow",
    31: "updates without an extra copy",
    32: "FunctionMaker.create and defaults",
    33: "make_thunk",
    34: "the Function object",
    35: "changing a compiled function",
    37: "sparse matrices",
    38: "clone with replacements",
    39: "reverse mode",
    40: "forward mode",
    41: "scan",
    42: "gradients of scan",
    43: "functions between intermediate variables",
    45: "rules keep types",
    46: "canonicalize",
    47: "stabilize",
    48: "specialize and fusion",
    50: "views and in-place work",
    51: "only the last step of a loop",
    52: "choosing rules, predefined sets, flags",
    53: "shared variables",
    54: "shared variables updated in place",
    55: "generated code is shown",
    56: "code is kept on disk",
    57: "an inspectable program",
    58: "ifelse is lazy",
    59: "allow_gc",
    60: "calls without Python",
    61: "callbacks and memory profiles",
    62: "ops in Python",
    63: "verify_grad finds wrong gradients",
    64: "ops in C",
    65: "rules of the user",
    66: "placeholders of convolutions, computed by rules",
    67: "cuDNN, by name and by flags",
    76: "FAST_COMPILE",
    77: "saved functions",
    78: "copies",
    79: "pictures with times and what is overwritten",
    80: "OpFromGraph",
    81: "test values",
    82: "NanGuardMode",
    83: "PdbBreakpoint",
    84: "lines of the user's program through rewriting",
    90: "threads run beside each other",
    92: "few modules to compile",
    93: "loops whose values grow",
    95: "less memory: storage in 16 bits",
    96: "jit, rules from and to SymPy",
}


def names_of_tests():
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield node.name


@pytest.fixture(scope="module")
def tested():
    return {int(n) for name in names_of_tests() for n in re.findall(r"(?<=_f)\d+(?=_)", name)}


@pytest.mark.parametrize("number", PROMISES, ids=lambda n: f"{n} {PROMISES[n]}")
def test_promise_has_a_test(number, tested):
    assert number in tested
