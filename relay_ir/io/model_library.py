"""Archives in TVM's Model Library Format: what a model was compiled from, beside what came of it.

The archive is a tar. ``src/relay.txt`` is the module as a text without metadata, in versions 1 to 3
``relay.txt`` and in version 7 ``src/NAME.relay``, and ``parameters/NAME.params`` has the weights as
the compiler left them.
Source: ``python/tvm/micro/model_library_format.py`` of TVM 0.8 to 0.18.
"""

from __future__ import annotations

from collections.abc import Mapping

from relay2relax.core.amounts import counted
from relay2relax.core.errors import Diagnostic, ParseError
from relay2relax.core.file_kinds import relay_texts, tar_files


def relay_member(buffer: memoryview, archive: str) -> tuple[str, memoryview] | None:
    """Return the Relay text in an archive, with its name, and None where there is none.

    Raises ParseError where there are several: ``archive`` is what the error calls it.
    """
    return _only(relay_texts(tar_files(buffer)), "Relay text", archive)


def params_member(buffer: memoryview, archive: str) -> tuple[str, memoryview] | None:
    """Return the parameter file in an archive as ``relay_member`` does its text."""
    files = {
        name: one
        for name, one in tar_files(buffer).items()
        if name.startswith("parameters/") and name.endswith(".params")
    }
    return _only(files, "parameter file", archive)


def _only(found: Mapping[str, memoryview], what: str, archive: str) -> tuple[str, memoryview] | None:
    if len(found) > 1:
        shown = ", ".join(map(repr, list(found)[:8]))
        help = "unpack it with `tar -xf`, and name one of them"
        raise ParseError(Diagnostic(f"{archive!r} has {counted(len(found), what)}: {shown}", help=help))
    return next(iter(found.items()), None)
