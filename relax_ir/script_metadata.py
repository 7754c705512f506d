"""Constants that a script carries beside its text, in the JSON table that TVM prints with ``show_meta=True``.

The table is what ``metadata = tvm.ir.load_json(…)`` before the module holds. Two forms are read: nodes that name their
type (0.22 and later, tensors in the nodes), and nodes with ``type_key`` (before, tensors in ``b64ndarrays``).
What else a table may hold, such as attributes of a device, is left alone.
"""

from __future__ import annotations

import ast
import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from typing import Any

from relay2relax.core.dtype import Array
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.script_source import ScriptSource
from relay2relax.core.tensor_blob import read_tensor

_CONSTANTS = frozenset({"relax.expr.Constant", "ir.GenericConst", "relay.Constant"})


def metadata_of(source: ScriptSource) -> dict[str, Any]:
    """Return ``{"metadata": {type: [array, …]}}`` of the text's table, or nothing where the text has none.

    Raises ScriptProblem for a table that cannot be read.
    """
    for node in source.tree.body:
        match node:
            case ast.Assign([ast.Name("metadata" | "meta")], ast.Call(func, [ast.Constant(str() as text)])):
                if (source.dotted(func) or "").endswith("load_json"):
                    try:
                        return {"metadata": _read(json.loads(text))}
                    except Relay2RelaxError as error:
                        raise source.problem(func, "the table of constants cannot be read", str(error)) from error
                    except (ValueError, LookupError, TypeError, AttributeError, binascii.Error) as error:
                        what = "expected what TVM prints with show_meta=True"
                        raise source.problem(func, "the table of constants cannot be read", what) from error
    return {}


def _read(document: Mapping[str, Any]) -> dict[str, list[Array | None]]:
    if "root_index" in document:
        return _by_type(document["nodes"], document["root_index"])
    return _by_type_key(document["nodes"], document["root"], document.get("b64ndarrays", []))


def _tensor(text: str, today: bool) -> Array:
    return read_tensor(memoryview(base64.b64decode(text)), today=today)[0]


def _by_type(nodes: Sequence[Mapping[str, Any]], root: int) -> dict[str, list[Array | None]]:
    table: dict[str, list[Array | None]] = {}
    flat: Sequence[int] = nodes[root]["data"]
    for key, value in zip(flat[::2], flat[1::2], strict=True):
        entries = (nodes[place] for place in nodes[value]["data"])
        table[str(nodes[key]["data"])] = [
            _tensor(nodes[entry["data"].get("value", entry["data"].get("data"))]["data"], today=True)
            if entry["type"] in _CONSTANTS
            else None
            for entry in entries
        ]
    return table


def _by_type_key(
    nodes: Sequence[Mapping[str, Any]], root: int, tensors: Sequence[str]
) -> dict[str, list[Array | None]]:
    top = nodes[root]
    table: dict[str, list[Array | None]] = {}
    for key, value in zip(top["keys"], top["data"], strict=True):
        table[key] = [
            _tensor(tensors[int(nodes[place]["attrs"]["data"])], today=False)
            if nodes[place]["type_key"] in _CONSTANTS
            else None
            for place in nodes[value]["data"]
        ]
    return table
