"""Attributes in Relay's text format: ``key=value`` lists as attribute dataclasses, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass
from typing import Any

from relay2relax.core import words
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.errors.nearest import nearest
from relay2relax.core.errors.table import reading
from relay2relax.core.words import Code, code, comma, joined, quoted_for_relay, truth, vouched
from relay2relax.ops.registry.attributes import AttrField, BoxInt, GlobalFunction, NoAttrs, attr_fields
from relay2relax.ops.registry.record import OpDef
from relay2relax.ops.registry.table import relay_op
from relay2relax.relay_ir.compat.attrs_codec import attrs_class, attrs_key, coerce, describe_kind
from relay2relax.relay_ir.compat.older_calls import Modern, form_of_call, has_older_forms, modern_call, older_default
from relay2relax.relay_ir.ir.device import VirtualDevice
from relay2relax.relay_ir.ir.expr import Call, Expr, Op, OpaqueAttrs
from relay2relax.relay_ir.text import devices
from relay2relax.relay_ir.text.lexer import Lexer
from relay2relax.relay_ir.text.literals import format_double, format_scalar, unquote
from relay2relax.relay_ir.text.metadata import MetadataReader
from relay2relax.relay_ir.text.names import attribute_key
from relay2relax.relay_ir.text.types import number, sequence
from relay2relax.tir.ir.expr import AnyExtent, FloatImm, IntImm, StringImm

TYPE_KEY = "attrs_type_key"
_IS, _OPEN, _CLOSE, _NONE = code("="), code("["), code("]"), code("None")


@dataclass(frozen=True, slots=True)
class Attribute:
    """One ``key=value`` as it was read, with the offsets where it and its value stand."""

    key: str
    value: object
    start: int
    value_start: int
    end: int


def _attributes(names: Sequence[str]) -> str:
    """Return the attributes ``names`` as a part of a sentence."""
    quoted = [f"`{name}`" for name in names]
    if len(quoted) == 1:
        return f"attribute {quoted[0]}"
    return f"attributes {', '.join(quoted[:-1])} and {quoted[-1]}"


class AttributeReader:
    """Reads attribute lists and builds attribute objects of them.

    ``atom`` reads an expression used as a value.
    """

    def __init__(self, lexer: Lexer, metadata: MetadataReader, atom: Callable[[], Expr]) -> None:
        self._lexer = lexer
        self._metadata = metadata
        self._atom = atom
        self._defaults: dict[OpDef, object] = {}

    def starts(self) -> bool:
        """Whether an attribute begins at the current token."""
        return self._lexer.kind == "name" and self._lexer.peek() == "="

    def read(self) -> list[Attribute]:
        """Read ``key=value, …`` up to the bracket that ends the list.

        TVM's reader does not insist on the commas.
        """
        lexer = self._lexer
        found: list[Attribute] = []
        while lexer.kind == "name":
            start = lexer.start
            key = lexer.value
            lexer.advance()
            lexer.expect("=", f"and the value of attribute `{key}`")
            value_start = lexer.start
            found.append(Attribute(key, self.value(), start, value_start, lexer.previous_end))
            lexer.accept(",")
        return found

    def value(self) -> object:
        """Read the value of an attribute."""
        lexer = self._lexer
        kind = lexer.kind
        if kind == "number":
            value, dtype = number(lexer)
            return IntImm(int(value), dtype) if dtype in ("int16", "int64") else value
        if kind in ("True", "False"):
            lexer.advance()
            return kind == "True"
        if kind == "string":
            return unquote(lexer.expect("string"))
        if kind == "name":
            if lexer.value in devices.NAMES and lexer.peek() == "(":
                return devices.described_device(lexer)
            if lexer.value not in ("None", "nullptr"):
                lexer.unexpected("the value of an attribute", help=f'a string is quoted: "{lexer.value}"')
            lexer.advance()
            return None
        if kind == "meta":
            return self._metadata.take(lexer)
        if kind not in ("[", "(", "local", "graph", "global", "fn"):
            lexer.unexpected("the value of an attribute")
        lexer.enter("attributes")
        found = self._bracketed(kind) if kind in ("[", "(") else self._atom()
        lexer.leave()
        return found

    def _bracketed(self, kind: str) -> object:
        if kind == "[":
            return tuple(sequence(self._lexer, "[", "]", self.value))
        start = self._lexer.start
        self._lexer.advance()
        value = self.value()
        if self._lexer.kind == ",":
            self._lexer.fail(
                "attributes have no tuples", start, self._lexer.end, "write `[…]`", kind=reading.RELAY_ATTRIBUTE
            )
        self._lexer.close("(", ")", start, "`)` to close the value")
        return value

    def of_call(self, record: OpDef | None, given: list[Attribute], start: int) -> object:
        """Return the attribute object of a call that begins at offset ``start``.

        ``record`` is that of the operator that is called, None where something else is called.
        """
        key = next((one for one in given if one.key == TYPE_KEY), None)
        if key is not None:
            given = [one for one in given if one is not key]
            cls = attrs_class(str(key.value))
            if cls is None:
                return OpaqueAttrs(str(key.value), tuple((one.key, one.value) for one in given))
            return self._build(cls, str(key.value), given, start)
        if record is None:
            if not given:
                return NoAttrs()
            self._lexer.fail(
                "these attributes are of an unknown class",
                given[0].start,
                given[-1].end,
                f'only a call of an operator declares one; add {TYPE_KEY}="relay.attrs.…"',
                kind=reading.RELAY_ATTRIBUTE,
            )
        if given:
            return self._build(record.attrs, f"operator {record.relay}", given, start)
        if record not in self._defaults:
            made = self._build(record.attrs, f"operator {record.relay}", given, start)
            if isinstance(made, NoAttrs) and record.attrs is not NoAttrs:
                return made  # a mistake, which is to be noted at every call
            self._defaults[record] = made
        return self._defaults[record]

    def of_older_call(
        self, name: str, args: list[Expr], given: list[Attribute], attrs: object, start: int
    ) -> Modern | None:
        """Return today's form of a call that is in the form of an earlier version, None where it is
        not.
        """
        if not has_older_forms(name):
            return None
        if attrs is not None:
            return modern_call(name, tuple(args), attrs, self._lexer.release)
        form = form_of_call(name, len(args), [one.key for one in given], self._lexer.release)
        if form is None:
            return None
        record = relay_op(name)
        cls = form.attrs or (record.attrs if record is not None else NoAttrs)
        made = self._build(cls, f"operator {name}", given, start)
        return form.modern(tuple(args), made) if isinstance(made, cls) else (name, tuple(args), made)

    def _build(self, cls: type, owner: str, given: list[Attribute], start: int) -> object:
        """Return an instance of ``cls``; ``NoAttrs`` where mistakes were noted."""
        lexer = self._lexer
        known = {field.name: field for field in attr_fields(cls)}
        values: dict[str, object] = {}
        before = len(lexer.problems)
        for one in given:
            field = known.get(one.key)
            if field is None:
                names = ", ".join(known) or "none"
                help = nearest(one.key, known) or f"attributes of {owner}: {names}"
                lexer.report(
                    reading.RELAY_ATTRIBUTE.message(owner=owner, name=one.key),
                    one.start,
                    one.end,
                    "unknown attribute",
                    help,
                    kind=reading.RELAY_ATTRIBUTE,
                )
            elif one.key in values:
                lexer.report(f"attribute `{one.key}` is given twice", one.start, one.end, kind=reading.RELAY_ATTRIBUTE)
            else:
                values[one.key] = self._fitted(field, one)
        missing = [name for name, field in known.items() if field.required and name not in values]
        if missing:
            # An earlier version may have had a default.
            older = {name: default for name in missing if (default := older_default(cls, name)) is not MISSING}
            values |= older
            missing = [name for name in missing if name not in older]
        if missing:
            title = f"{owner} needs {_attributes(missing)}"
            lexer.report(title, start, lexer.previous_end, "missing in this call", kind=reading.RELAY_ATTRIBUTE)
        return cls(**values) if len(lexer.problems) == before else NoAttrs()

    def _fitted(self, field: AttrField, one: Attribute) -> object:
        try:
            value = coerce(field, one.value)
        except Relay2RelaxError as error:
            problem = error.diagnostics[0]
            self._lexer.report(
                f"attribute `{one.key}` must be {describe_kind(field.kind)}",
                one.value_start,
                one.end,
                problem.title.partition(": ")[2] if field.check is not None else "",
                problem.help,
                kind=reading.RELAY_ATTRIBUTE,
            )
            return None
        # A section count is boxed or not as it was written, which shows again in print.
        return one.value if "BoxInt" in field.kind else value


class AttributeWriter:
    """Writes attribute values; ``refer`` names an object that has to go into the metadata.

    Where no metadata is shown, a device is described in place, unless a target belongs to it.
    """

    def __init__(self, refer: Callable[[object], Code], exact_floats: bool, show_meta_data: bool = True) -> None:
        self._refer = refer
        self._exact = exact_floats
        self._show_meta_data = show_meta_data

    def of_call(self, call: Call, record: OpDef | None, show_meta_data: bool) -> list[Code]:
        """Return the attributes of a call as arguments."""
        attrs = call.attrs
        if isinstance(attrs, NoAttrs):
            return []
        is_operator = isinstance(call.op, Op)
        declared = record is not None and record.declares_attrs and isinstance(attrs, record.attrs)
        if is_operator and not declared and show_meta_data:
            return [self._refer(attrs)]
        if isinstance(attrs, OpaqueAttrs):
            found = [code("{}={}", attribute_key(key), self.value(value)) for key, value in attrs.fields]
        else:
            found = list(self._differing(attrs))
        if not is_operator:
            key = attrs.type_key if isinstance(attrs, OpaqueAttrs) else attrs_key(type(attrs))
            found.append(code("{}={}", attribute_key(TYPE_KEY), quoted_for_relay(key)))
        return found

    def _differing(self, attrs: object) -> Iterator[Code]:
        """Yield the fields that have no default or differ from it."""
        cls: type = type(attrs)
        for field in attr_fields(cls):
            value = getattr(attrs, field.name)
            if value is not field.default and (field.required or not self._same(value, field.default)):
                yield joined(attribute_key(field.name), _IS, self._field(field.kind, value))

    def _same(self, value: object, default: object) -> bool:
        # TVM takes floats for equal within 1e-9: files hold 0.00001 as a float32 that became a
        # double.
        if isinstance(value, float) and isinstance(default, float) and not self._exact:
            return value == default or abs(value - default) < 1e-9
        return bool(value == default)

    def _field(self, kind: str, value: Any) -> Code:
        if kind == "double" and value is not None:
            return format_double(float(value), self._exact)
        if kind.startswith("Map<"):
            return self._refer(dict(value))
        if kind == "DataType" and value == "":
            return quoted_for_relay("void")
        return self.value(value)

    def of_function(self, attrs: Mapping[str, object]) -> list[Code]:
        """Return the attributes of a function as they stand after its parameters."""
        return [code("{}={}", attribute_key(key), self.value(value)) for key, value in attrs.items()]

    def value(self, value: object) -> Code:
        """Return the text of an attribute value."""
        match value:
            case None:
                return _NONE
            case BoxInt() | GlobalFunction():
                return self._refer(value)
            case bool():
                return truth(value)
            case int():
                return words.number(value)
            case float():
                return format_double(value, self._exact)
            case str():
                return quoted_for_relay(value)
            case tuple() | list():
                return joined(_OPEN, comma(map(self.value, value)), _CLOSE)
            case AnyExtent():
                return code("?")
            case IntImm(number, dtype) if dtype != "bool":
                return format_scalar(number, dtype)
            case FloatImm(real, "float32") if self._exact:
                return format_double(real, exact=True)  # which is what it holds, whatever its dtype
            case FloatImm(real, dtype):
                return format_scalar(real, dtype, self._exact)
            case StringImm(text):
                return quoted_for_relay(text)
            case VirtualDevice(target=None) if not self._show_meta_data:
                return vouched(str(value))  # numbers and a checked scope
        return self._refer(value)
