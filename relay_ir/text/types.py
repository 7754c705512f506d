"""Types in Relay's text format, read and written."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar as TypeParameter

from relay2relax.core import words
from relay2relax.core.dtype import DTypeError, dtype_help, to_code
from relay2relax.core.errors import LimitError
from relay2relax.core.errors.table import reading
from relay2relax.core.words import Code, code, comma
from relay2relax.relay_ir.ir.types import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeVar,
)
from relay2relax.relay_ir.json.scalars import is_extent
from relay2relax.relay_ir.text.lexer import Lexer
from relay2relax.relay_ir.text.literals import MalformedNumber, format_scalar, read_number
from relay2relax.relay_ir.text.metadata import MetadataReader
from relay2relax.relay_ir.text.names import dotted_name, dtype_name
from relay2relax.tir.extent import ANY, Extent
from relay2relax.tir.ir.expr import AnyExtent, IntImm

# What a scalar type begins with; anything else is a type variable or the name of an ADT.
_DTYPES = ("int", "uint", "float", "bool", "bfloat", "handle")
# Most types are repeated many times; those without symbols are read once.
_PLAIN = re.compile(r"Tensor\[\((?:[\d?]+(?:, [\d?]+)*)?\), \w+\]")
_SHORT = {"int": "int32", "uint": "uint32", "float": "float32", "uint1": "bool"}

# What a list in brackets has.
Item = TypeParameter("Item")


class TypeReader:
    """Reads types; knows the type variables in reach and the ADTs mentioned so far."""

    def __init__(self, lexer: Lexer, metadata: MetadataReader) -> None:
        self.lexer = lexer
        self.metadata = metadata
        self.adts: dict[str, GlobalTypeVar] = {}
        self._variables: dict[str, list[TypeVar]] = {}
        self._trail: list[str] = []
        self._plain: dict[str, Type] = {}

    def bind(self, var: TypeVar) -> None:
        """Bring a type variable into reach."""
        self._variables.setdefault(var.name, []).append(var)
        self._trail.append(var.name)

    def variable(self, name: str) -> TypeVar | None:
        """Return the type variable that ``name`` means here, None if there is none."""
        stack = self._variables.get(name)
        return stack[-1] if stack else None

    def mark(self) -> int:
        """Return the present extent of the scope, for :meth:`release`."""
        return len(self._trail)

    def release(self, mark: int) -> None:
        """Forget the type variables bound since ``mark``."""
        while len(self._trail) > mark:
            self._variables[self._trail.pop()].pop()

    def adt(self, name: str) -> GlobalTypeVar:
        """Return the ADT ``name``, which its definition may follow."""
        if name not in self.adts:
            self.adts[name] = GlobalTypeVar(name)
        return self.adts[name]

    def parameters(self) -> tuple[TypeVar, ...]:
        """Read ``[T, U]`` if it stands here, and bring the variables into reach."""
        if self.lexer.kind != "[":
            return ()
        found = sequence(self.lexer, "[", "]", lambda: TypeVar(self.lexer.expect("name", "for a type variable")))
        for var in found:
            self.bind(var)
        return tuple(found)

    def read(self) -> Type:
        """Read a type."""
        lexer = self.lexer
        if lexer.kind == "name":
            return self._named()
        lexer.enter("types")
        found = self._compound()
        lexer.leave()
        return found

    def _compound(self) -> Type:
        lexer = self.lexer
        start, end = lexer.start, lexer.end
        match lexer.kind:
            case "(":
                return self._parenthesised()
            case "fn":
                return self._function()
            case "ref":
                lexer.advance()
                values = sequence(lexer, "(", ")", self.read)
                if len(values) != 1:
                    lexer.fail("a reference holds one type", start, lexer.previous_end)
                return RefType(values[0])
            case "_":
                lexer.advance()
                return IncompleteType()
            case "meta":
                found = self.metadata.take(lexer)
                if isinstance(found, Type):
                    return found
                lexer.fail(reading.RELAY_METADATA.message(expected="a type"), start, end, kind=reading.RELAY_METADATA)
        lexer.unexpected("a type")

    def _parenthesised(self) -> Type:
        """Read a tuple type, also of one field."""
        return TupleType(tuple(sequence(self.lexer, "(", ")", self.read)))

    def _named(self) -> Type:
        lexer = self.lexer
        name = lexer.value
        if name == "Tensor":
            plain = _PLAIN.match(lexer.text, lexer.start)
            if plain is not None:
                return self._plain_tensor(plain)
            if lexer.peek() == "[":
                return self._tensor()
        stack = self._variables.get(name)
        if not stack and name not in self.adts and name.startswith(_DTYPES):
            return TensorType((), self._dtype())
        lexer.advance()
        if stack and lexer.kind != "[":
            return stack[-1]
        lexer.enter("types")
        args = sequence(lexer, "[", "]", self.read) if lexer.kind == "[" else []
        lexer.leave()
        return TypeCall(stack[-1] if stack else self.adt(name), tuple(args))

    def _plain_tensor(self, plain: re.Match[str]) -> Type:
        lexer = self.lexer
        found = self._plain.get(plain[0])
        if found is None:
            found = self._plain[plain[0]] = self._tensor()
        else:
            lexer.shorten(plain.end())
            lexer.advance()
        return found

    def _tensor(self) -> Type:
        lexer = self.lexer
        lexer.advance()
        opened = lexer.start
        lexer.expect("[", "after `Tensor`")
        written = lexer.start
        shape = self._shape()
        end = lexer.previous_end
        lexer.expect(",", "and the dtype of the tensor")
        dtype = self._dtype()
        lexer.close("[", "]", opened, "`]` to close the tensor type")
        try:
            return TensorType(shape, dtype)
        except LimitError as reached:
            raise reached.located(lexer.where(written, end), lexer.source) from None

    def _shape(self) -> tuple[Extent, ...]:
        if self.lexer.kind != "(":
            self.lexer.unexpected("`(` and the shape of the tensor")
        return tuple(sequence(self.lexer, "(", ")", self.extent))

    def _dtype(self) -> str:
        start = self.lexer.start
        written = self.lexer.expect("name", "for the dtype of the tensor")
        name = _SHORT.get(written, written)
        try:
            to_code(name)
        except DTypeError:
            self.lexer.fail(
                f"unknown type {written!r}",
                start,
                start + len(written),
                "expected a dtype such as `float32`",
                dtype_help(written, otherwise=""),
            )
        return name

    def extent(self) -> Extent:
        """Read a dimension."""
        lexer = self.lexer
        start, end = lexer.start, lexer.end
        if lexer.kind == "number":
            value, dtype = number(lexer)
            if dtype.startswith("float"):
                lexer.fail("a dimension is an integer", start, end)
            return int(value) if dtype == "int32" else IntImm(int(value), dtype)
        if lexer.accept("?"):
            return ANY
        if lexer.kind == "meta":
            found = self.metadata.take(lexer)
            if is_extent(found):
                return found
            lexer.fail(reading.RELAY_METADATA.message(expected="a dimension"), start, end, kind=reading.RELAY_METADATA)
        lexer.unexpected("a dimension: an integer, `?` or a metadata reference")

    def _function(self) -> Type:
        lexer = self.lexer
        lexer.advance()
        mark = self.mark()
        variables = self.parameters()
        args = sequence(lexer, "(", ")", self.read)
        arrow(lexer)
        result = self.read()
        self.release(mark)
        return FuncType(tuple(args), result, variables)


def sequence(lexer: Lexer, opening: str, closing: str, item: Callable[[], Item]) -> list[Item]:
    """Read ``item``s between delimiters, separated by commas."""
    start = lexer.start
    lexer.expect(opening)
    if opening == "{":
        lexer.blocks.append(start)
    found: list[Item] = []
    while lexer.more(opening, closing, start):
        found.append(item())
        separator(lexer, len(found), opening, closing, start)
    lexer.advance()
    if opening == "{":
        lexer.blocks.pop()
    return found


def separator(lexer: Lexer, count: int, opening: str, closing: str, start: int) -> None:
    """Read what follows item ``count`` of a list that was opened at offset ``start``.

    The last comma may be missing or not; of the others TVM's reader, by accident, demands only the
    first.
    """
    if not lexer.accept(",") and lexer.kind != closing and count == 1:
        lexer.unclosed(opening, start, f"`,` or `{closing}`")


def arrow(lexer: Lexer) -> None:
    """Read ``->``, whose parts TVM's reader takes for two tokens."""
    if lexer.kind == "-" and lexer.peek() == ">":
        lexer.advance()
        lexer.advance()
        return
    lexer.expect("->", "and the type of the result")


