"""Relay text into modules and expressions.

The grammar is that of TVM 0.18's reader. A block is read in a loop, so that programs of any length are read without
recursion; only what is nested in the text (parentheses, branches, functions in functions) nests calls here, and its
depth has a bound. Nothing that is read is evaluated.

Scopes follow TVM's reader, its one surprise included: a ``let`` that stands first in its scope does not hide a
parameter of the same name, later ones do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from relay2relax.core.dtype import numpy_dtype
from relay2relax.core.errors import ParseError
from relay2relax.core.source import SourceRange, SourceText
from relay2relax.ops.attributes import NoAttrs
from relay2relax.ops.record import OpDef
from relay2relax.ops.table import relay_names, relay_op
from relay2relax.relay_ir.device import VirtualDevice
from relay2relax.relay_ir.expr import (
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
from relay2relax.relay_ir.lexer import Lexer, describe
from relay2relax.relay_ir.module import IRModule, TypeData
from relay2relax.relay_ir.text_attrs import Attribute, AttributeReader, suggestion
from relay2relax.relay_ir.text_metadata import MetadataReader
from relay2relax.relay_ir.text_types import MAX_DEPTH, TypeReader, arrow, number, sequence
from relay2relax.relay_ir.types import IncompleteType, Type

VERSION = "0.0.5"

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


def parse(text: str, name: str = "<text>") -> IRModule:
    """Return the module that ``text`` describes; ``name`` is the text's name in messages.

    The version line may be missing, as it is in what ``print(mod)`` shows. Spans that comments state
    (``/* span=… */``) become the nodes' spans. Raises ParseError with the mistakes that were found.
    """
    return _Parser(text, name).module()


def parse_expr(text: str, name: str = "<text>") -> Expr:
    """Return the expression that ``text`` describes; raises ParseError like :func:`parse`."""
    return _Parser(text, name).expression_file()


class _Locations(Mapping[Expr, SourceRange]):
    """Where nodes stand, kept as offsets until somebody asks."""

    def __init__(self, source: SourceText, offsets: dict[Expr, tuple[int, int]]) -> None:
        self._source = source
        self._offsets = offsets

    def __getitem__(self, node: Expr) -> SourceRange:
        return self._source.range(*self._offsets[node])

    def __iter__(self) -> Iterator[Expr]:
        return iter(self._offsets)

    def __len__(self) -> int:
        return len(self._offsets)

    def __contains__(self, node: object) -> bool:
        return node in self._offsets


class _Parser:
    """One text on its way to a module."""

    def __init__(self, text: str, name: str) -> None:
        self.source = SourceText(text, name)
        self.lexer = Lexer(self.source)
        self.metadata = MetadataReader(self.lexer)
        self.types = TypeReader(self.lexer, self.metadata)
        self.attributes = AttributeReader(self.lexer, self.metadata, self._atom)
        self.offsets: dict[Expr, tuple[int, int]] = {}
        self.graph: dict[str, Expr] = {}
        self.globals: dict[str, GlobalVar] = {}
        self.constructors: dict[str, Constructor] = {}
        self.definitions: dict[Any, TypeData] = {}
        self.functions: dict[GlobalVar, Function] = {}
        self.operators: dict[str, tuple[Op, OpDef | None]] = {}
        # Variables in reach by name, innermost last; `trail` remembers the order, `scope` holds the names that the
        # innermost scope has bound so far.
        self.variables: dict[str, list[Var]] = {}
        self.trail: list[str] = []
        self.scope: set[str] = set()
        self.depth = 0
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

    # --- files ---

    def module(self) -> IRModule:
        """Read a module."""
        self._version()
        while self.lexer.kind not in ("metadata", "end"):
            self._definition()
        self._finish()
        locations = _Locations(self.source, self.offsets)
        return IRModule(self.functions, self.definitions, source=self.source, locations=locations)

    def expression_file(self) -> Expr:
        """Read a file that holds one expression."""
        self._version()
        expr = self._block()
        if self.lexer.kind not in ("metadata", "end"):
            self.lexer.unexpected("the end of the expression")
        self._finish()
        return expr

    def _version(self) -> None:
        lexer = self.lexer
        if lexer.kind == "version":
            found = lexer.value.split('"')[1]
            if found != VERSION:
                lexer.fail(f"unknown version {found!r} of the text format", label=f'expected "{VERSION}"')
            lexer.advance()
        elif lexer.kind == "name" and lexer.text.startswith("v0.0", lexer.start):
            end = lexer.text.find("\n", lexer.start)
            lexer.fail(
                "the text is in a dialect older than TVM 0.7, which is not supported",
                end=end if end > 0 else len(lexer.text),
                label=f'expected `#[version = "{VERSION}"]`',
            )

    def _finish(self) -> None:
        lexer = self.lexer
        if lexer.kind == "metadata":
            self.metadata.finish()
        if lexer.problems:
            raise ParseError(lexer.problems, self.source)

    # --- definitions ---

    def _definition(self) -> None:
        lexer = self.lexer
        match lexer.kind:
            case "def":
                self._global_function()
            case "type":
                lexer.advance()
                self._type_definition(extern=False)
            case "extern":
                lexer.advance()
                lexer.expect("type", "after `extern`")
                self._type_definition(extern=True)
            case "global":
                lexer.fail("only Relay functions can be read", label="expected `def`, `type` or `extern type`")
            case _:
                help = "an expression on its own is read by parse_expr" if not self.functions else ""
                lexer.unexpected("`def`, `type`, `extern type` or the metadata section", help)

    def _global_function(self) -> None:
        lexer = self.lexer
        start = lexer.start
        lexer.advance()
        name = lexer.expect("global", "for the function")
        var = self._global_var(name[1:])
        self.functions[var] = self._function(start)

    def _type_definition(self, extern: bool) -> None:
        lexer = self.lexer
        start, end = lexer.start, lexer.end
        header = self.types.adt(lexer.expect("name", "for the type"))
        if header in self.definitions:
            lexer.fail(f"the type `{header.name}` is defined twice", start, end)
        mark = self.types.mark()
        variables = self.types.parameters()

        def constructor() -> Constructor:
            start, end = lexer.start, lexer.end
            name = lexer.expect("name", "for a constructor")
            inputs = sequence(lexer, "(", ")", self.types.read) if lexer.kind == "(" else []
            made = Constructor(name, tuple(inputs), header)
            if name in self.constructors:
                lexer.report(f"the constructor `{name}` is defined twice", start, end)
            self.constructors[name] = made
            return self._located(made, start)

        found = sequence(lexer, "{", "}", constructor) if lexer.kind == "{" and not extern else []
        self.types.release(mark)
        self.definitions[header] = TypeData(header, variables, tuple(found), extern)

    def _function(self, start: int) -> Function:
        """Read a function from its type parameters on."""
        lexer = self.lexer
        (mark, scope), type_mark = self._open(), self.types.mark()
        type_params = self.types.parameters()
        opened = lexer.start
        lexer.expect("(", "and the parameters of the function")
        params: list[Var] = []
        while lexer.kind == "local":
            params.append(self._parameter())
            if not lexer.accept(","):
                break
        given = self.attributes.read()
        if lexer.kind == "end":
            lexer.fail("`(` is not closed", opened, opened + 1)
        lexer.expect(")", "after the parameters")
        attrs = {one.key: self._stored(one.value) for one in given}
        device = self._device(attrs.pop("virtual_device", None))
        ret_type = None
        if lexer.kind in ("->", "-"):
            arrow(lexer)
            ret_type = self.types.read()
        body = self._braces()
        self._close(mark, scope)
        self.types.release(type_mark)
        function = Function(tuple(params), body, ret_type, type_params, attrs, lexer.span(), device)
        return self._located(function, start)

    def _parameter(self) -> Var:
        lexer = self.lexer
        start, name = lexer.start, lexer.value[1:]
        lexer.advance()
        device = None
        if lexer.accept("{"):
            given = self.attributes.read()
            lexer.expect("}", "after the attributes of the parameter")
            known = {one.key: one.value for one in given}
            device = self._device(known.pop("virtual_device", None))
            if known:
                lexer.fail(f"a parameter has no attribute `{next(iter(known))}`", given[0].start, given[-1].end)
        return self._binder(name, start, self._annotation(), device)

    def _device(self, value: Any) -> VirtualDevice | None:
        if value is None or isinstance(value, VirtualDevice):
            return value if value is not None and value.constrained else None
        self.lexer.fail("virtual_device must refer to a VirtualDevice of the metadata")

    @staticmethod
    def _stored(value: Any) -> Any:
        """Return a function attribute as TVM stores it: truth values are integers."""
        return int(value) if isinstance(value, bool) else value

    # --- scopes ---

    def _open(self) -> tuple[int, set[str]]:
        outer = self.scope
        self.scope = set()
        return len(self.trail), outer

    def _close(self, mark: int, scope: set[str]) -> None:
        trail, variables = self.trail, self.variables
        while len(trail) > mark:
            variables[trail.pop()].pop()
        self.scope = scope

    def _bind(self, var: Var) -> None:
        if var.name in self.scope:
            return
        self.scope.add(var.name)
        self.trail.append(var.name)
        self.variables.setdefault(var.name, []).append(var)

    def _binder(self, name: str, start: int, annotation: Type | None, device: VirtualDevice | None = None) -> Var:
        """Return a new variable in reach; its annotation has been read."""
        var = Var(name, annotation, self.lexer.span(), device)
        self._bind(var)
        return self._located(var, start)

    def _annotation(self) -> Type | None:
        return self.types.read() if self.lexer.accept(":") else None

    def _scoped(self, read: Callable[[], Expr]) -> Expr:
        """Read something in a scope of its own."""
        mark, scope = self._open()
        found = read()
        self._close(mark, scope)
        return found

    def _braces(self) -> Expr:
        """Read a block in braces, in the present scope."""
        lexer = self.lexer
        opened = lexer.start
        lexer.expect("{", "and the body")
        body = self._block()
        if lexer.kind == "end":
            lexer.fail("the text ends too early: `{` is not closed", opened, opened + 1, "opened here")
        lexer.expect("}", "to close the block")
        return body

    # --- blocks ---

    def _block(self) -> Expr:
        """Read statements and the expression they end in."""
        lexer = self.lexer
        self.depth += 1
        if self.depth > MAX_DEPTH:
            lexer.fail(f"expressions are nested more than {MAX_DEPTH} deep", label="bind the inner ones with `%0 = …;`")
        bindings: list[tuple[Var, Expr, int]] = []
        mark, scope = len(self.trail), self.scope
        while True:
            start, kind = lexer.start, lexer.kind
            if kind == "graph":
                number = lexer.value
                lexer.advance()
                if lexer.kind == "=":
                    lexer.advance()
                    self.graph[number] = self._binary()
                    lexer.expect(";", f"after the definition of {number}")
                    continue
                value = self._infix(self._operand(self._graph_value(number, start), start), start)
            elif kind == "let":
                var, value = self._let(start)
                bindings.append((var, value, start))
                self.scope = set()
                continue
            elif kind == "free_var":
                lexer.advance()
                name = lexer.expect("local", "after `free_var`")[1:]
                self._binder(name, start, self._annotation())
                lexer.expect(";", "after the free variable")
                continue
            elif kind == "{":
                value = self._scoped(self._braces)
            elif kind in ("match", "match?"):
                value = self._match(start)
            else:
                value = self._binary()
            if lexer.kind != ";":
                break
            lexer.advance()
            bindings.append((Var("", IncompleteType()), value, start))
        self.depth -= 1
        if bindings:
            self._close(mark, scope)
            for var, bound, start in reversed(bindings):
                value = self._located(Let(var, bound, value), start)
        return value

    def _let(self, start: int) -> tuple[Var, Expr]:
        lexer = self.lexer
        lexer.advance()
        at = lexer.start
        name = lexer.expect("local", "after `let`")[1:]
        var = self._binder(name, at, self._annotation())
        lexer.expect("=", f"and the value of %{name}")
        if lexer.kind in ("match", "match?", "{", "let"):
            lexer.unexpected("an expression", help="put it in parentheses: `let %x = (…);`")
        value = self._binary()
        lexer.expect(";", f"after the value of %{name}")
        return var, value

    def _match(self, start: int) -> Expr:
        lexer = self.lexer
        complete = lexer.kind == "match"
        lexer.advance()
        data = self._atom()
        clauses = sequence(lexer, "{", "}", self._clause)
        return self._located(Match(data, tuple(clauses), complete), start)

    def _clause(self) -> Clause:
        mark, scope = self._open()
        pattern = self._pattern()
        self.lexer.expect("=>", "after the pattern")
        body = self._block()
        self._close(mark, scope)
        return Clause(pattern, body)

    def _pattern(self) -> Pattern:
        lexer = self.lexer
        start, end = lexer.start, lexer.end
        self.depth += 1
        if self.depth > MAX_DEPTH:
            lexer.fail(f"patterns are nested more than {MAX_DEPTH} deep")
        found: Pattern
        match lexer.kind:
            case "_":
                lexer.advance()
                found = PatternWildcard()
            case "local":
                name = lexer.value[1:]
                lexer.advance()
                found = PatternVar(self._binder(name, start, self._annotation()))
            case "name":
                name = lexer.value
                lexer.advance()
                parts = sequence(lexer, "(", ")", self._pattern) if lexer.kind == "(" else []
                constructor = self.constructors.get(name)
                if constructor is None:
                    help = suggestion(name, list(self.constructors))
                    lexer.fail(f"unknown constructor `{name}`", start, end, help=help)
                found = PatternConstructor(constructor, tuple(parts))
            case "(":
                found = PatternTuple(tuple(sequence(lexer, "(", ")", self._pattern)))
            case _:
                lexer.unexpected("a pattern: `_`, a variable, a constructor or a tuple")
        self.depth -= 1
        return found

    # --- operands and operators ---

    def _binary(self) -> Expr:
        start = self.lexer.start
        return self._infix(self._operand(self._primary(), start), start)

    def _infix(self, first: Expr, start: int) -> Expr:
        """Read the operators and operands after ``first``, by precedence."""
        lexer = self.lexer
        if lexer.kind not in INFIX:
            return first
        operands, starts, pending = [first], [start], []

        def reduce(level: int) -> None:
            while pending and pending[-1][0] >= level:
                _, op = pending.pop()
                right = operands.pop()
                starts.pop()
                operands[-1] = self._located(Call(op, (operands[-1], right), NoAttrs()), starts[-1])

        while lexer.kind in INFIX:
            level, name = INFIX[lexer.kind]
            reduce(level)
            pending.append((level, self._operator(name, lexer.start, lexer.end)[0]))
            lexer.advance()
            starts.append(lexer.start)
            operands.append(self._operand(self._primary(), lexer.start))
        reduce(0)
        return operands[0]

    def _operand(self, expr: Expr, start: int) -> Expr:
        """Read what may follow a primary: one projection, then calls."""
        lexer = self.lexer
        if lexer.kind == ".":
            expr = self._projection(expr, start)
        while lexer.kind == "(":
            expr = self._call(expr, start)
        return expr

    def _atom(self) -> Expr:
        """Read a primary and its projection, if it has one."""
        start = self.lexer.start
        expr = self._primary()
        return self._projection(expr, start) if self.lexer.kind == "." else expr

    def _primary(self) -> Expr:
        read = self._primaries.get(self.lexer.kind)
        if read is None:
            self._refuse_primary()
        return read(self.lexer.start)

    def _refuse_primary(self) -> None:
        lexer = self.lexer
        if lexer.kind in ("match", "match?", "{", "let"):
            lexer.unexpected("an expression", help=f"put {describe(lexer.kind)} in parentheses to use it here")
        lexer.unexpected("an expression")

    def _projection(self, value: Expr, start: int) -> Expr:
        lexer = self.lexer
        lexer.advance()
        if lexer.kind != "number" or not lexer.value.isdigit() or len(lexer.value) > 9:
            lexer.unexpected("the index of a field", help="write nested projections as `(%x.0).1`")
        index = int(lexer.value)
        lexer.advance()
        return self._located(TupleGetItem(value, index, lexer.span()), start)

    def _call(self, callee: Expr, start: int) -> Expr:
        lexer = self.lexer
        opened = lexer.start
        record = self.operators[callee.name][1] if isinstance(callee, Op) else None
        lexer.advance()
        args: list[Expr] = []
        attrs: Any = None
        given: list[Attribute] = []
        while lexer.kind != ")":
            if lexer.kind == "name" and lexer.peek() == "=":
                given = self.attributes.read()
                break
            if lexer.kind == "meta" and lexer.peek() == ")":
                at, end = lexer.start, lexer.end
                found = self.metadata.take()
                if not isinstance(found, RelayExpr):
                    attrs = self._attribute_object(record, found, at, end)
                    break
                args.append(self._with_offset(found, at, end))
                continue
            args.append(self._block())
            if lexer.kind == ",":
                lexer.advance()
            elif lexer.kind != ")":
                if lexer.kind == "end":
                    lexer.fail("the text ends too early: `(` is not closed", opened, opened + 1, "opened here")
                lexer.unexpected("`,` or `)`")
        lexer.expect(")", "to close the arguments")
        if attrs is None and isinstance(callee, Op) and record is None:
            attrs = NoAttrs()  # the operator is unknown, which has been noted
        elif attrs is None:
            attrs = self.attributes.of_call(record, given, start)
        return self._located(Call(callee, tuple(args), attrs, (), lexer.span()), start)

    def _attribute_object(self, record: OpDef | None, found: Any, start: int, end: int) -> Any:
        """Return an object of the metadata that was given as the attributes of a call, once it fits."""
        if isinstance(found, OpaqueAttrs) or (record is not None and isinstance(found, record.attrs)):
            return found
        wanted = f"the attributes of operator {record.relay}" if record else "an expression or attributes"
        self.lexer.fail("this metadata object does not fit here", start, end, f"expected {wanted}")

    # --- primaries ---

    def _located(self, node: Any, start: int) -> Any:
        self.offsets[node] = (start, self.lexer.previous_end)
        return node

    def _local(self, start: int) -> Expr:
        lexer = self.lexer
        found = self.variables.get(lexer.value[1:])
        if not found:
            found = self._shortened()
        lexer.advance()
        return found[-1]

    def _shortened(self) -> list[Var]:
        """Split the current token after the longest name in reach: ``%x.0`` may be a projection from ``%x``."""
        lexer = self.lexer
        text, shortest = lexer.text, lexer.strict_end()
        for end in range(lexer.end - 1, shortest - 1, -1):
            found = self.variables.get(text[lexer.start + 1 : end]) if text[end] in ".:-#$~|^&'" else None
            if found:
                lexer.shorten(end)
                return found
        in_reach = [name for name, bound in self.variables.items() if bound]
        near = suggestion(lexer.value[1:], in_reach).replace("`", "`%", 1)
        lexer.fail(f"unknown variable {lexer.value}", label="not defined in this scope", help=near)

    def _graph(self, start: int) -> Expr:
        number = self.lexer.value
        self.lexer.advance()
        return self._graph_value(number, start)

    def _graph_value(self, number: str, start: int) -> Expr:
        found = self.graph.get(number)
        if found is None:
            self.lexer.fail(f"{number} has not been defined", start, start + len(number), "used before its definition")
        return found

    def _global(self, start: int) -> Expr:
        name = self.lexer.value[1:]
        self.lexer.advance()
        return self._global_var(name)

    def _global_var(self, name: str) -> GlobalVar:
        var = self.globals.get(name)
        if var is None:
            var = self.globals[name] = GlobalVar(name)
            self.offsets[var] = (self.lexer.previous_end - len(name) - 1, self.lexer.previous_end)
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
            return self._operator(name, start, end)[0]
        if not constructor.inputs and lexer.kind != "(":
            return self._located(Call(constructor, (), NoAttrs(), (), lexer.span()), start)
        return constructor

    def _operator(self, name: str, start: int, end: int) -> tuple[Op, OpDef | None]:
        found = self.operators.get(name)
        if found is None:
            record = relay_op(name)
            found = self.operators[name] = (Op(record.relay or name) if record else Op(name), record)
            self.operators.setdefault(found[0].name, found)
        if found[1] is None:
            help = suggestion(name, [*relay_names(), *self.constructors])
            self.lexer.report(f"unknown operator `{name}`", start, end, "no operator or constructor has this name", help)
        return found

    def _number(self, start: int) -> Expr:
        value, dtype = number(self.lexer)
        return self._scalar(value, dtype, start)

    def _boolean(self, start: int) -> Expr:
        value = self.lexer.kind == "True"
        self.lexer.advance()
        return self._scalar(value, "bool", start)

    def _scalar(self, value: int | float | bool, dtype: str, start: int) -> Expr:
        data = np.array(value, numpy_dtype(dtype))
        data.flags.writeable = False
        return self._located(Constant(data, self.lexer.span()), start)

    def _meta(self, start: int) -> Expr:
        end = self.lexer.end
        found = self.metadata.take()
        if not isinstance(found, RelayExpr):
            self.lexer.fail("this metadata object is not an expression", start, end)
        return self._with_offset(found, start, end)

    def _with_offset(self, expr: Any, start: int, end: int) -> Expr:
        self.offsets.setdefault(expr, (start, end))
        found: Expr = expr
        return found

    def _function_literal(self, start: int) -> Expr:
        self.lexer.advance()
        return self._function(start)

    def _if(self, start: int) -> Expr:
        lexer = self.lexer
        lexer.advance()
        lexer.expect("(", "and the condition")
        condition = self._block()
        lexer.expect(")", "after the condition")
        then = self._scoped(self._braces)
        lexer.expect("else", "and the other branch")
        otherwise = self._scoped(self._braces)
        return self._located(If(condition, then, otherwise), start)

    def _reference(self, start: int) -> Expr:
        lexer = self.lexer
        word = lexer.kind
        lexer.advance()
        args = sequence(lexer, "(", ")", self._block)
        wanted = 2 if word == "ref_write" else 1
        if len(args) != wanted:
            lexer.fail(f"`{word}` takes {wanted} argument{'s' * (wanted > 1)}, not {len(args)}", start, lexer.previous_end)
        makers: dict[str, Callable[..., Expr]] = {"ref": RefCreate, "ref_read": RefRead, "ref_write": RefWrite}
        return self._located(makers[word](*args), start)

    def _parenthesised(self, start: int) -> Expr:
        """Read ``()``, a grouping, or a tuple."""
        lexer = self.lexer
        lexer.advance()
        fields: list[Expr] = []
        grouping = False
        while lexer.kind != ")":
            fields.append(self._block())
            grouping = len(fields) == 1 and lexer.kind == ")"
            if not lexer.accept(",") and lexer.kind != ")":
                if lexer.kind == "end":
                    lexer.fail("the text ends too early: `(` is not closed", start, start + 1, "opened here")
                lexer.unexpected("`,` or `)`")
        lexer.advance()
        if grouping:
            return fields[0]
        return self._located(Tuple(tuple(fields), lexer.span()), start)


__all__ = ["parse", "parse_expr"]
