"""The outer form of a Relay JSON document: a list of nodes, each with a type, strings as fields,
and indices.
"""

from __future__ import annotations

import base64
import binascii
import json
import struct

from relay2relax.core.errors import Diagnostic, ParseError
from relay2relax.core.errors.table import reading
from relay2relax.core.file_kinds import describe_document
from relay2relax.core.source import to_text
from relay2relax.relay_ir.compat.older_calls import Release
from relay2relax.relay_ir.json.legacy import release_of, upgrade
from relay2relax.relay_ir.json.schema import Node


def read_document(text: str) -> tuple[list[Node], list[str], int, Release | None]:
    """Return nodes, tensors, root and release of a document whose outer form has been checked."""
    try:
        # TVM escapes less than JSON demands: control characters may stand in strings.
        document = json.loads(text, strict=False)
    except RecursionError:
        raise ParseError("not a Relay JSON document: it is nested too deeply", kind=reading.JSON_DOCUMENT) from None
    except json.JSONDecodeError as error:
        raise ParseError(
            f"not a JSON document (line {error.lineno}, column {error.colno}): {error.msg}", kind=reading.JSON_DOCUMENT
        ) from None
    except ValueError as error:
        raise ParseError(f"not a JSON document: {error}", kind=reading.JSON_DOCUMENT) from None
    known = describe_document(document) if isinstance(document, dict) else ""
    if known:
        raise ParseError(f"not a Relay JSON document: it is {known}", kind=reading.JSON_DOCUMENT)
    if not isinstance(document, dict) or "nodes" not in document:
        raise ParseError(
            'not a Relay JSON document: expected an object with "root", "nodes" and "b64ndarrays"',
            kind=reading.JSON_DOCUMENT,
        )
    root, nodes, blobs = document.get("root"), document["nodes"], document.get("b64ndarrays", [])
    if type(root) is not int:
        raise ParseError('"root": expected the index of a node', kind=reading.JSON_DOCUMENT)
    if not isinstance(nodes, list) or not nodes:
        raise ParseError('"nodes": expected a list of nodes', kind=reading.JSON_DOCUMENT)
    if not isinstance(blobs, list) or not all(isinstance(blob, str) for blob in blobs):
        raise ParseError('"b64ndarrays": expected a list of strings', kind=reading.JSON_DOCUMENT)
    for index, node in enumerate(nodes):
        _check_node(index, node)
    about = document.get("attrs")
    release = release_of(about.get("tvm_version") if isinstance(about, dict) else None)
    return nodes, blobs, root, upgrade(nodes, release)


def _check_node(index: int, node: object) -> None:
    if not isinstance(node, dict) or not isinstance(node.get("type_key"), str):
        raise ParseError(f'node {index}: expected an object with a string "type_key"', kind=reading.JSON_DOCUMENT)
    for name, value in node.items():
        match name:
            case "attrs":
                fits = isinstance(value, dict) and {str}.issuperset(map(type, value.values()))
                wanted = "an object of strings"
            case "keys":
                fits = isinstance(value, list) and {str}.issuperset(map(type, value))
                wanted = "a list of strings"
            case "data":
                fits = isinstance(value, list) and {int}.issuperset(map(type, value))
                wanted = "a list of node indices"
            case "type_key" | "repr_str" | "repr_b64" | "global_key":
                fits, wanted = isinstance(value, str), "a string"
            case _:
                continue
        if not fits:
            raise ParseError(
                f"node {index} ({node['type_key']}): {name!r}: expected {wanted}", kind=reading.JSON_DOCUMENT
            )


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
