"""Constants and texts that a script carries beside it, in the JSON table that TVM prints with
``show_meta=True``.

The table is what ``metadata = tvm.ir.load_json(…)`` before the module holds. Two forms are read:
nodes that name their type (0.22 and later, tensors in the nodes), and nodes with ``type_key``
(before, tensors in ``b64ndarrays``). Of what else a table may hold, texts of several lines are
read; the rest, such as attributes of a device, is left alone.
"""

from __future__ import annotations

import ast
import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, Union

from relay2relax.core.dtype import Array
from relay2relax.core.errors import LimitError, Relay2RelaxError
from relay2relax.core.script_source import ScriptProblem, ScriptSource
from relay2relax.core.tensor_blob import read_tensor

# An array, a text, or None for what is left alone.
Entry: TypeAlias = Union[Array, str, None]

_CONSTANTS = frozenset({"relax.expr.Constant", "ir.GenericConst", "relay.Constant"})


def metadata_of(source: ScriptSource) -> dict[str, Any]:
    """Return ``{"metadata": {type: [array or text, …]}}`` of the text's table, or nothing where the
    text has none.

    Raises ScriptProblem for a table that cannot be read.
    """
    for node in source.tree.body:
        match node:
            case ast.Assign([ast.Name("metadata" | "meta")], ast.Call(func, [ast.Constant(str() as text)])):
                if (source.dotted(func) or "").endswith("load_json"):
                    try:
                        return {"metadata": _read(json.loads(text))}
                    except LimitError:
                        raise
                    except Relay2RelaxError as error:
                        raise _unreadable(source, func, str(error)) from error
                    except (ValueError, LookupError, TypeError, AttributeError, binascii.Error) as error:
                        wanted = "expected what TVM prints with show_meta=True"
                        raise _unreadable(source, func, wanted) from error
    return {}


def _unreadable(source: ScriptSource, func: ast.expr, why: str) -> ScriptProblem:
    return source.problem(func, "the table of constants cannot be read", why)


def _read(document: Mapping[str, Any]) -> dict[str, list[Entry]]:
    if "root_index" in document:
        return _by_type(document["nodes"], document["root_index"])
    return _by_type_key(document["nodes"], document["root"], document.get("b64ndarrays", []))


def _tensor(text: str, today: bool) -> Array:
    return read_tensor(memoryview(base64.b64decode(text)), today=today)[0]


def _text(value: Any, nodes: Sequence[Mapping[str, Any]], where: str) -> str | None:
    """Return the text that ``value`` is, or that the node of that number holds under ``where``."""
    if isinstance(value, int):
        value = nodes[value].get(where)
    return value if isinstance(value, str) else None


def _by_type(nodes: Sequence[Mapping[str, Any]], root: int) -> dict[str, list[Entry]]:
    def entry(node: Mapping[str, Any]) -> Entry:
        data = node["data"]
        if node["type"] in _CONSTANTS:
            return _tensor(nodes[data.get("value", data.get("data"))]["data"], today=True)
        return _text(data.get("value") if isinstance(data, dict) else data, nodes, "data")

    table: dict[str, list[Entry]] = {}
    flat: Sequence[int] = nodes[root]["data"]
    for key, value in zip(flat[::2], flat[1::2], strict=True):
        table[str(nodes[key]["data"])] = [entry(nodes[place]) for place in nodes[value]["data"]]
    return table


def _by_type_key(nodes: Sequence[Mapping[str, Any]], root: int, tensors: Sequence[str]) -> dict[str, list[Entry]]:
    def entry(node: Mapping[str, Any]) -> Entry:
        if node["type_key"] in _CONSTANTS:
            return _tensor(tensors[int(node["attrs"]["data"])], today=False)
        value = node.get("attrs", {}).get("value")
        if isinstance(value, str) and value.isdigit():
            # Nodes refer to others by their numbers, as texts.
            return _text(int(value), nodes, "repr_str")
        return _text(node.get("repr_str", value), nodes, "repr_str")

    top = nodes[root]
    return {
        key: [entry(nodes[place]) for place in nodes[value]["data"]]
        for key, value in zip(top["keys"], top["data"], strict=True)
    }
