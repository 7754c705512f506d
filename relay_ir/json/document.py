"""The outer form of a Relay JSON document: a list of nodes, each with a type, strings as fields,
and indices.
"""

from __future__ import annotations

import base64
import binascii
import struct

from relay2relax.core.errors import Diagnostic, ParseError
from relay2relax.core.errors.table import reading
from relay2relax.core.file_kinds import describe_document
from relay2relax.core.schema import Extent, Form, field, parse_json, read_value
from relay2relax.core.source import to_text
from relay2relax.relay_ir.compat.older_calls import Release
from relay2relax.relay_ir.json.legacy import release_of, upgrade
from relay2relax.relay_ir.json.schema import Node


class _About(Form, forbid_unknown_fields=False):
    tvm_version: str = ""


class _Document(Form, forbid_unknown_fields=False):
    root: Extent
    nodes: list[Node]
    b64ndarrays: list[str] = field(default_factory=list)
    attrs: _About = field(default_factory=_About)


def read_document(text: str) -> tuple[list[Node], list[str], int, Release | None]:
    """Return nodes, tensors, root and release of a document whose outer form has been checked."""
    # TVM escapes less than JSON demands.
    found = parse_json(text, "the document", control=True)
    known = describe_document(found) if isinstance(found, dict) else ""
    if known:
        raise ParseError(f"not a Relay JSON document: it is {known}", kind=reading.JSON_DOCUMENT)
    if not isinstance(found, dict) or "nodes" not in found:
        raise ParseError(
            'not a Relay JSON document: expected an object with "root", "nodes" and "b64ndarrays"',
            kind=reading.JSON_DOCUMENT,
        )
    document = read_value(found, _Document, "the document")
    if not document.nodes:
        raise ParseError("the document has no nodes", kind=reading.JSON_DOCUMENT)
    release = release_of(document.attrs.tvm_version or None)
    return document.nodes, document.b64ndarrays, document.root, upgrade(document.nodes, release)


def no_such_node(index: int, count: int) -> str:
    """Return what is wrong where a document of ``count`` nodes refers to another one."""
    return f"refers to node {index}, but the document has nodes 0 to {count - 1}"


def odd_map() -> ParseError:
    """Return the error for a map whose nodes are not pairs."""
    return ParseError("the map has a key without a value", kind=reading.JSON_DOCUMENT)


def in_node(index: int, key: object, message: str, help: str = "") -> ParseError:
    """Return the error for what is wrong in a node, by its number and type."""
    return ParseError(Diagnostic(f"node {index} ({key}): {message}", help=help, kind=reading.JSON_DOCUMENT))


def node_text(node: Node) -> str:
    """Return the bytes of a leaf as text; raises ParseError where they are damaged."""
    if "repr_b64" in node:
        try:
            blob = base64.b64decode(node["repr_b64"], validate=True)
            (length,) = struct.unpack_from("<Q", blob)
        except (binascii.Error, ValueError, struct.error):
            raise ParseError(
                "field 'repr_b64' is not a base64 string of a length and that many bytes", kind=reading.JSON_DOCUMENT
            ) from None
        if length != len(blob) - 8:
            raise ParseError(
                f"field 'repr_b64' states {length} bytes and holds {len(blob) - 8}", kind=reading.JSON_DOCUMENT
            )
        return to_text(blob[8:])
    text: str = node.get("repr_str", node.get("global_key", ""))
    return text
