"""The command as users type it, in this process: one of its own spends a second on its imports."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from relay2relax.cli import main


def run_here(
    arguments: Sequence[str | Path],
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    joined: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Run ``relay2relax`` with arguments, and return its exit code and what it prints.

    What goes to the two streams is apart, or ``joined`` as on a screen.
    """
    given = ["relay2relax", *map(str, arguments)]
    screen, code = io.StringIO(), 0
    errors = screen if joined else io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(screen), redirect_stderr(errors):
        patch.setattr(sys, "argv", given)
        if cwd is not None:
            patch.chdir(cwd)
        # The workers of pytest-xdist have one, and what is printed here goes into a pipe.
        patch.delenv("COLUMNS", raising=False)
        for name, value in (env or {}).items():
            patch.setenv(name, value)
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
    return subprocess.CompletedProcess(given, code, screen.getvalue(), "" if joined else errors.getvalue())
