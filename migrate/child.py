"""The process of one model: ``relay2relax``, ended with the process that started it."""

from __future__ import annotations

import runpy

from relay2relax.backends.processes import watch_lifeline


def main() -> None:
    """Run the command that stands on the command line."""
    watch_lifeline()
    runpy.run_module("relay2relax", run_name="__main__", alter_sys=True)