def number(lexer: Lexer, stated: str = "") -> tuple[int | float | bool, str]:
    """Read a number, whose dtype a comment may have ``stated``; a malformed one is noted and read
    as 0.
    """
    try:
        found = read_number(lexer.value, stated, lexer.bare_float)
    except MalformedNumber as problem:
        lexer.report(f"malformed number {lexer.value[:40]!r}", label=str(problem))
        found = (0, "int32")
    lexer.advance()
    return found


class TypeWriter:
    """Writes types; texts of types are kept, since a program repeats few of them often."""

    def __init__(self, refer: Callable[[object], Code]) -> None:
        self._refer = refer
        self._texts: dict[Type, Code] = {}

    def write(self, ty: Type) -> Code:
        """Return the text of a type."""
        text = self._texts.get(ty)
        if text is None:
            text = self._write(ty)
            if "meta[" not in text:  # objects of the metadata are told apart though they be equal
                self._texts[ty] = text
        return text

    def _write(self, ty: Type) -> Code:
        match ty:
            case TensorType((), dtype):
                return dtype_name(dtype)
            case TensorType(shape, dtype):
                return code("Tensor[({}), {}]", comma(map(self.extent, shape)), dtype_name(dtype))
            case TupleType(fields):
                inner = comma(map(self.write, fields))
                return code("({},)", inner) if len(fields) == 1 else code("({})", inner)
            case FuncType(arg_types, ret_type, type_params):
                variables = code("[{}]", comma(map(self.write, type_params))) if type_params else code("")
                return code("fn {}({}) -> {}", variables, comma(map(self.write, arg_types)), self.write(ret_type))
            case RefType(value):
                return code("ref({})", self.write(value))
            case TypeVar(name) | GlobalTypeVar(name):
                return dotted_name(name)
            case TypeCall(func, args):
                return code("{}[{}]", self.write(func), comma(map(self.write, args)))
        return self._refer(ty)

    def extent(self, extent: Extent) -> Code:
        """Return the text of a dimension."""
        if isinstance(extent, int):
            return words.number(extent)
        if isinstance(extent, AnyExtent):
            return code("?") if extent.written is None else self._refer(extent.written)
        if isinstance(extent, IntImm):
            return format_scalar(extent.value, extent.dtype)
        return self._refer(extent)
