"""Loading a Relay module from a file, whatever form it is in."""

from __future__ import annotations

import os
from collections.abc import Mapping

from relay2relax.core.errors import FileError, ParseError
from relay2relax.core.file_kinds import ONNX, describe_content, is_tar
from relay2relax.core.limits import read_file
from relay2relax.relay_ir.io.model_library import relay_member
from relay2relax.relay_ir.ir.module import IRModule

# A text begins with printable characters; an ONNX model, a protobuf, with the tag of its version
# field.
_ONNX_START = b"\x08"
# Beginnings of texts that no module has, and that stand in its place where fetching it has failed.
_NOT_RELAY = ("<", "version https:")


def load(path: str | os.PathLike[str], recover: bool = False) -> IRModule:
    """Return the module in the file ``path``: Relay text, a ``save_json`` document, or the text in
    an archive in TVM's Model Library Format, told apart by content.

    With ``recover`` a text that breaks off is read as far as it goes, as ``parse`` does.

    Raises FileError where the file cannot be read, ParseError where it is neither, LimitError where
    the limits around it are reached.
    """
    name = os.fspath(path)
    try:
        content = read_file(path)
    except OSError as error:
        raise FileError.unread(name, error) from None
    return read_module(content, name, recover)


def read_module(
    content: bytes, name: str, recover: bool = False, attrs: Mapping[str, Mapping[str, object]] | None = None
) -> IRModule:
    """Return the module that ``content`` is, as :func:`load` does; errors call it ``name``.

    ``recover`` and ``attrs`` are for text, as :func:`relay2relax.relay_ir.parse` takes them.
    """
    if is_tar(memoryview(content)):
        member = relay_member(memoryview(content), name)
        if member is not None:
            content, name = bytes(member[1]), f"{name}:{member[0]}"
    if content.startswith(_ONNX_START):
        raise ParseError(f"{name!r} is {ONNX}")
    if name.endswith(".onnx"):
        what = describe_content(memoryview(content), "model") or "something else"
        raise ParseError(f"{name!r} is called an ONNX model, and does not begin as one: it is {what}")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        what = describe_content(memoryview(content), "model")
        found = f"it is {what}" if what not in ("", "text") else f"byte {error.start} is not UTF-8"
        raise ParseError(f"{name!r} is neither Relay text nor JSON: {found}") from None
    if "\0" in text or text.startswith(_NOT_RELAY):
        what = describe_content(memoryview(content), "model")
        raise ParseError(f"{name!r} is neither Relay text nor JSON: it is {what or 'text with NUL characters'}")
    del content
    if not text.strip():
        raise ParseError(f"{name!r} is empty; expected Relay text or JSON")
    if text.lstrip()[:1] == "{":
        from relay2relax.relay_ir.json.reader import load_json

        return load_json(text)
    from relay2relax.relay_ir.text.parser import parse

    return parse(text, name, recover, attrs)
