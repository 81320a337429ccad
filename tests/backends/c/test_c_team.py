"""The team of threads under the sanitizers of threads and of addresses: many callers, one of which changes its size."""

import subprocess
from pathlib import Path

import pytest

import termgraph
from termgraph.backends.c.build.compilers import find_compiler

RUN = Path(termgraph.__file__).parent / "backends" / "c" / "run"
PROGRAM = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "abi.h"
#include "team.c"

static void add_places(void *context, int64_t begin, int64_t end, int64_t part)
{
    for (int64_t i = begin; i < end; i++) ((int64_t *)context)[i] += i + 0 * part;
}

static void *caller(void *number)
{
    unsigned seed = (unsigned)(uintptr_t)number;
    for (int k = 0; k < 1500; k++) {
        int64_t n = rand_r(&seed) % 2000, *found = calloc((size_t)n + 1, sizeof(int64_t));
        parallel_for(add_places, found, n, 1 + rand_r(&seed) % 50);
        for (int64_t i = 0; i < n; i++)
            if (found[i] != i) { puts("wrong"); exit(1); }
        memset(found, 0xff, (size_t)n * sizeof(int64_t)); /* a part that runs late would meet these */
        free(found);
        if (idle() < 1) { puts("nobody"); exit(1); }
        if (k % 100 == 0 && (uintptr_t)number == 1) tg_set_threads(1 + rand_r(&seed) % 6);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[4];
    tg_set_threads(4);
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, caller, (void *)(uintptr_t)(i + 1));
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    puts("right");
    return 0;
}
"""


@pytest.mark.parametrize("kind", ["thread", "address,undefined"])
def test_the_team_is_clean_under_sanitizers(kind, tmp_path):
    compiler = find_compiler()
    source, program = tmp_path / "team_test.c", tmp_path / "team_test"
    source.write_text(PROGRAM)
    if compiler is None:
        pytest.skip("no C compiler")
    flags = ["-O1", "-g", f"-fsanitize={kind}", "-fno-sanitize-recover=all", f"-I{RUN}"]
    build = [*compiler.command, *flags, str(source), "-o", str(program), "-lpthread"]
    if subprocess.run(build, capture_output=True).returncode:
        pytest.skip("the compiler has no such sanitizer")
    done = subprocess.run([str(program)], capture_output=True, text=True, timeout=120)
    if "unexpected memory mapping" in done.stderr:
        pytest.skip("the sanitizer does not run on this kernel")
    assert done.returncode == 0 and done.stdout == "right\n" and not done.stderr, done.stderr[:3000]
