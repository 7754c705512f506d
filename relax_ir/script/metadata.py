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
from collections.abc import Sequence
from typing import Any, Optional, TypeAlias, Union

from relay2relax.core.dtype import Array
from relay2relax.core.errors import LimitError, Relay2RelaxError
from relay2relax.core.schema import Extent, Form, field, parse_json, read_value
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
                        return {"metadata": _read(parse_json(text, "the table"))}
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


class _Node(Form, forbid_unknown_fields=False):
    """A node as TVM 0.22 and later write it."""

    type: str
    data: Any = None


class _Table(Form, forbid_unknown_fields=False):
    root_index: Extent
    nodes: list[_Node]


class _OlderNode(Form, forbid_unknown_fields=False):
    """A node as TVM wrote it before."""

    type_key: str
    attrs: dict[str, str] = field(default_factory=dict)
    keys: list[str] = field(default_factory=list)
    data: list[Extent] = field(default_factory=list)
    repr_str: Optional[str] = None


class _OlderTable(Form, forbid_unknown_fields=False):
    root: Extent
    nodes: list[_OlderNode]
    b64ndarrays: list[str] = field(default_factory=list)


def _read(document: object) -> dict[str, list[Entry]]:
    if isinstance(document, dict) and "root_index" in document:
        return _by_type(read_value(document, _Table, "the table"))
    return _by_type_key(read_value(document, _OlderTable, "the table"))


def _tensor(text: str, today: bool) -> Array:
    return read_tensor(memoryview(base64.b64decode(text)), today=today)[0]


def _by_type(table: _Table) -> dict[str, list[Entry]]:
    nodes = table.nodes

    def entry(node: _Node) -> Entry:
        data = node.data
        if node.type in _CONSTANTS:
            return _tensor(nodes[data.get("value", data.get("data"))].data, today=True)
        value = data.get("value") if isinstance(data, dict) else data
        if isinstance(value, int):
            value = nodes[value].data
        return value if isinstance(value, str) else None

    found: dict[str, list[Entry]] = {}
    flat: Sequence[int] = nodes[table.root_index].data
    for key, value in zip(flat[::2], flat[1::2], strict=True):
        found[str(nodes[key].data)] = [entry(nodes[place]) for place in nodes[value].data]
    return found


def _by_type_key(table: _OlderTable) -> dict[str, list[Entry]]:
    nodes = table.nodes

    def entry(node: _OlderNode) -> Entry:
        if node.type_key in _CONSTANTS:
            return _tensor(table.b64ndarrays[int(node.attrs["data"])], today=False)
        value = node.attrs.get("value")
        if value is not None and value.isdigit():
            # Nodes refer to others by their numbers, as texts.
            return nodes[int(value)].repr_str
        return value if node.repr_str is None else node.repr_str

    top = nodes[table.root]
    return {
        key: [entry(nodes[place]) for place in nodes[value].data] for key, value in zip(top.keys, top.data, strict=True)
    }
