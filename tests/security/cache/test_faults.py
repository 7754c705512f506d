"""Every operation on a file of the cache fails once, or is the last that the process does.

A small library that is loaded before all others counts the operations on files of the cache folder,
and lets the one of a given number fail with a given error, or kills the process there; it is loaded
into the C compiler as well. The result of the build is right nevertheless, and so is that of the
next one, on what was left.
"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import sweep

from relay2relax.backends.c.toolchain import find_compiler

pytestmark = [
    pytest.mark.compiler,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux loads a library before all others like this"),
]

# Of each function: its type, its name, parameters, arguments, and what says which file it is about.
_FUNCTIONS = (
    ("int", "open", "const char* path, int flags, mode_t mode", "path, flags, mode", "of_path(path)"),
    ("int", "open64", "const char* path, int flags, mode_t mode", "path, flags, mode", "of_path(path)"),
    ("int", "mkdir", "const char* path, mode_t mode", "path, mode", "of_path(path)"),
    ("int", "rename", "const char* from, const char* to", "from, to", "of_path(to)"),
    ("int", "unlink", "const char* path", "path", "of_path(path)"),
    ("int", "unlinkat", "int at, const char* path, int flags", "at, path, flags", "of_file(at)"),
    ("int", "rmdir", "const char* path", "path", "of_path(path)"),
    ("int", "fsync", "int file", "file", "of_file(file)"),
    ("int", "flock", "int file, int what", "file, what", "of_file(file)"),
    ("int", "futimens", "int file, const void* times", "file, times", "of_file(file)"),
    ("ssize_t", "read", "int file, void* to, size_t size", "file, to, size", "of_file(file)"),
    ("ssize_t", "write", "int file, const void* from, size_t size", "file, from, size", "of_file(file)"),
)
_SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int of_path(const char* path) {
  const char* folder = getenv("FAULT_FOLDER");
  return folder && path && strncmp(path, folder, strlen(folder)) == 0;
}
static int of_file(int file) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t size = readlink(link, path, sizeof path - 1);
  if (size < 0) return 0;
  path[size] = 0;
  return of_path(path);
}
/* Whether the operation fails; the process may not live to learn it. */
static int fails(int ours) {
  static int count;
  if (!ours) return 0;
  int number = __atomic_fetch_add(&count, 1, __ATOMIC_SEQ_CST);
  const char* log = getenv("FAULT_COUNT");
  if (log) { FILE* to = fopen(log, "w"); fprintf(to, "%d", number + 1); fclose(to); }
  if (number != atoi(getenv("FAULT_AT"))) return 0;
  int error = atoi(getenv("FAULT_ERROR"));
  if (!error) kill(getpid(), SIGKILL);
  errno = error;
  return 1;
}
"""
_WRAPPER = r"""
{result} {name}({parameters}) {{
  {result} (*real)({parameters}) = ({result} (*)({parameters}))dlsym(RTLD_NEXT, "{name}");
  return fails({ours}) ? -1 : real({arguments});
}}
"""
# Runs builds one after the other, each in a child that it forks: what each ends with is printed.
_PROGRAM = """
import os
import sys
import traceback
import warnings

import numpy as np
from relay2relax.backends.c import compile_prim_funcs
from relay2relax.tir import te

warnings.simplefilter("ignore")
for line in sys.stdin:
    folder, at, error, count = line.split()
    child = os.fork()
    if not child:
        try:
            a = te.placeholder((8,), "float32", "A")
            func = te.create_prim_func([a], [te.compute((8,), lambda i: a[i] * 3)], name="f")
            os.environ.update(RELAY2RELAX_CACHE=folder, FAULT_AT=at, FAULT_ERROR=error, FAULT_COUNT=count)
            os.environ["FAULT_FOLDER"] = folder
            result = np.zeros(8, np.float32)
            compile_prim_funcs([func]).call("f", np.arange(8, dtype=np.float32), result)
            np.testing.assert_array_equal(result, np.arange(8) * 3)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@dataclass(frozen=True)
class Builder:
    """A process that builds on demand, with a fault at an operation."""

    process: subprocess.Popen[str]
    count: Path

    def run(self, folder: Path, at: int = -1, error: int = 0) -> int:
        """Return the exit code of a build; fails where it ended in an error or a wrong result."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(folder, at, error, self.count, file=self.process.stdin, flush=True)
        code = int(self.process.stdout.readline())
        assert code in (0, -signal.SIGKILL)
        return code


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Builder]:
    work = tmp_path_factory.mktemp("shim")
    wrappers = [
        _WRAPPER.format(result=result, name=name, parameters=parameters, arguments=arguments, ours=ours)
        for result, name, parameters, arguments, ours in _FUNCTIONS
    ]
    source, product = work / "shim.c", work / "shim.so"
    source.write_text(_SHIM + "".join(wrappers))
    arguments = [*find_compiler().command, "-shared", "-fPIC", "-w", str(source), "-o", str(product), "-ldl"]
    subprocess.run(arguments, check=True)
    environment = {**os.environ, "LD_PRELOAD": str(product)}
    with subprocess.Popen(
        [sys.executable, "-c", _PROGRAM], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield Builder(process, work / "count")


@pytest.mark.parametrize("state", ["empty", "full"])
def test_each_operation_may_fail(state: str, builder: Builder, tmp_path: Path) -> None:
    first = tmp_path / "first"
    if state == "full":
        builder.run(first)
    builder.count.write_text("0")
    builder.run(first)
    total = int(builder.count.read_text())
    assert total >= (3 if state == "full" else 10)
    faults = [(at, error) for at in range(total) for error in (0, errno.ENOSPC, errno.EACCES, errno.EIO)]
    for at, error in sweep.sampled(faults, 1 if state == "full" else 3):
        folder = tmp_path / f"{at}-{error}"
        if state == "full":
            builder.run(folder)
        code = builder.run(folder, at, error)
        # What dies may be the compiler, which is another process.
        assert code in ((0,) if error else (0, -signal.SIGKILL))
        # What it left is no hindrance.
        assert builder.run(folder) == 0
        assert len([path for path in folder.iterdir() if path.suffix == ".so"]) == 1
