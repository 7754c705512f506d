"""Expressions in Relay's text format, read.

A block is read in a loop, so that programs of any length are read without recursion; only what is
nested in the text (parentheses, branches, functions in functions) nests calls here, and its depth
has a bound.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn, TypeVar

import numpy as np

from relay2relax.core.dtype import numpy_dtype
from relay2relax.core.errors.nearest import nearest
from relay2relax.core.errors.table import reading
from relay2relax.core.errors.table import types as type_kinds
from relay2relax.ops.registry.attributes import NoAttrs, attr_fields
from relay2relax.ops.registry.record import OpDef
from relay2relax.ops.registry.table import relay_names, relay_op
from relay2relax.relay_ir.compat.older_calls import is_older_attrs, is_older_name
from relay2relax.relay_ir.ir.device import VirtualDevice
from relay2relax.relay_ir.ir.expr import (
    Call,
    Clause,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Op,
    OpaqueAttrs,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
    RefCreate,
    RefRead,
    RefWrite,
    RelayExpr,
    Tuple,
    TupleGetItem,
    Var,
)
from relay2relax.relay_ir.ir.types import IncompleteType, Type
from relay2relax.relay_ir.text import omitted
from relay2relax.relay_ir.text.attrs import Attribute, AttributeReader
from relay2relax.relay_ir.text.lexer import Lexer, describe
from relay2relax.relay_ir.text.metadata import MetadataReader
from relay2relax.relay_ir.text.omitted import Omitted, is_omitted, operand_of, sections
from relay2relax.relay_ir.text.scope import Locations, Scope
from relay2relax.relay_ir.text.types import TypeReader, arrow, number, separator, sequence

Node = TypeVar("Node", bound=Expr)

# Operators between operands: how tightly they bind, and the operator that is called.
INFIX = {
    "*": (12, "multiply"),
    "/": (12, "divide"),
    "+": (10, "add"),
    "-": (10, "subtract"),
    "<": (8, "less"),
    "<=": (8, "less_equal"),
    ">": (8, "greater"),
    ">=": (8, "greater_equal"),
    "==": (7, "equal"),
    "!=": (7, "not_equal"),
}

# The dtype of a literal that TVM up to 0.8 wrote without suffix.
_TYPE_OF_OPERAND = re.compile(r"\(*(?:Tensor\[|(?:u?int|b?float)\d+\s*[,)]|bool\s*[,)])").match
_STATED = re.compile(r"[ \t]*/\* ty=(int64|float64)\b")

_REFERENCES: dict[str, tuple[int, Callable[..., Any]]] = {
    "ref": (1, RefCreate),
    "ref_read": (1, RefRead),
    "ref_write": (2, RefWrite),
}


class ExpressionReader:
    """Reads expressions of one text; knows the names that the text has given a meaning so far."""

    def __init__(self, lexer: Lexer, make_types: type[TypeReader] = TypeReader) -> None:
        self.lexer = lexer
        self.metadata = MetadataReader(self.lexer)
        self.types = make_types(self.lexer, self.metadata)
        self.attributes = AttributeReader(self.lexer, self.metadata, self._atom)
        self.scope = Scope()
        self.offsets: dict[Expr, tuple[int, int]] = {}
        self.graph: dict[str, Expr] = {}
        self.globals: dict[str, GlobalVar] = {}
        self.constructors: dict[str, Constructor] = {}
        self.signatures: dict[str, str] = {}  # the constructors' inputs as they were written
        self._bare: dict[str, Constructor] = {}
        self._operators: dict[str, tuple[Op, OpDef | None]] = {}
        self._primaries: dict[str, Callable[[int], Expr]] = {
            "local": self._local,
            "graph": self._graph,
            "name": self._name,
            "global": self._global,
            "number": self._number,
            "True": self._boolean,
            "False": self._boolean,
            "(": self._parenthesised,
            "meta": self._meta,
            "fn": self._function_literal,
            "if": self._if,
            "ref": self._reference,
            "ref_read": self._reference,
            "ref_write": self._reference,
        }

    def locations(self) -> Locations:
        """Return where the nodes that were read stand."""
        return Locations(self.lexer.source, self.offsets)

    def located(self, node: Node, start: int) -> Node:
        """Note that ``node`` stands from offset ``start`` to the end of the last token, and return
        it.
        """
        self.offsets[node] = (start, self.lexer.previous_end)
        return node

    # --- functions and binders ---

    def function(self, start: int) -> Function:
        """Read a function from its type parameters on."""
        lexer = self.lexer
        mark, type_mark = self.scope.open(), self.types.mark()
        type_params = self.types.parameters()
        opened = lexer.start
        lexer.expect("(", "and the parameters of the function")
        params: list[Var] = []
        while lexer.kind == "local":
            params.append(self._parameter())
            if not lexer.accept(","):
                break
        if lexer.kind == "name" and not self.attributes.starts():
            lexer.unexpected(f"a parameter, which begins with `%`, or an attribute: `{lexer.value}=…`")
        given = self.attributes.read()
        lexer.close("(", ")", opened, "an attribute or `)`" if given else "`,`, `)` or a parameter")
        device, given = self._device(given)
        attrs = {one.key: self._stored(one.value) for one in given}
        ret_type = None
        if lexer.kind in ("->", "-"):
            arrow(lexer)
            ret_type = self.types.read()
        body = self._braces()
        self.scope.close(mark)
        self.types.release(type_mark)
        return self.located(Function(tuple(params), body, ret_type, type_params, attrs, lexer.span(), device), start)

    def _parameter(self) -> Var:
        lexer = self.lexer
        start, name = lexer.start, lexer.value[1:]
        lexer.advance()
        device = None
        opened = lexer.start
        if lexer.accept("{"):
            given = self.attributes.read()
            lexer.close("{", "}", opened, "`}` after the attributes of the parameter")
            device, others = self._device(given)
            for one in others:
                lexer.fail(
                    reading.RELAY_ATTRIBUTE.message(owner="a parameter", name=one.key),
                    one.start,
                    one.end,
                    kind=reading.RELAY_ATTRIBUTE,
                )
        return self._binder(name, start, device)

    def _device(self, given: list[Attribute]) -> tuple[VirtualDevice | None, list[Attribute]]:
        """Return the device that ``virtual_device`` states, if it is given and constrains anything,
        and the other attributes.
        """
        device = None
        for one in given:
            if one.key != "virtual_device":
                continue
            if one.value is not None and not isinstance(one.value, VirtualDevice):
                self.lexer.fail(
                    "`virtual_device` must refer to a VirtualDevice of the metadata",
                    one.value_start,
                    one.end,
                    kind=reading.RELAY_METADATA,
                )
            device = one.value if one.value is not None and one.value.constrained else None
        return device, [one for one in given if one.key != "virtual_device"]

    @staticmethod
    def _stored(value: object) -> object:
        """Return a function attribute as TVM stores it: truth values are integers."""
        return int(value) if isinstance(value, bool) else value

    def _binder(self, name: str, start: int, device: VirtualDevice | None = None) -> Var:
        """Read the rest of a binder, its type, and bring the variable into reach."""
        annotation: Type | None = self.types.read() if self.lexer.accept(":") else None
        var = Var(name, annotation, self.lexer.span(), device)
        self.scope.bind(var)
        return self.located(var, start)

    # --- blocks ---

    def _scoped(self, read: Callable[[], Expr]) -> Expr:
        mark = self.scope.open()
        found = read()
        self.scope.close(mark)
        return found

    def _braces(self) -> Expr:
        """Read a block in braces, in the present scope."""
        lexer = self.lexer
        opened = lexer.start
        lexer.expect("{", "and the body")
        lexer.blocks.append(opened)
        body = self.block()
        lexer.close("{", "}", opened, "`;` or `}`")
        lexer.blocks.pop()
        return body

    def block(self, in_let: bool = False) -> Expr:
        """Read statements and the expression they end in.

        A let as the value of a let, which TVM writes and cannot read, ends with the first
        expression (``in_let``).
        """
        lexer = self.lexer
        lexer.enter("expressions", help="bind the inner ones: `%0 = …;`")
        bindings: list[tuple[Var, Expr, int]] = []
        mark = self.scope.mark()
        while True:
            start, kind = lexer.start, lexer.kind
            if kind == "graph":
                name = lexer.value
                lexer.advance()
                if lexer.kind == "=":
                    lexer.advance()
                    self.graph[name] = self._bound(name)
                    lexer.expect(";", f"after the definition of {name}")
                    continue
                value = self._infix(self._operand(self._graph_value(name, start), start), start)
            elif kind == "let":
                bindings.append((*self._let(), start))
                self.scope.open()
                continue
            elif kind == "free_var":
                self._free_var()
                continue
            elif kind == "{":
                value = self._scoped(self._braces)
            elif kind in ("match", "match?"):
                value = self._match(start)
            else:
                value = self._binary()
            if lexer.kind != ";" or in_let:
                break
            lexer.advance()
            bindings.append((Var("", IncompleteType()), value, start))
        lexer.leave()
        if bindings:
            self.scope.close(mark)
            for var, bound, start in reversed(bindings):
                value = self.located(Let(var, bound, value), start)
        return value

    def _free_var(self) -> None:
        lexer = self.lexer
        lexer.advance()
        start = lexer.start
        self._binder(lexer.expect("local", "after `free_var`")[1:], start)
        lexer.expect(";", "after the free variable")

    def _let(self) -> tuple[Var, Expr]:
        lexer = self.lexer
        lexer.advance()
        start = lexer.start
        name = lexer.expect("local", "after `let`")
        var = self._binder(name[1:], start)  # in reach of its own value: a function may call itself
        lexer.expect("=", f"and the value of {name}")
        value = self.block(in_let=True) if lexer.kind == "let" else self._bound(name)
        lexer.expect(";", f"after the value of {name}")
        return var, value

    def _bound(self, name: str) -> Expr:
        """Read the value that is given to ``name``: a match, too, which TVM writes so and cannot
        read.
        """
        if self.lexer.kind in ("match", "match?"):
            return self._match(self.lexer.start)
        if self.lexer.kind == "{":
            self.lexer.unexpected("an expression", help=f"put it in parentheses: `{name} = (…);`")
        return self._binary()

    def _match(self, start: int) -> Expr:
        lexer = self.lexer
        complete = lexer.kind == "match"
        lexer.advance()
        data = self._atom()
        clauses = sequence(lexer, "{", "}", self._clause)
        return self.located(Match(data, tuple(clauses), complete), start)

    def _clause(self) -> Clause:
        mark = self.scope.open()
        pattern = self._pattern()
        self.lexer.expect("=>", "after the pattern")
        body = self.block()
        self.scope.close(mark)
        return Clause(pattern, body)

    def _pattern(self) -> Pattern:
        lexer = self.lexer
        lexer.enter("patterns")
        start = lexer.start
        found: Pattern
        match lexer.kind:
            case "_":
                lexer.advance()
                found = PatternWildcard()
            case "local":
                name = lexer.value[1:]
                lexer.advance()
                found = PatternVar(self._binder(name, start))
            case "name":
                found = self._constructor_pattern(start)
            case "(":
                found = PatternTuple(tuple(sequence(lexer, "(", ")", self._pattern)))
            case _:
                lexer.unexpected("a pattern: `_`, a variable, a constructor or a tuple")
        lexer.leave()
        return found

    def _constructor_pattern(self, start: int) -> Pattern:
        lexer = self.lexer
        name = lexer.value
        constructor = self.constructors.get(name)
        if constructor is None:
            lexer.fail(
                reading.RELAY_NAME.message(what="constructor", name=f"`{name}`"),
                help=nearest(name, self.constructors),
                kind=reading.RELAY_NAME,
            )
        lexer.advance()
        parts = sequence(lexer, "(", ")", self._pattern) if lexer.kind == "(" else []
        return PatternConstructor(constructor, tuple(parts))

    # --- operands and operators ---

    def _binary(self) -> Expr:
        start = self.lexer.start
        return self._infix(self._operand(self._primary(), start), start)

    def _infix(self, first: Expr, start: int) -> Expr:
        """Read the operators and operands after ``first``, if there are any."""
        return self._operators_after(first, start) if self.lexer.kind in INFIX else first

    def _operators_after(self, first: Expr, start: int) -> Expr:
        """Read the operators and operands after ``first``, by precedence."""
        lexer = self.lexer
        operands, starts = [first], [start]
        pending: list[tuple[int, Op]] = []

        def reduce(level: int) -> None:
            while pending and pending[-1][0] >= level:
                op = pending.pop()[1]
                right = operands.pop()
                starts.pop()
                operands[-1] = self.located(Call(op, (operands[-1], right), NoAttrs()), starts[-1])

        while lexer.kind in INFIX:
            level, name = INFIX[lexer.kind]
            reduce(level)
            pending.append((level, self._operator(name, lexer.start, lexer.end)))
            lexer.advance()
            starts.append(lexer.start)
            operands.append(self._operand(self._primary(), lexer.start))
        reduce(0)
        return operands[0]

    def _operand(self, expr: Expr, start: int) -> Expr:
        """Read what may follow a primary: one projection, then calls and, as TVM wrote until 0.7,
        ``^``.
        """
        lexer = self.lexer
        if lexer.kind == ".":
            expr = self._projection(expr, start)
        while lexer.kind in ("(", "^"):
            expr = self._call(expr, start) if lexer.kind == "(" else self._read_reference(expr, start)
        return expr

    def _read_reference(self, expr: Expr, start: int) -> Expr:
        self.lexer.advance()
        return self.located(RefRead(expr), start)

    def _atom(self) -> Expr:
        """Read a primary and its projection, if it has one."""
        start = self.lexer.start
        expr = self._primary()
        return self._projection(expr, start) if self.lexer.kind == "." else expr

    def _primary(self) -> Expr:
        read = self._primaries.get(self.lexer.kind)
        if read is None:
            self._refuse()
        return read(self.lexer.start)

    def _refuse(self) -> NoReturn:
        kind = self.lexer.kind
        nested = kind in ("match", "match?", "{", "let")
        self.lexer.unexpected("an expression", help=f"put {describe(kind)} … in parentheses here" if nested else "")

    def _projection(self, value: Expr, start: int) -> Expr:
        lexer = self.lexer
        lexer.advance()
        return self._projected(value, start)

    def _projected(self, value: Expr, start: int) -> Expr:
        """Read the index of a field of ``value``."""
        lexer = self.lexer
        if lexer.kind != "number" or not lexer.value.isdigit() or len(lexer.value) > 9:
            nested = lexer.kind == "number" and "." in lexer.value
            lexer.unexpected(
                "the index of a field",
                help="nested projections are written `(%x.0).1`" if nested else "fields have numbers: `%x.0`",
            )
        index = int(lexer.value)
        lexer.advance()
        return self.located(TupleGetItem(value, index, lexer.span()), start)

    def _call(self, callee: Expr, start: int) -> Expr:
        lexer = self.lexer
        opened = lexer.start
        record = self._operators[callee.name][1] if isinstance(callee, Op) else None
        lexer.advance()
        args: list[Expr] = []
        given: list[Attribute] = []
        attrs: object = None
        left_out: tuple[Omitted, int, int] | None = None
        while lexer.more("(", ")", opened):
            if self.attributes.starts():
                given = self.attributes.read()
                break
            if lexer.kind == "meta" and lexer.peek() == ")":
                at, end = lexer.start, lexer.end
                found = self.metadata.take(lexer)
                if isinstance(found, Omitted) and record is not None and found.is_attributes:
                    left_out = (found, at, end)
                elif isinstance(found, Omitted):
                    args.append(self._shared(self._omitted(found, at, end), at, end))
                elif isinstance(found, RelayExpr):
                    args.append(self._shared(found, at, end))
                else:
                    attrs = self._attribute_object(callee, record, found, at, end)
                break
            if _TYPE_OF_OPERAND(lexer.text, lexer.start):
                # What a debug build of TVM prints behind the arguments; inference finds it again.
                self.types.read()
                if not lexer.accept(",") and lexer.kind != ")":
                    lexer.unexpected("`,` or `)`")
                continue
            args.append(self.block())
            separator(lexer, len(args), "(", ")", opened)
        lexer.close("(", ")", opened, "`,` or `)`")
        if left_out is not None and record is not None:
            said = self._given(*left_out, record, args)
            if said is None:
                return self.located(Call(callee, tuple(args), NoAttrs(), (), lexer.span()), start)
            given = said
        elif self.metadata.omitted.any:
            given = [self._decided(one, record, args, given) for one in given]
        if isinstance(callee, Op):
            older = self.attributes.of_older_call(callee.name, args, given, attrs, start)
            if older is not None:
                return self.located(Call(Op(older[0]), *older[1:], (), lexer.span()), start)
        if attrs is None:
            unknown = isinstance(callee, Op) and record is None  # which has been noted
            attrs = NoAttrs() if unknown else self.attributes.of_call(record, given, start)
        return self.located(Call(callee, tuple(args), attrs, (), lexer.span()), start)

    def _decided(self, one: Attribute, record: OpDef | None, args: list[Expr], given: list[Attribute]) -> Attribute:
        """Return an attribute whose value the text leaves out with the one that operands or the
        type of the result decide.
        """
        if not is_omitted(one.value):
            return one
        value: object = operand_of(record, one.key, args)
        if value is None and one.key == "indices_or_sections":
            axis = next((other.value for other in given if other.key == "axis"), 0)
            value = sections(one.value, self._stated_type(), axis) if isinstance(axis, int) else None
        if value is None:
            self._left_out(f"the attribute `{one.key}`", one.start, one.end)
        return replace(one, value=value)

    def _given(self, one: Omitted, start: int, end: int, record: OpDef, args: list[Expr]) -> list[Attribute] | None:
        """Return attributes that the text leaves out: those that were given, and those that
        operands or the type of the result decide. Those that are missing are asked for, and None
        returned.
        """
        self.metadata.omitted.taken.add(str(one))
        said = self.metadata.omitted.given.get(str(one), {})
        result = self._stated_type()
        found: dict[str, object] = dict(said)
        missing = {}
        for field in attr_fields(record.attrs):
            if field.name not in found:
                value = omitted.decided(record, field.name, args, result)
                if value is None:
                    missing[field.name] = None if field.required else field.default
                found[field.name] = value
        if missing:
            example = json.dumps({str(one): missing}, default=str)
            self.lexer.report(
                f"the text leaves out `{one}`: {', '.join(missing)} of {record.name}",
                start,
                end,
                "nothing else says what stands here",
                f"print it with astext(show_meta_data=True), or say it with --attrs FILE, as in {example}, where these "
                "values are the defaults",
                reading.RELAY_METADATA,
            )
            return None
        return [Attribute(name, value, start, start, end) for name, value in found.items()]

    def _attribute_object(self, callee: Expr, record: OpDef | None, found: object, start: int, end: int) -> object:
        """Return an object of the metadata that was given as the attributes of a call, once it
        fits.
        """
        unknown = isinstance(callee, Op) and record is None
        if unknown or isinstance(found, OpaqueAttrs) or (record is not None and isinstance(found, record.attrs)):
            return found
        if record is not None and is_older_attrs(record.name, found):
            return found
        wanted = f"the attributes of operator {record.relay}" if record else "an expression or attributes"
        self.lexer.fail(
            reading.RELAY_METADATA.message(expected=wanted),
            start,
            end,
            "does not fit here",
            kind=reading.RELAY_METADATA,
        )

    # --- primaries ---

    def _local(self, start: int) -> Expr:
        found = self.scope.find(self.lexer.value[1:])
        if found is None:
            found = self._split_local()
        self.lexer.advance()
        return found

    def _split_local(self) -> Var:
        """Split the current token after the longest name in reach: ``%x.0`` may be a projection
        from ``%x``.
        """
        lexer = self.lexer
        text, start = lexer.text, lexer.start
        for end in range(lexer.end - 1, lexer.strict_end() - 1, -1):
            found = None if text[end].isalnum() or text[end] in "_/" else self.scope.find(text[start + 1 : end])
            if found is not None:
                lexer.shorten(end)
                return found
        known = [f"%{name}" for name in self.scope.names()]
        lexer.fail(
            reading.RELAY_NAME.message(what="variable", name=lexer.value),
            label="not defined in this scope",
            help=nearest(lexer.value, known),
            kind=reading.RELAY_NAME,
        )

    def _graph(self, start: int) -> Expr:
        name = self.lexer.value
        self.lexer.advance()
        return self._graph_value(name, start)

    def _graph_value(self, name: str, start: int) -> Expr:
        found = self.graph.get(name)
        if found is None:
            self.lexer.fail(
                f"{name} has not been defined",
                start,
                start + len(name),
                "used before its definition",
                kind=reading.RELAY_NAME,
            )
        return found

    def _global(self, start: int) -> Expr:
        name = self.lexer.value[1:]
        self.lexer.advance()
        return self.global_var(name)

    def global_var(self, name: str) -> GlobalVar:
        """Return the global variable that the last token named."""
        var = self.globals.get(name)
        if var is None:
            end = self.lexer.previous_end
            var = self.globals[name] = self.located(GlobalVar(name), end - len(name) - 1)
        return var

    def _name(self, start: int) -> Expr:
        lexer = self.lexer
        name, end = lexer.value, lexer.end
        lexer.advance()
        while lexer.kind == "." and lexer.peek() == "name":
            lexer.advance()
            name, end = f"{name}.{lexer.value}", lexer.end
            lexer.advance()
        constructor = self.constructors.get(name)
        if constructor is None:
            known = self._operators.get(name)
            if lexer.kind == "(" and (known is None or known[1] is None) and is_older_name(name):
                return self._operators.setdefault(name, (Op(name), None))[0]
            return self._operator(name, start, end)
        if lexer.kind != "(":
            if not constructor.inputs:
                return self.located(Call(constructor, (), NoAttrs(), (), lexer.span()), start)
            return self._bare_constructor(constructor)
        signature = self.signatures[name]
        if signature and lexer.text.startswith(signature, lexer.start):
            lexer.shorten(lexer.start + len(signature))
            lexer.advance()
        return constructor

    def _bare_constructor(self, constructor: Constructor) -> Constructor:
        """Return the constructor as a function that is not called at once.

        TVM writes the object in the type's definition with its inputs' types (``@map(Some(A),
        …)``), which its reader does not take. What its reader makes of the bare name is another
        object, and is written bare again.
        """
        if constructor.name not in self._bare:
            self._bare[constructor.name] = replace(constructor)
        return self._bare[constructor.name]

    def _operator(self, name: str, start: int, end: int) -> Op:
        found = self._operators.get(name)
        if found is None:
            record = relay_op(name)
            op = Op(record.relay or name) if record else Op(name)
            found = self._operators[name] = self._operators.setdefault(op.name, (op, record))
        if found[1] is None:
            help = nearest(name, [*relay_names(), *self.constructors])
            self.lexer.report(
                f"unknown operator `{name}`",
                start,
                end,
                "no operator or constructor of this name",
                help,
                kind=type_kinds.UNKNOWN_OPERATOR,
            )
        return found[0]

    def _number(self, start: int) -> Expr:
        stated = _STATED.match(self.lexer.text, self.lexer.end)
        value, dtype = number(self.lexer, stated[1] if stated else "")
        return self._scalar(value, dtype, start)

    def _boolean(self, start: int) -> Expr:
        value = self.lexer.kind == "True"
        self.lexer.advance()
        return self._scalar(value, "bool", start)

    def _scalar(self, value: int | float | bool, dtype: str, start: int) -> Expr:
        data = np.array(value, numpy_dtype(dtype))
        data.flags.writeable = False
        return self.located(Constant(data, self.lexer.span()), start)

    def _meta(self, start: int) -> Expr:
        end = self.lexer.end
        found = self.metadata.take(self.lexer)
        if isinstance(found, Omitted):
            found = self._omitted(found, start, end)
        if not isinstance(found, RelayExpr):
            self.lexer.fail(
                reading.RELAY_METADATA.message(expected="an expression"), start, end, kind=reading.RELAY_METADATA
            )
        return self._shared(found, start, end)

    def _omitted(self, one: Omitted, start: int, end: int) -> Var:
        """Return the parameter that stands for a constant whose value the text leaves out."""
        if one.key != omitted.CONSTANT:
            self._left_out(f"`{one}`", start, end)
        type_ = self._stated_type()
        if type_ is None:
            self._left_out(f"the value and the type of `{one}`", start, end)
        return self.metadata.omitted.constant(one.index, type_)

    def _left_out(self, what: str, start: int, end: int) -> NoReturn:
        self.lexer.fail(
            f"the text leaves out {what}",
            start,
            end,
            "nothing else says what stands here",
            "print it with astext(show_meta_data=True), or save it with tvm.ir.save_json",
            reading.RELAY_METADATA,
        )

    def _stated_type(self) -> Type | None:
        """Return the type that a comment before the current token states: ``/* ty=… */``."""
        lexer = self.lexer
        begin = lexer.text.find("/* ty=", lexer.previous_end, lexer.start)
        if begin < 0:
            return None
        # The same reader, for the type variables that it knows, on the text of the comment.
        self.types.lexer = Lexer(lexer.source, begin + len("/* ty="))
        try:
            return self.types.read()
        finally:
            self.types.lexer = lexer

    def _shared(self, expr: Any, start: int, end: int) -> Expr:
        """Return an expression that may stand in several places; the first one counts."""
        self.offsets.setdefault(expr, (start, end))
        found: Expr = expr
        return found

    def _function_literal(self, start: int) -> Expr:
        self.lexer.advance()
        return self.function(start)

    def _if(self, start: int) -> Expr:
        lexer = self.lexer
        lexer.advance()
        opened = lexer.start
        lexer.expect("(", "and the condition")
        condition = self.block()
        lexer.close("(", ")", opened, "`)` after the condition")
        then = self._scoped(self._braces)
        lexer.expect("else", "and the other branch")
        return self.located(If(condition, then, self._scoped(self._braces)), start)

    def _reference(self, start: int) -> Expr:
        lexer = self.lexer
        word = lexer.kind
        lexer.advance()
        args = sequence(lexer, "(", ")", self.block)
        wanted, make = _REFERENCES[word]
        if len(args) != wanted:
            number = "one argument" if wanted == 1 else "two arguments"
            lexer.fail(f"`{word}` takes {number}, not {len(args)}", start, lexer.previous_end)
        found: Expr = self.located(make(*args), start)
        return found

    def _parenthesised(self, start: int) -> Expr:
        """Read ``()``, a grouping, a tuple, or ``(%r := value)``, as TVM until 0.7 wrote
        ``ref_write``.
        """
        lexer = self.lexer
        lexer.advance()
        fields: list[Expr] = []
        grouping = False
        while lexer.more("(", ")", start):
            fields.append(self.block())
            if lexer.kind == ":=" and len(fields) == 1:
                lexer.advance()
                written = RefWrite(fields[0], self.block())
                lexer.close("(", ")", start, "`)` after the value that is written")
                return self.located(written, start)
            grouping = len(fields) == 1 and lexer.kind == ")"
            separator(lexer, len(fields), "(", ")", start)
        lexer.advance()
        return fields[0] if grouping else self.located(Tuple(tuple(fields), lexer.span()), start)
