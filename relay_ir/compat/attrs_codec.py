"""Attribute dataclasses as the field strings of Relay's JSON, and back.

JSON stores every field as a string; what the string means follows from the kind that Relay declares
for the field (``ops.attributes``): text itself, a number, or the index of another node.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import MISSING
from functools import lru_cache
from typing import Any

from relay2relax.core.errors import ParseError, Relay2RelaxError, mistake, placed
from relay2relax.core.errors.table import reading
from relay2relax.ops.registry.attributes import AttrField, BoxInt, GlobalFunction, NoAttrs, attr_fields
from relay2relax.ops.registry.table import all_ops, registered
from relay2relax.relay_ir.ir.expr import OpaqueAttrs, RelayExpr
from relay2relax.tir.ir.expr import FloatImm, IntImm, PrimExpr

Resolve = Callable[[int], object]

_INT64 = range(-(2**63), 2**64)


def attrs_class(type_key: str, names: Collection[str] = ()) -> type | None:
    """Return the attribute dataclass that a record declares for ``type_key``; None where no record
    does.

    Where several have the key, as both operators called simulated_quantize do, it is the first that
    has all ``names``.
    """
    found = _classes(registered()).get(type_key, ())
    fitting = (cls for cls in found if {field.name for field in attr_fields(cls)}.issuperset(names))
    return next(fitting, next(iter(found), None))


def attrs_key(cls: type[object]) -> str:
    """Return the type key of an attribute dataclass, ``""`` for :class:`NoAttrs`.

    Raises KeyError for a class that no record declares.
    """
    return "" if cls is NoAttrs else _keys(registered())[cls]


def is_attrs(value: object) -> bool:
    """Whether ``value`` may be the attributes of a call: of a class that some record declares, or
    opaque.
    """
    return isinstance(value, (NoAttrs, OpaqueAttrs)) or type(value) in _keys(registered())


@lru_cache(maxsize=1)
def _classes(_: int) -> dict[str, tuple[type, ...]]:
    found: dict[str, dict[type, None]] = {}
    for op in all_ops():
        if op.attrs_key:
            found.setdefault(op.attrs_key, {})[op.attrs] = None
    return {key: tuple(classes) for key, classes in found.items()}


@lru_cache(maxsize=1)
def _keys(_: int) -> dict[type, str]:
    return {op.attrs: op.attrs_key for op in reversed(all_ops()) if op.attrs_key}


# --- scalars as strings ---------------------------------------------------------------------------


def parse_int(text: str) -> int:
    """Return the integer a field holds.

    Raises ParseError where it is none or does not fit 64 bits.
    """
    # Most are indices of nodes; so many digits fit.
    if len(text) <= 18 and text.isdigit() and text.isascii():
        return int(text)
    digits = text.removeprefix("-")
    if digits.isascii() and digits.isdigit() and len(digits) <= 20:
        value = int(text)
        if value in _INT64:
            return value
    raise ParseError(mistake(reading.JSON_DOCUMENT, place="", expected="an integer of 64 bits", found=repr(text[:40])))


def parse_double(text: str) -> float:
    """Return the floating-point number a field holds; raises ParseError where it is none."""
    try:
        return float(text)
    except ValueError:
        raise ParseError(
            mistake(reading.JSON_DOCUMENT, place="", expected="a floating-point number", found=repr(text[:40]))
        ) from None


def parse_bool(text: str) -> bool:
    """Return the truth value a field holds (any integer, 0 is false).

    Raises ParseError where it is none.
    """
    if text in ("true", "false"):
        return text == "true"
    return parse_int(text) != 0


def format_double(value: float) -> str:
    """Return ``value`` with the 17 significant digits that TVM writes."""
    return f"{value:.17g}"


_INLINE: dict[str, tuple[Callable[[str], object], Callable[[Any], str]]] = {
    "int": (parse_int, str),
    "bool": (parse_bool, lambda value: str(int(value))),
    "double": (parse_double, format_double),
    "string": (str, str),
    "DataType": (lambda text: "" if text == "void" else text, str),
}


# --- reading --------------------------------------------------------------------------------------


def _is_reference(field: AttrField, text: str, is_string_node: Callable[[int], bool]) -> bool:
    """Whether ``text`` is a node index.

    A String may also stand inline, as files before 0.9 have it.
    """
    if field.kind in _INLINE:
        return False
    if field.kind != "String":
        return True
    return text.isascii() and text.isdigit() and (text == "0" or is_string_node(parse_int(text)))


def references(cls: type, fields: Mapping[str, str], is_string_node: Callable[[int], bool]) -> Iterator[int]:
    """Yield the node indices that the fields of an attribute object refer to."""
    for field in attr_fields(cls):
        text = fields.get(field.name)
        if text is not None and _is_reference(field, text, is_string_node):
            yield node_index(field.name, text)


def node_index(name: str, text: str) -> int:
    """Return the index of a node that the field ``name`` holds; raises ParseError."""
    try:
        return parse_int(text)
    except ParseError:
        raise ParseError(
            mistake(
                reading.JSON_DOCUMENT, place=f"field {name!r}: ", expected="the index of a node", found=repr(text[:40])
            )
        ) from None


def decode_attrs(
    cls: type, fields: Mapping[str, str], resolve: Resolve, is_string_node: Callable[[int], bool]
) -> object:
    """Return the attribute object of class ``cls`` that ``fields`` describe.

    ``resolve`` maps a node index to the object that node stands for. A field that is absent takes
    its default; unknown fields, which other versions declare, are ignored. Raises ParseError naming
    the field.
    """
    values: dict[str, object] = {}
    for field in attr_fields(cls):
        text = fields.get(field.name)
        if text is None:
            if field.default is MISSING:
                values[field.name] = _absent(cls, field)
            continue
        if field.kind in _INLINE:
            try:
                values[field.name] = _checked(field, _INLINE[field.kind][0](text))
            except Relay2RelaxError as error:
                raise placed(error, f"field {field.name!r}", reading.JSON_DOCUMENT) from None
            continue
        value: object = text
        if _is_reference(field, text, is_string_node):
            value = resolve(node_index(field.name, text))
        values[field.name] = coerce(field, value)
    return cls(**values)


def _absent(cls: type, field: AttrField) -> object:
    """Return what a field without default means in a file of a version that did not have it."""
    from relay2relax.relay_ir.compat.older_calls import older_default

    found = older_default(cls, field.name)
    if found is MISSING:
        if not field.optional:
            raise ParseError(f"field {field.name!r} is missing", kind=reading.JSON_DOCUMENT)
        return None
    return found


def coerce(field: AttrField, value: object) -> object:
    """Return ``value`` in the form the dataclass keeps it.

    Raises ParseError where it does not fit the kind.

    Accepts what both JSON nodes and Python callers give: lists for arrays, an ``IntImm`` of any
    width for an ``Integer``, a plain integer for a boxed one.
    """
    if value is None:
        if field.optional or field.kind == "Expr":  # a reference to an expression may be null in Relay
            return None
        if field.default is not MISSING:
            return field.default
        raise ParseError(
            mistake(
                reading.JSON_DOCUMENT, place=f"field {field.name!r}: ", expected=describe_kind(field.kind), found="null"
            )
        )
    result = _coerced(field.kind, value)
    if result is None:
        raise ParseError(
            mistake(
                reading.JSON_DOCUMENT,
                place=f"field {field.name!r}: ",
                expected=describe_kind(field.kind),
                found=_shown(value),
            )
        )
    try:
        return _checked(field, result)
    except Relay2RelaxError as error:
        raise placed(error, f"field {field.name!r}", reading.JSON_DOCUMENT) from None


def _checked(field: AttrField, value: Any) -> object:
    """Return ``value``; raises DTypeError or WordError where it should be a word and is none."""
    if field.check is not None:
        field.check(value)
    return value


def _coerced(kind: str, value: object) -> object:
    """Return ``value`` as ``kind`` demands it, None where it does not fit."""
    if "|" in kind:
        return next((found for one in kind.split("|") if (found := _coerced(one, value)) is not None), None)
    if kind.startswith("Array<"):
        if not isinstance(value, (tuple, list)):
            return None
        inner = kind[6:-1]
        items = [_coerced(inner, item) for item in value]
        return None if any(item is None for item in items) else tuple(items)
    if kind.startswith("Map<"):
        pairs = tuple(value.items()) if isinstance(value, Mapping) else value
        return pairs if isinstance(pairs, tuple) and all(map(_is_entry, pairs)) else None
    match kind:
        case "int" | "Integer":
            return _integer(value)
        case "BoxInt":
            number = _integer(value)
            return None if number is None else BoxInt(number)
        case "IndexExpr":
            if isinstance(value, IntImm):
                return value.value if value.dtype == "int32" else value
            if isinstance(value, float):  # scales and variances are declared as expressions
                return FloatImm(value, "float32")
            return value if isinstance(value, PrimExpr) else _integer(value)
        case "bool" | "Bool":
            number = _integer(value)
            return None if number is None else bool(number)
        case "FloatImm":
            if isinstance(value, FloatImm):
                return value
            return FloatImm(float(value), "float32") if isinstance(value, (int, float)) else None
        case "double":
            return float(value) if isinstance(value, (int, float)) else None
        case "string" | "String" | "DataType":
            return value if isinstance(value, str) else None
        case "EnvFunc":
            return GlobalFunction(value) if isinstance(value, str) else None
    return value


def _is_entry(value: object) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str)


def _integer(value: object) -> int | None:
    if isinstance(value, IntImm):
        return value.value
    if isinstance(value, int):
        return int(value)
    index = getattr(value, "__index__", None)  # numpy's integers
    return None if index is None else int(index())


def describe_kind(kind: str) -> str:
    """Return what a value of ``kind`` is, as messages say it."""
    words = {
        "int": "an integer",
        "Integer": "an integer",
        "BoxInt": "an integer",
        "IndexExpr": "an extent",
        "bool": "a truth value",
        "Bool": "a truth value",
        "double": "a number",
        "FloatImm": "a number",
        "string": "a string",
        "String": "a string",
        "DataType": "a dtype",
    }
    if "|" in kind:
        return " or ".join(describe_kind(one) for one in kind.split("|"))
    if kind.startswith("Array<"):
        inner = describe_kind(kind[6:-1])
        return f"an array of which each element is {inner}"
    return words.get(kind, kind)


def _shown(value: object) -> str:
    if isinstance(value, RelayExpr):  # whose repr is as large as the program
        return f"an expression ({type(value).__name__})"
    text = repr(value)
    return text if len(text) <= 60 else f"{type(value).__name__} {text[:40]}…"


# --- writing --------------------------------------------------------------------------------------


def encode_attrs(attrs: object) -> Iterator[tuple[str, str | None, object]]:
    """Yield (name, text, value) of every field: text of an inline field, or None and the referred
    value.
    """
    cls: type = type(attrs)
    for field in attr_fields(cls):
        value = getattr(attrs, field.name)
        if field.kind in _INLINE:
            yield field.name, _INLINE[field.kind][1](value), None
        elif field.kind == "Bool" and value is not None:
            yield field.name, None, IntImm(int(value), "bool")
        else:
            yield field.name, None, dict(value) if field.kind.startswith("Map<") else value
