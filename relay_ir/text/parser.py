"""Relay text into modules and expressions.

The grammar is that of TVM 0.18's reader, and wider where TVM's own printer writes what its reader
does not take: names that importers make, function types with type parameters, reference types, and
what TVM 0.7 and 0.8 wrote otherwise. Older texts (``v0.0.1`` to ``v0.0.4``) are read by
:mod:`relay2relax.relay_ir.text.legacy`. Nothing that is read is evaluated.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from relay2relax.core.collection import collection_paused
from relay2relax.core.errors import LimitError, ParseError
from relay2relax.core.errors.table import reading
from relay2relax.core.progress import going_on
from relay2relax.core.source import SourceText
from relay2relax.relay_ir.ir.expr import Constructor, Expr, Function, GlobalVar, Var
from relay2relax.relay_ir.ir.module import IRModule, TypeData
from relay2relax.relay_ir.ir.types import GlobalTypeVar
from relay2relax.relay_ir.text.dump import without_surroundings
from relay2relax.relay_ir.text.expr import ExpressionReader
from relay2relax.relay_ir.text.legacy import older_reader, without_remarks
from relay2relax.relay_ir.text.lexer import Lexer
from relay2relax.relay_ir.text.omitted import with_parameters
from relay2relax.relay_ir.text.recovery import remains
from relay2relax.relay_ir.text.types import sequence

VERSION = "0.0.5"

_Result = TypeVar("_Result")


@collection_paused()
def parse(
    text: str,
    name: str = "<text>",
    recover: bool = False,
    attrs: Mapping[str, Mapping[str, object]] | None = None,
    beside: IRModule | None = None,
    objects: Mapping[str, Sequence[object]] | None = None,
) -> IRModule:
    """Return the module that ``text`` describes; ``name`` is the text's name in messages.

    The version line may be missing, as it is in what ``print(mod)`` shows. Spans that comments
    state (``/* span=… */``) become the nodes' spans. In text older than TVM 0.7 (``v0.0.1`` to
    ``v0.0.4``) an expression may stand for a module; it becomes ``@main``. What a log
    says between and behind definitions is left out, with a UserWarning of its lines, where the text
    begins with something else than Relay. With ``recover`` it always is, and a text that breaks off
    is read as far as it goes, with a UserWarning of what was read and what is lost.

    ``attrs`` are attributes that a text without its metadata leaves out, by the words that stand
    for them: ``{"meta[relay.attrs.ScatterNDAttrs][0]": {"mode": "add"}}``. Those that types decide
    may be missing. ``beside`` is a module whose functions and types the text may name; the result
    has them, too. ``objects`` are those that the text refers to as ``meta[key][index]`` and does
    not have itself. Raises ParseError with the mistakes that were found, and for ``attrs`` that the
    text does not leave out.
    """
    reader = _ModuleReader(text, name, attrs, recover)
    if beside is not None:
        reader.know(beside)
    if objects:
        reader.reader.metadata.given = objects
    try:
        found = reader.within_limits(reader.module)
    except ParseError as problem:
        left = remains(reader.lexer, reader.begun, [var.name for var in reader.functions])
        if left is None:
            raise
        if not recover:
            raise left.noted(problem, reader.source) from None
        warnings.warn(f"{name}: {left.said}", stacklevel=3)
        rest = _ModuleReader(left.text, name, attrs)
        found = rest.within_limits(rest.module)
    for said in (reader.bare.said, *(f"{one}: that one is taken" for one in reader.replaced)):
        if said:
            warnings.warn(f"{name}: {said}", stacklevel=3)
    return found


@collection_paused()
def parse_expr(text: str, name: str = "<text>") -> Expr:
    """Return the expression that ``text`` describes; raises ParseError like :func:`parse`."""
    reader = _ModuleReader(text, name)
    return reader.within_limits(reader.expression)


class _ModuleReader:
    """One text on its way to a module."""

    def __init__(
        self,
        text: str,
        name: str,
        attrs: Mapping[str, Mapping[str, object]] | None = None,
        recover: bool = False,
    ) -> None:
        self.bare = without_surroundings(text, recover)
        self.source = SourceText(without_remarks(self.bare.text), name)
        older = older_reader(self.source)
        self.older = older is not None
        self.reader = older or ExpressionReader(Lexer(self.source))
        self.lexer = self.reader.lexer
        self.reader.metadata.omitted.given = attrs or {}
        self.functions: dict[GlobalVar, Function] = {}
        self.definitions: dict[GlobalTypeVar, TypeData] = {}
        self.begun = 0  # where the definition begins that is read
        self.replaced: list[str] = []  # what is said of functions that are defined more than once

    def know(self, mod: IRModule) -> None:
        """Let the text name what ``mod`` has, which becomes part of the result."""
        self.functions.update(mod.functions)
        self.definitions.update(mod.type_definitions)
        self.reader.globals.update((var.name, var) for var in mod.functions)
        self.reader.types.adts.update((header.name, header) for header in mod.type_definitions)
        for data in mod.type_definitions.values():
            for one in data.constructors:
                self.reader.constructors[one.name] = one
                self.reader.signatures[one.name] = f"({', '.join('_' * len(one.inputs))})" if one.inputs else ""

    def within_limits(self, read: Callable[[], _Result]) -> _Result:
        """Return what ``read`` returns; a limit that is reached is shown at the current token."""
        lexer = self.lexer
        try:
            with going_on("text", lambda: (lexer.start, len(lexer.text))):
                return read()
        except LimitError as reached:
            raise reached.located(self.lexer.where(), self.source) from None

    def module(self) -> IRModule:
        """Read a module."""
        self._version()
        if self.lexer.kind not in ("def", "type", "extern", "metadata", "end") and self._is_expression():
            self._expressions()
        while self.lexer.kind not in ("metadata", "end"):
            self._definition()
        self.begun = self.lexer.start
        self._finish()
        functions = with_parameters(self.functions, self._omitted_constants())
        return IRModule(functions, self.definitions, source=self.source, locations=self.reader.locations())

    def expression(self) -> Expr:
        """Read one expression."""
        self._version()
        expr = self._expression()
        if self.lexer.kind not in ("metadata", "end"):
            self.lexer.unexpected("the end of the expression")
        self._finish()
        constants = self._omitted_constants()
        if constants and isinstance(expr, Function):
            return replace(expr, params=(*expr.params, *constants))
        return expr

    def _expression(self) -> Expr:
        """Read an expression with names of its own."""
        mark = self.reader.scope.open()
        expr = self.reader.block()
        self.reader.scope.close(mark)
        self.reader.graph.clear()
        return expr

    def _is_expression(self) -> bool:
        """Whether an expression stands here, of which some begin like any other text."""
        lexer = self.lexer
        return self.older or lexer.kind not in ("name", "global", "bad") or lexer.peek() in ("(", ".")

    def _expressions(self) -> None:
        """Read an expression as a function, its free variables being the parameters: ``@main``.

        Functions that follow it are ``@main_1``, ….
        """
        lexer = self.lexer
        while not self.functions or lexer.kind in ("fn", "free_var"):
            self.begun = lexer.start
            count = len(self.functions)
            (function,) = IRModule.from_expr(self._expression()).functions.values()
            self.functions[self.reader.global_var(f"main_{count}" if count else "main")] = function
        self.begun = lexer.start
        if lexer.kind not in ("metadata", "end", "def", "type", "extern"):
            lexer.unexpected("the end of the expression")

    def _omitted_constants(self) -> list[Var]:
        """Return the parameters that stand for constants whose values the text leaves out."""
        found = self.reader.metadata.omitted.constants
        return [found[index] for index in sorted(found)]

    def _version(self) -> None:
        lexer = self.lexer
        expected = f'expected `#[version = "{VERSION}"]`'
        if lexer.kind == "version":
            found = lexer.value.split('"')[1]
            if found != VERSION:
                lexer.fail(
                    reading.RELAY_VERSION.message(version=repr(found)), label=expected, kind=reading.RELAY_VERSION
                )
            lexer.advance()
        elif not self.older and (written := re.match(r"v\d[\d.]*", lexer.text[lexer.start : lexer.start + 40])):
            lexer.fail(
                reading.RELAY_VERSION.message(version=written[0]),
                label=f"{expected}, or `v0.0.1` to `v0.0.4`",
                kind=reading.RELAY_VERSION,
            )

    def _finish(self) -> None:
        if self.lexer.kind == "metadata":
            self.reader.metadata.finish()
        objects = self.reader.metadata.omitted
        for unknown in [one for one in objects.given if one not in objects.taken]:
            self.lexer.report(
                f"attributes are given for `{unknown}`, which the text does not leave out",
                kind=reading.RELAY_METADATA,
            )
        if self.lexer.problems:
            raise ParseError(self.lexer.problems, self.source)

    def _definition(self) -> None:
        lexer = self.lexer
        start = self.begun = lexer.start
        match lexer.kind:
            case "def":
                lexer.advance()
                name = lexer.expect("global", "for the function")
                var = self.reader.global_var(name[1:])
                function = self.reader.function(start)
                if var in self.functions:
                    self.replaced.append(f"@{var.name} is defined again in line {lexer.where(start).line}")
                self.functions[var] = function
            case "type":
                lexer.advance()
                self._type_definition()
            case "extern":
                lexer.advance()
                lexer.expect("type", "after `extern`")
                self._type_definition()
            case "global":
                lexer.fail("only Relay functions can be read", label="expected `def`, `type` or `extern type`")
            case _:
                script = lexer.value in ("from", "import")
                help = "a TVMScript of Relax is read by relax_ir.parse" if script else ""
                if self.functions and not script:
                    help = "what is not Relay behind a definition is left out with --recover, recover=True in Python"
                lexer.unexpected("`def`, `type`, `extern type` or the metadata section", help=help)

    def _type_definition(self) -> None:
        """Read a definition from its name on; ``extern type T`` and ``type T`` mean the same."""
        lexer, types = self.lexer, self.reader.types
        start, end = lexer.start, lexer.end
        header = types.adt(lexer.expect("name", "for the type"))
        if header in self.definitions:
            lexer.fail(
                reading.DEFINED_TWICE.message(what="type", name=header.name), start, end, kind=reading.DEFINED_TWICE
            )
        mark = types.mark()
        variables = types.parameters()
        constructors: list[Constructor] = []
        if lexer.kind == "{":
            constructors = sequence(lexer, "{", "}", lambda: self._constructor(header))
        types.release(mark)
        self.definitions[header] = TypeData(header, variables, tuple(constructors))

    def _constructor(self, header: GlobalTypeVar) -> Constructor:
        lexer, reader = self.lexer, self.reader
        start, end = lexer.start, lexer.end
        name = lexer.expect("name", "for a constructor")
        opened = lexer.start
        inputs = sequence(lexer, "(", ")", reader.types.read) if lexer.kind == "(" else []
        if name in reader.constructors:
            lexer.report(
                reading.DEFINED_TWICE.message(what="constructor", name=name), start, end, kind=reading.DEFINED_TWICE
            )
        made = reader.located(Constructor(name, tuple(inputs), header), start)
        reader.constructors[name] = made
        reader.signatures[name] = lexer.text[opened : lexer.previous_end] if inputs else ""
        return made
