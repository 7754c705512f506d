"""``relay2relax python``: a legacy script in a process of its own that has the facade."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

import typer


def run(arguments: Sequence[str], version: str) -> None:
    """Run a script, module or text with the facade; exit with the code it ends with."""
    command = [sys.executable, "-m", "relay2relax.compat", "--tvm", version, *arguments]
    raise typer.Exit(subprocess.run(command, check=False).returncode)
