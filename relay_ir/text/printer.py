"""Modules and expressions as Relay text, as TVM 0.18 prints them.

A program is a graph, its text a list of lines. An expression that is used once and stands where a
scope's result stands is written in place; every other compound expression gets a line ``%N = …;``
in the scope in which it is first needed. The order of these lines is part of the format: operands
are visited depth first, but a line is written only when the first expression that uses it is
written (so in ``f(a(), b(c()))`` the call of ``c`` is ``%0`` and that of ``a`` is ``%1``).

Nested scopes are visited by generators that a loop drives, so that neither long nor deep programs
need recursion.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, Union

from relay2relax.core.collection import collection_paused
from relay2relax.core.dtype import of_array
from relay2relax.core.source import SequentialSpan, Span
from relay2relax.core.walk import post_order
from relay2relax.core.words import (
    Code,
    Identifier,
    block,
    code,
    comma,
    in_comment,
    joined,
    number,
    numbered,
    vouched,
)
from relay2relax.ops.registry.table import relay_op
from relay2relax.relay_ir.ir.expr import (
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Op,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
    children,
)
from relay2relax.relay_ir.ir.module import IRModule, TypeData
from relay2relax.relay_ir.ir.types import FuncType, TensorType, Type
from relay2relax.relay_ir.text.attrs import AttributeWriter
from relay2relax.relay_ir.text.literals import SUFFIXES, format_scalar
from relay2relax.relay_ir.text.metadata import MetadataWriter
from relay2relax.relay_ir.text.names import dotted_name, global_name, local_hint
from relay2relax.relay_ir.text.types import TypeWriter

HEADER = code('#[version = "0.0.5"]\n')
_NOTHING, _STEP, _TEMPORARY, _IS, _END = code(""), code("  "), code("%"), code(" = "), code(";")
_OPEN, _CLOSE, _BLANK, _DOT, _COLON = code("("), code(")"), code(" "), code("."), code(": ")
_TYPE, _SPAN, _TYPED = code(" /* ty="), code("span="), code(" */")

# Lines of text; a list among them is a block, which is indented.
Lines: TypeAlias = list[Union[Code, "Lines"]]
Doc: TypeAlias = Union[Code, Lines]
Visit: TypeAlias = Generator["Visit", Any, Any]

_ATOMS = (GlobalVar, Constant, Op, Var, Constructor)
_DATAFLOW = (Call, Tuple, TupleGetItem)
_COMMENTED = (Constant, Call, Var, Function, Tuple, TupleGetItem)


@collection_paused()
def print_module(
    mod: IRModule,
    show_meta_data: bool = True,
    annotate: Callable[[Expr], str] | None = None,
    *,
    exact_floats: bool = False,
    header: bool = True,
) -> Code:
    """Return ``mod`` as text.

    Types that inference found and spans are shown as comments; with ``annotate``, what it returns
    for an expression is shown instead. Without ``show_meta_data`` the constants and objects of the
    metadata section are left out. TVM writes floats with six digits; ``exact_floats`` writes as
    many as their values need. Raises UnsupportedError for a module that has functions which are no
    Relay.
    """
    mod.refuse_opaque("Relay's text cannot express it; save_json can")
    printer = _Printer(mod.types, show_meta_data, annotate, exact_floats)
    text = block(printer.items(mod))
    head = HEADER if header else code("")
    return code("{}{}{}", head, text, printer.metadata.section(show_meta_data, printer.types))


@collection_paused()
def print_expr(
    expr: Expr,
    show_meta_data: bool = True,
    annotate: Callable[[Expr], str] | None = None,
    *,
    types: Mapping[Expr, Type] | None = None,
    exact_floats: bool = False,
    header: bool = False,
) -> Code:
    """Return ``expr`` as text.

    Variables that nothing binds are declared first, as ``free_var %x: …;``.

    The options are those of :func:`print_module`; ``types`` are the types to show.
    """
    printer = _Printer(types or {}, show_meta_data, annotate, exact_floats)
    text = printer.expression(expr)
    head = HEADER if header else code("")
    return code("{}{}{}", head, text, printer.metadata.section(show_meta_data, printer.types))


def temporaries(mod: IRModule) -> dict[str, Expr]:
    """Return the expressions that have a line of their own in the text of ``mod``, by the names
    that they have there, such as ``%0``.

    Raises UnsupportedError as :func:`print_module` does.
    """
    mod.refuse_opaque("Relay's text cannot express it; save_json can")
    printer = _Printer(mod.types, False, None, False)
    for _ in printer.items(mod):
        pass
    return printer.temporaries


def render(lines: Lines) -> Code:
    """Return lines and blocks as text, blocks indented by two more spaces than what they stand
    in.
    """
    found: list[Code] = []
    stack: list[tuple[Iterable[Code | Lines], Code]] = [(iter(lines), _NOTHING)]
    while stack:
        rest, indent = stack[-1]
        for line in rest:
            if isinstance(line, str):
                found.append(joined(indent, line))
            else:
                stack.append((iter(line), joined(indent, _STEP)))
                break
        else:
            stack.pop()
    return block(found)


def _wrap(before: Code, doc: Doc, *after: Code) -> Lines:
    """Return the lines of ``doc`` with text before the first and after the last of them."""
    if isinstance(doc, str):
        return [joined(before, doc, *after)]
    first, last = doc[0], doc[-1]
    assert isinstance(first, str)
    assert isinstance(last, str)
    if len(doc) == 1:
        return [joined(before, first, *after)]
    return [joined(before, first), *doc[1:-1], joined(last, *after)]


def _append(doc: Doc, text: Code) -> Doc:
    if isinstance(doc, str):
        return joined(doc, text)
    return _wrap(_NOTHING, doc, text) if text else doc


def _drive(visit: Visit) -> Any:
    """Run a generator, and those it yields, to the end.

    Each receives what the one it yielded returned.
    """
    stack, value = [visit], None
    while stack:
        finished, value = _advance(stack[-1], value)
        if finished:
            stack.pop()
        else:
            stack.append(value)
            value = None
    return value


def _advance(visit: Visit, value: object) -> tuple[bool, Any]:
    """Send ``value`` into a generator; return whether it ended, and what it returned or yielded."""
    try:
        return False, visit.send(value)
    except StopIteration as done:
        return True, done.value


def _parts(expr: Expr) -> Sequence[Expr]:
    """Return the children of an expression, but for the operator that it calls."""
    return expr.args if isinstance(expr, Call) and isinstance(expr.op, Op) else children(expr)


def _dataflow_children(expr: Expr) -> Iterable[Expr]:
    return _parts(expr) if isinstance(expr, _DATAFLOW) else ()


class _Printer:
    """What is known while a text is written: names, temporaries, and which expressions have a text
    already.
    """

    def __init__(
        self,
        types: Mapping[Expr, Type],
        show_meta_data: bool,
        annotate: Callable[[Expr], str] | None,
        exact_floats: bool,
    ) -> None:
        self.types = types
        self.show_meta_data = show_meta_data
        self.annotate = annotate
        self.exact_floats = exact_floats
        self.metadata = MetadataWriter()
        self.type_writer = TypeWriter(self.metadata.refer)
        self.attributes = AttributeWriter(self.metadata.refer, exact_floats, show_meta_data)
        self.texts: dict[Expr, Doc] = {}  # how an expression is written where it is used
        self.operators: dict[str, Code] = {}  # the same, by name
        self.free: dict[Var, Code] = {}  # declarations of variables that nothing binds
        self.bound: set[Expr] = set()  # atoms that were used, expressions that have a line of their own
        self.commented: set[Expr] = set()
        self.names: dict[str, int] = {}
        self.temporaries: dict[str, Expr] = {}  # what has a line, by its name
        self.lines: Lines = []  # of the scope that is being written
        self.uses: dict[Expr, int] = {}
        self.binders_typed = False

    # --- modules ---

    def items(self, mod: IRModule) -> Iterable[Code]:
        """Yield the text of each definition, types first, both by name."""
        for data in sorted(mod.type_definitions.values(), key=lambda one: one.header.name):
            yield code("{}\n", render(self._type_definition(data)))
        for var, function in sorted(mod.functions.items(), key=lambda one: one[0].name):
            self._survey(function)
            lines = _drive(self._function(code("def @{}", global_name(var.name)), function))
            if self.annotate is not None:
                lines = _append(lines, vouched(self.annotate(function)))
            yield code("{}\n", render(lines))

    def expression(self, expr: Expr) -> Code:
        """Return the text of an expression and the lines it needs."""
        self._survey(expr)
        return render(_drive(self._scope(expr)))

    def _survey(self, root: Expr) -> None:
        """Count how often each expression is used, and see whether types of binders are to be
        shown.

        TVM's inference writes the types it finds into variables and functions, ours keeps all in
        one table. A table that knows only part of a program came with it (from JSON), and its
        binders are as they are.
        """
        uses: dict[Expr, int] = {}
        complete = bool(self.types)

        def counted(expr: Expr) -> Sequence[Expr]:
            found = _parts(expr)
            for child in found:
                uses[child] = uses.get(child, 0) + 1
            return found

        for expr in post_order((root,), counted):
            if isinstance(expr, _COMMENTED) and expr not in self.types:
                complete = False
        self.uses, self.binders_typed = uses, complete

    def _type_definition(self, data: TypeData) -> Lines:
        variables = code("[{}]", comma(dotted_name(var.name) for var in data.type_vars)) if data.type_vars else code("")
        constructors: Lines = []
        for one in data.constructors:
            inputs = code("({})", comma(map(self.type_writer.write, one.inputs))) if one.inputs else code("")
            # TVM keeps this text for the constructor itself, wherever it is used as a function;
            # inference copies it.
            name = dotted_name(one.name)
            self.texts[one] = name if one in self.types else code("{}{}", name, inputs)
            constructors.append(code("{}{},", name, inputs))
        return [code("type {}{} {{", dotted_name(data.header.name), variables), constructors or [code("")], code("}}")]

    # --- binders and comments ---

    def _binder(self, var: Var) -> Code:
        """Return how a variable is written where it is bound, and give it its name."""
        if var in self.texts:
            known = self.texts[var]
            assert isinstance(known, str)  # a variable is an atom
            return code("{}-malformed-ir", known)
        name = joined(_TEMPORARY, self._unique(local_hint(var.name)))
        self.texts[var] = name
        parts = [name]
        if var.virtual_device is not None:
            parts.append(code(" {{virtual_device={}}}", self.attributes.value(var.virtual_device)))
        annotation = var.type_annotation
        if self.binders_typed:
            # Inference may have changed what was declared: `(2)` becomes `(?)` where it meets one.
            annotation = self.types.get(var, annotation)
        if annotation is not None:
            parts += (_COLON, self.type_writer.write(annotation))
        if self.annotate is None:
            parts.append(self._comment(var))
        return comma(parts, "")

    def _unique(self, hint: Identifier) -> Identifier:
        name = hint
        if hint in self.names:
            while name in self.names:
                self.names[hint] += 1
                name = numbered(hint, self.names[hint])
        self.names[name] = 0
        return name

    def _comment(self, expr: Expr) -> Code:
        """Return what follows an expression, once: its type and span, or what the caller says of
        it.
        """
        if expr in self.commented:
            return _NOTHING
        self.commented.add(expr)
        if self.annotate is not None:
            return vouched(self.annotate(expr))
        if not isinstance(expr, _COMMENTED):
            return _NOTHING
        ty, span = self.types.get(expr), expr.span
        if span is None:
            return _NOTHING if ty is None else joined(_TYPE, self.type_writer.write(ty), _TYPED)
        if ty is None:
            return code(" /* {} */", _span(span))
        return joined(_TYPE, self.type_writer.write(ty), _BLANK, _span(span), _TYPED)

    # --- expressions ---

    def _scope(self, expr: Expr) -> Visit:
        """Return the lines of an expression in a scope of its own."""
        outer, self.lines = self.lines, []
        doc = yield self._print(expr, True)
        lines = self.lines
        if isinstance(doc, list):
            lines.extend(doc)
        else:
            lines.append(doc)
        self.lines = outer
        return lines

    def _print(self, expr: Expr, in_place: bool) -> Visit:
        """Return the text of an expression where it is used."""
        if expr not in self.texts:
            yield self._visit(expr)
        return self._use(expr, in_place)

    def _use(self, expr: Expr, in_place: bool) -> Doc:
        """Return the text of a visited expression where it is used.

        It may get a line of its own.
        """
        doc = self.texts[expr]
        if isinstance(expr, Var):
            if expr not in self.bound:
                self.bound.add(expr)
                if expr in self.free:
                    self.lines.append(code("free_var {};", self.free[expr]))
            return doc
        if expr in self.bound:
            return doc
        atom = isinstance(expr, _ATOMS)
        if atom or (in_place and self.uses.get(expr, 0) <= 1):
            doc = self.texts[expr] = _append(doc, self._comment(expr))
            if atom:
                self.bound.add(expr)
            return doc
        if isinstance(expr, Let):
            doc = [_OPEN, doc if isinstance(doc, list) else [doc], _CLOSE]
        name = joined(_TEMPORARY, number(len(self.temporaries)))
        self.temporaries[name] = expr
        self.texts[expr] = name
        self.bound.add(expr)
        self.lines.extend(_wrap(joined(name, _IS), doc, self._comment(expr), _END))
        return name

    def _visit(self, root: Expr) -> Visit:
        """Give texts to an expression and to the operands it is made of."""
        texts = self.texts
        stack = [(root, iter(_dataflow_children(root)))]
        while stack:
            expr, rest = stack[-1]
            for child in rest:
                if child not in texts:
                    stack.append((child, iter(_dataflow_children(child))))
                    break
            else:
                stack.pop()
                if expr in texts:
                    continue
                match expr:
                    case Call():
                        texts[expr] = self._call(expr)
                    case Tuple(fields):
                        inner = comma([self._operand(field) for field in fields])
                        texts[expr] = code("({},)", inner) if len(fields) == 1 else joined(_OPEN, inner, _CLOSE)
                    case TupleGetItem(value, index):
                        texts[expr] = joined(self._operand(value), _DOT, number(index))
                    case Var():
                        self.free[expr] = self._binder(expr)
                    case Constant():
                        texts[expr] = self._constant(expr)
                    case GlobalVar(name):
                        texts[expr] = code("@{}", global_name(name))
                    case Op():
                        texts[expr] = self._operator(expr)
                    case Constructor(name):
                        texts[expr] = dotted_name(name)
                    case _:
                        texts[expr] = yield self._nested(expr)

    def _nested(self, expr: Expr) -> Visit:
        """Return the generator that writes an expression which has scopes or is not dataflow."""
        match expr:
            case Function():
                return self._function(code("fn "), expr)
            case Let():
                return self._let(expr)
            case If():
                return self._if(expr)
            case Match():
                return self._match(expr)
            case RefCreate(value):
                return self._reference(code("ref"), value)
            case RefRead(ref):
                return self._reference(code("ref_read"), ref)
            case RefWrite(ref, value):
                return self._reference(code("ref_write"), ref, value)
        raise TypeError(f"not a Relay expression: {expr!r}")

    def _operand(self, expr: Expr) -> Code:
        text = self._use(expr, False)
        assert isinstance(text, str)  # an operand is an atom or has a line of its own
        return text

    def _operator(self, op: Op) -> Code:
        """Return how an operator is written."""
        text = self.operators.get(op.name)
        if text is None:
            text = self.operators[op.name] = joined(dotted_name(op.name), self._comment(op))
        return text

    def _call(self, call: Call) -> Code:
        args = [self._operand(arg) for arg in call.args]
        op = call.op
        record = relay_op(op.name) if isinstance(op, Op) else None
        args += self.attributes.of_call(call, record, self.show_meta_data)
        if isinstance(op, Constructor):
            return code("{}({})", dotted_name(op.name), comma(args)) if op.inputs else dotted_name(op.name)
        callee = self._operator(op) if isinstance(op, Op) else self._operand(op)
        return joined(callee, _OPEN, comma(args), _CLOSE)

    def _constant(self, expr: Constant) -> Code:
        dtype = of_array(expr.data)
        if expr.data.ndim == 0 and (dtype in SUFFIXES or dtype == "bool"):
            return format_scalar(expr.data.item(), dtype, self.exact_floats)
        return self.metadata.refer(expr)

    def _function(self, prefix: Code, function: Function) -> Visit:
        variables = (
            code("[{}]", comma(dotted_name(var.name) for var in function.type_params))
            if function.type_params
            else code("")
        )
        params = [self._binder(param) for param in function.params]
        params += self.attributes.of_function(function.attrs)
        if function.virtual_device is not None:
            params.append(code("virtual_device={}", self.attributes.value(function.virtual_device)))
        ret_type = function.ret_type
        if self.binders_typed:
            inferred = self.types.get(function)
            result_type = self.types.get(function.body)
            if isinstance(inferred, FuncType):
                # A function type keeps extents in the width they are written in.
                ret_type = result_type if isinstance(result_type, TensorType) else inferred.ret_type
        result = code("-> {} ", self.type_writer.write(ret_type)) if ret_type is not None else code("")
        body = yield self._scope(function.body)
        return [code("{}{}({}) {}{{", prefix, variables, comma(params), result), body, code("}}")]

    def _let(self, let: Let) -> Visit:
        """Return the lines of a chain of lets.

        What the first value needs stands in the scope around it.
        """
        outer, lines = self.lines, []
        rest: Expr = let
        while isinstance(rest, Let):
            head = code("let {} = ", self._binder(rest.var))
            value = yield self._print(rest.value, True)
            lines.extend(_wrap(head, value, _END))
            self.lines = lines
            rest = rest.body
        lines.extend((yield self._scope(rest)))
        self.lines = outer
        return lines

    def _if(self, expr: If) -> Visit:
        condition = yield self._print(expr.condition, False)
        then = yield self._scope(expr.true_branch)
        otherwise = yield self._scope(expr.false_branch)
        return [code("if ({}) {{", condition), then, code("}} else {{"), otherwise, code("}}")]

    def _match(self, expr: Match) -> Visit:
        data = yield self._print(expr.data, False)
        clauses: Lines = []
        for clause in expr.clauses:
            head = code("{} => {{", self._pattern(clause.lhs))
            clauses += [head, (yield self._scope(clause.rhs)), code("}},")]
        return [
            code("match{} ({}) {{", code("") if expr.complete else code("?"), data),
            clauses or [code("")],
            code("}}"),
        ]

    def _reference(self, word: Code, *args: Expr) -> Visit:
        texts: list[Code] = []
        for arg in args:
            text = yield self._print(arg, False)
            texts.append(text)
        return code("{}({})", word, comma(texts))

    def _pattern(self, pattern: Pattern) -> Code:
        match pattern:
            case PatternWildcard():
                return code("_")
            case PatternVar(var):
                return self._binder(var)
            case PatternConstructor(constructor, patterns):
                inner = comma([self._pattern(one) for one in patterns])
                name = dotted_name(constructor.name)
                return code("{}({})", name, inner) if patterns else name
            case PatternTuple(patterns):
                inner = comma([self._pattern(one) for one in patterns])
                return code("({},)", inner) if len(patterns) == 1 else code("({})", inner)


def _span(span: Span) -> Code:
    if isinstance(span, SequentialSpan):
        return code("[ {} ]", comma(map(_span, span.spans)))
    return joined(_SPAN, in_comment(str(span)))
