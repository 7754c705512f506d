"""Documents of earlier versions of TVM, brought into the form that the reader of today's documents
takes.

Most of what later versions added is optional to the reader. Here is what is not: names of types
that 0.7 changed, strings that stood in the fields until then, and fields that became others. TVM's
own upgrade rules cover some of it.
"""

from __future__ import annotations

import re

from relay2relax.relay_ir.compat.older_calls import Release
from relay2relax.relay_ir.json.schema import Node

# Type keys until 0.6, and that of devices until 0.8.
_RENAMED = {
    "relay.Module": "IRModule",
    "StrMap": "Map",
    "Variable": "tir.Var",
    "UIntImm": "IntImm",
    "SEScope": "VirtualDevice",
    **{
        f"relay.{name}": name
        for name in (
            "Op", "GlobalVar", "TypeVar", "GlobalTypeVar", "Type", "TupleType", "FuncType", "IncompleteType",
            "TypeCall", "TypeConstraint", "TypeRelation", "SourceName", "Span",
        )
    },
    **{
        name: f"tir.{name}"
        for name in (
            "SizeVar", "Any", "StringImm", "Cast", "Add", "Sub", "Mul", "Div", "Mod", "FloorDiv", "FloorMod", "Min",
            "Max", "EQ", "NE", "LT", "LE", "GT", "GE", "And", "Or", "Not", "Select", "BufferLoad", "Ramp", "Broadcast",
            "Shuffle", "Call", "Let", "LetStmt", "AssertStmt", "BufferStore", "BufferRealize", "Allocate", "IfThenElse",
            "Evaluate", "Prefetch", "AttrStmt", "Layout", "Buffer",
        )
    },
}  # fmt: skip

# Fields that hold a string in 0.6 and refer to one later.
_STRINGS = {
    "relay.Id": ("name_hint",),
    "TypeVar": ("name_hint",),
    "GlobalTypeVar": ("name_hint",),
    "GlobalVar": ("name_hint",),
    "relay.Constructor": ("name_hint",),
    "tir.Var": ("name",),
    "tir.SizeVar": ("name",),
    "tir.StringImm": ("value",),
}
_FIELDS = {
    "Span": {"source": "source_name", "lineno": "line", "col_offset": "column"},
    "Target": {"target_name": "kind", "keys_array": "keys"},
}


def release_of(version: object) -> Release | None:
    """Return major and minor number of the version that a document states, None where it states
    none.
    """
    found = re.match(r"(\d{1,4})\.(\d{1,4})", version) if isinstance(version, str) else None
    return (int(found[1]), int(found[2])) if found else None


def upgrade(nodes: list[Node], release: Release | None) -> Release | None:
    """Rewrite nodes of an earlier version in place, and return the release that wrote them, as far
    as it shows.
    """
    older = {index for index, node in enumerate(nodes) if node["type_key"] in _RENAMED}
    for index in older:
        nodes[index]["type_key"] = _RENAMED[nodes[index]["type_key"]]
    if not older or (release is not None and release > (0, 6)):
        return release
    names = {index: node.get("attrs", {}).get("name") for index, node in enumerate(nodes)}
    for node in list(nodes):
        if "attrs" in node:
            _upgrade_fields(node, node["attrs"], nodes, names)
    return release if release is not None else (0, 6)


def _upgrade_fields(node: Node, fields: dict[str, str], nodes: list[Node], names: dict[int, str | None]) -> None:
    key = node["type_key"]
    for old, new in _FIELDS.get(key, {}).items():
        if old in fields:
            fields[new] = fields.pop(old)
    if key in ("TypeVar", "GlobalTypeVar") and fields.get("var", "").isdecimal():
        # The variable that holds the name; all of it is at hand in ``names``, since its own may be
        # rewritten first.
        fields["name_hint"] = names.get(int(fields.pop("var")[:9])) or ""
    if key == "tir.Call" and "name" in fields:
        nodes.append({"type_key": "Op", "repr_str": f"tir.{fields.pop('name')}"})
        fields["op"] = str(len(nodes) - 1)
    for name in _STRINGS.get(key, ()):
        if name in fields:
            nodes.append({"type_key": "runtime.String", "repr_str": fields[name]})
            fields[name] = str(len(nodes) - 1)
    if key == "Span" and "end_line" not in fields:
        fields["end_line"], fields["end_column"] = fields.get("line", "0"), fields.get("column", "0")
