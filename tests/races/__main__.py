"""`python -m tests.races matrix --seconds 60 --seed 1`: the op matrix, its parts of parallel work watched.

Also `fuzz` with its arguments, and `pytest` with those of pytest.
"""

import sys
import warnings
from functools import wraps
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # its neighbours

from races import mode


def checked(run):
    """The function, which says then what was found meanwhile."""

    @wraps(run)
    def watched(*arguments, **options):
        mode.library().races_clear()
        result = run(*arguments, **options)
        mode.check()
        return result

    return watched


class Plugin:
    """Each test fails that had something run in parts that touch the same bytes."""

    def pytest_pyfunc_call(self, pyfuncitem):
        pyfuncitem.obj = checked(pyfuncitem.obj)


def main(what: str, *arguments: str) -> int:
    if mode.missing():
        print(mode.missing())
        return 0
    mode.watch_c()
    mode.watch_cuda()
    warnings.simplefilter("ignore")
    sys.argv[1:] = arguments
    if what == "pytest":
        import pytest

        return int(pytest.main([*arguments, "--cflags", mode.flags()], plugins=[Plugin()]))
    if what == "matrix":
        from matrix import __main__, runner

        runner.together = checked(runner.together)
    else:
        from fuzz import __main__, judge, runner

        judge.together = runner.together = checked(judge.together)
    return __main__.main()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
