"""How a command ends: the number that a shell gets from it."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """A number that the command ends with, and what it says.

    Every kind of mistake has one (``kind.py``); the others belong to no mistake.
    """

    meaning: str

    def __new__(cls, value: int, meaning: str) -> ExitCode:
        found = int.__new__(cls, value)
        found._value_ = value
        found.meaning = meaning
        return found

    FINE = 0, "all is done, and nothing differs"
    DIFFERS = 1, "results differ; of `doctor`: the main job is impaired"
    USAGE = 2, "the command is called wrongly: options, names, or files that it would write over"
    INPUT = 3, "a file cannot be read or written, or what it holds is wrong or does not fit"
    UNSUPPORTED = 4, "what was read cannot be translated, built or run"
    TOOL = 5, "a tool is missing, or does not work: C compiler, apache-tvm, a library"
    LIMIT = 6, "a limit of memory, time, steps or extents is reached, or memory is used up"
    INTERNAL = 70, "a mistake of relay2relax itself, shown with its traceback"
    STOPPED = 130, "stopped by Ctrl-C"
    UNREAD = 141, "nobody reads the output any more"
