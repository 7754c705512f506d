"""The ``relay2relax`` command.

``app.py`` declares the commands and their options; each command's work is in a file of its own,
imported when the command runs, so that ``relay2relax --help`` loads nothing but the parser.
"""

from relay2relax.cli.app import main

__all__ = ["main"]
