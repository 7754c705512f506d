"""The ``relay2relax`` command.

``entry.py`` runs it and ends with its exit code, ``app.py`` lists the commands, ``signatures`` says
what they take. Each command's work is in a file of its own, which is imported when the command
runs.
"""

from relay2relax.cli.entry import main

__all__ = ["main"]
