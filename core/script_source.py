"""TVMScript as a syntax tree: read by Python's ``ast``, never executed, with a place for every
mistake.

A script is Python text, so Python's own parser reads it; what the names in it mean is decided by
the readers of tensor programs (``tir/script``) and of Relax (``relax_ir/script``). Imports in
the text are looked at for the names that they give to TVM's namespaces, and otherwise ignored.
"""

from __future__ import annotations

import ast
import operator
import re
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeVar

from relay2relax.core.errors import Diagnostic, ErrorKind, LimitError, ParseError, Relay2RelaxError, mistake
from relay2relax.core.errors.nearest import nearest
from relay2relax.core.errors.table import script
from relay2relax.core.limits import check
from relay2relax.core.source import SourceRange, SourceText

# The namespaces under all names that they had: ``I`` of modules, ``R`` of Relax, ``T`` of tensor
# programs.
_NAMESPACES = {
    "I": "I", "R": "R", "T": "T", "ir": "I", "relax": "R", "tir": "T", "tirx": "T", "Tx": "T", "tvm.script.ir": "I",
    "tvm.script.relax": "R", "tvm.script.tir": "T", "tvm.script.tirx": "T", "tvm.script": "I", "tvm.relax": "R",
    "tvm.tir": "T", "tvm.tirx": "T", "relay2relax.script": "I", "relay2relax.script.I": "I",
    "relay2relax.script.R": "R", "relay2relax.script.T": "T", "relay2relax.script.ir": "I",
    "relay2relax.script.relax": "R", "relay2relax.script.tir": "T", "relay2relax.script.tirx": "T",
}  # fmt: skip
_NO_ALIASES: Mapping[str, str] = MappingProxyType({})
# ``def main[n](…)`` of Python 3.12; names in a signature are known as dimensions without it.
_TYPE_PARAMETERS = re.compile(r"^([ \t]*def\s+\w+\s*)(\[[^\]\n]*\])(?=\s*\()", re.MULTILINE)


_Result = TypeVar("_Result")

# Where statements hold statements.
_BLOCKS = ("body", "orelse", "finalbody")
# The words of statements that Python's syntax tree calls otherwise.
_STATEMENTS = {"FunctionDef": "def", "AsyncFunctionDef": "async", "ClassDef": "class", "ImportFrom": "import",
               "Delete": "del", "AsyncFor": "async", "AsyncWith": "async"}  # fmt: skip


def too_deep() -> Diagnostic:
    """Return the mistake of a script that is nested deeper than Python's stack reaches."""
    return Diagnostic("the script is nested too deep", kind=script.MALFORMED)


class ScriptProblem(Exception):
    """One mistake in a script; whoever reads statements collects it and goes on."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        self.diagnostic = diagnostic
        super().__init__(diagnostic.title)


class FollowsError(ScriptProblem):
    """Something cannot be read because of a mistake that is reported already."""


class Poison:
    """Stands for the value of a name whose definition is mistaken."""


@contextmanager
def _unwarned() -> Iterator[None]:
    """Keep Python from warning of what it parses (of a lone backslash, say)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def counted(count: int, what: str) -> str:
    """Return ``1 dimension``, ``2 dimensions``."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def stored_names(node: ast.AST) -> Iterator[str]:
    """Yield the names that a statement, with everything inside it, defines."""
    for one in ast.walk(node):
        match one:
            case ast.Name(name, ast.Store()):
                yield name
            case ast.FunctionDef(name):
                yield name


def _statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yield all statements, the outer ones first."""
    level: list[ast.stmt] = tree.body
    while level:
        yield from level
        level = [one for node in level for block in _BLOCKS for one in getattr(node, block, ())]


def statement_word(node: ast.stmt) -> str:
    """Return the word that a statement begins with."""
    kind = type(node).__name__
    return _STATEMENTS.get(kind, kind.lower())


def is_plain(value: object) -> bool:
    """Whether a Python value can be written as a literal: a number, a string, None, lists and
    dictionaries of those.
    """
    match value:
        case bool() | int() | float() | str() | None:
            return True
        case list() | tuple():
            return all(map(is_plain, value))
        case dict():
            return all(isinstance(key, str) for key in value) and all(map(is_plain, value.values()))
    return False


# Arithmetic of literals, and the numbers up to which it is carried out.
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
}  # fmt: skip
_LARGEST = 1e40
# For so many mistakes a name is suggested.
_SUGGESTIONS = 20
# More digits to a base of 2, 8 or 16 than 64 bits take, and the bits of the largest float.
_LONG_NUMBER = re.compile(r"0[xXoObB][\da-fA-F_]{20}")
_MOST_BITS = 1024


class ScriptSource:
    """A script and its syntax tree.

    ``functions`` are those that the text defines, ``problems`` the mistakes found so far.
    """

    def __init__(self, text: str, name: str = "<script>", aliases: Mapping[str, str] = _NO_ALIASES) -> None:
        """Parse ``text``; raises ParseError where it is not Python.

        ``aliases`` are names that stand for TVM's namespaces without an import in the text.
        """
        text = _TYPE_PARAMETERS.sub(
            lambda found: found[1] + " " * len(found[2]), textwrap.dedent(text.removeprefix("\ufeff"))
        )
        self.text = SourceText(text, name)
        self.problems: list[Diagnostic] = []
        self._known_problems: set[Diagnostic] = set()
        try:
            with _unwarned():
                self.tree = ast.parse(text)
        except SyntaxError as error:
            raise ParseError(self._syntax(error), self.text) from error
        except ValueError as error:
            raise ParseError(Diagnostic(f"the text is no script: {error}", kind=script.MALFORMED)) from error
        except (RecursionError, MemoryError) as error:
            raise ParseError(too_deep()) from error
        if _LONG_NUMBER.search(text):
            self._check_numbers()
        self.functions = {node.name: node for node in _statements(self.tree) if isinstance(node, ast.FunctionDef)}
        # What a module is called by its own functions.
        self.modules = {"cls", *(node.name for node in self.tree.body if isinstance(node, ast.ClassDef))}
        if len(self.modules) == 1:
            self.modules.add("Module")
        self.aliases = dict(_NAMESPACES)
        for node in self.tree.body:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                self._import(node)
        self.aliases |= aliases

    def _check_numbers(self) -> None:
        """Refuse integers that no type holds; Python refuses those in decimal digits itself."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value.bit_length() > _MOST_BITS:
                problem = self.problem(node, "the number has more bits than any type", "expected a smaller number")
                raise ParseError(problem.diagnostic, self.text)

    def _syntax(self, error: SyntaxError) -> Diagnostic:
        line, column = error.lineno or 1, error.offset or 1
        end = error.end_offset if error.end_lineno == line and error.end_offset else column + 1
        where = SourceRange(self.text.name, line, column, line, max(end, column + 1))
        return mistake(script.NOT_PYTHON, where, error.msg or "invalid syntax")

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        module = node.module if isinstance(node, ast.ImportFrom) else None
        for item in node.names:
            full = f"{module}.{item.name}" if module else item.name
            if full in _NAMESPACES:
                self.aliases[item.asname or item.name] = _NAMESPACES[full]

    # Places and mistakes.

    def where(self, node: ast.AST) -> SourceRange:
        """Return the place of ``node``."""
        line: int = getattr(node, "lineno", 1)
        end: int = getattr(node, "end_lineno", line)
        column = self._column(line, getattr(node, "col_offset", 0))
        last = self._column(end, getattr(node, "end_col_offset", 0))
        return SourceRange(self.text.name, line, column, end, max(last, column + 1) if end == line else last)

    def head(self, node: ast.FunctionDef | ast.ClassDef) -> SourceRange:
        """Return the place of the first words of a definition: ``def`` or ``class``, and the
        name.
        """
        first = self.where(node)
        words = f"{'class' if isinstance(node, ast.ClassDef) else 'def'} {node.name}"
        return SourceRange(first.name, first.line, first.column, first.line, first.column + len(words))

    def follows(self, name: str) -> FollowsError:
        """Return the mistake of using ``name``, whose definition is mistaken.

        It is not reported again.
        """
        return FollowsError(Diagnostic(f"`{name}` is mistaken", kind=script.MALFORMED))

    def put_down(self, problem: ScriptProblem, where: SourceRange | None = None) -> None:
        """Add a mistake to the list, unless it follows from one that is there or is there
        itself.
        """
        found = problem.diagnostic if where is None else replace(problem.diagnostic, where=where)
        if not isinstance(problem, FollowsError) and found not in self._known_problems:
            self._known_problems.add(found)
            self.problems.append(found)

    def attempt(self, read: Callable[[], _Result]) -> _Result | None:
        """Return what ``read`` returns; a mistake is put down, and None returned."""
        try:
            return read()
        except ScriptProblem as problem:
            self.put_down(problem)
            return None

    def within_limits(self, node: ast.AST, read: Callable[[], _Result]) -> _Result:
        """Return what ``read`` returns; a limit that is reached is shown at ``node``."""
        try:
            check()
            return read()
        except LimitError as reached:
            raise reached.located(self.where(node), self.text) from None

    def _column(self, line: int, offset: int) -> int:
        text = self.text.line(line)
        return offset + 1 if text.isascii() else len(text.encode()[:offset].decode(errors="ignore")) + 1

    def problem(
        self,
        node: ast.AST,
        title: str,
        label: str = "",
        help: str = "",
        notes: Iterable[str] = (),
        kind: ErrorKind = script.MALFORMED,
    ) -> ScriptProblem:
        """Return a mistake at ``node``, to be raised."""
        return ScriptProblem(Diagnostic(title, self.where(node), label, tuple(notes), help, kind))

    def not_computed(self, node: ast.AST, error: Exception) -> ScriptProblem:
        """Return the mistake of numbers that cannot be computed with."""
        return self.problem(node, f"this cannot be computed: {error}", "expected other numbers")

    def undefined(self, node: ast.AST, name: str, known: Iterable[str], what: str = "name") -> ScriptProblem:
        """Return the mistake of a name that nothing defines, with the known name that is most like
        it.
        """
        # The names that are like one are looked for among all; of many mistakes that is too much.
        help = nearest(name, known) if len(self.problems) < _SUGGESTIONS else ""
        kind = script.OPERATOR if what in ("operator", "function") else script.NAME
        return self.problem(node, kind.message(what=what, name=name), "not defined here", help=help, kind=kind)

    def finish(self) -> None:
        """Raise ParseError with all mistakes found, where there are any."""
        if self.problems:
            ordered = sorted(self.problems, key=lambda one: (one.where.line, one.where.column) if one.where else (0, 0))
            raise ParseError(ordered, self.text)

    # Definitions, names and literals.

    def options(self, node: ast.FunctionDef, kind: str, names: tuple[str, ...]) -> dict[str, bool]:
        """Return what the decorator ``kind`` of a function says: its options, which are true or
        false.
        """
        found: dict[str, bool] = {}
        for decorator in node.decorator_list:
            if not isinstance(decorator, ast.Call) or self.dotted(decorator.func) != kind:
                continue
            if decorator.args:
                raise self.problem(decorator.args[0], f"`{kind}` is given its options by name",
                                   f"expected {', '.join(names)}")  # fmt: skip
            for keyword in decorator.keywords:
                if keyword.arg not in names:
                    raise self.problem(keyword, f"`{kind}` has no option `{keyword.arg}`",
                                       f"expected {', '.join(names)}")  # fmt: skip
                value = self.literal(keyword.value)
                if not isinstance(value, bool):
                    raise self.problem(keyword.value, f"the option `{keyword.arg}` is true or false",
                                       "expected True or False")  # fmt: skip
                found[keyword.arg] = value
        return found

    def plain_parameters(self, node: ast.FunctionDef, what: str) -> list[ast.arg]:
        """Return the parameters of a function, which have names of their own, no defaults and no
        stars.
        """
        given = node.args
        for other in (given.vararg, given.kwarg, *given.kwonlyargs, *given.defaults):
            if other is not None:
                raise self.problem(
                    other, f"{what} has plain parameters only", "expected name: type", kind=script.ARGUMENTS
                )
        names: set[str] = set()
        for one in (*given.posonlyargs, *given.args):
            if one.arg in names:
                raise self.problem(
                    one,
                    f"the parameter `{one.arg}` is named twice",
                    "a name of another parameter",
                    kind=script.ARGUMENTS,
                )
            names.add(one.arg)
        return [*given.posonlyargs, *given.args]

    def once(self, known: dict[str, object], new: dict[str, object], node: ast.AST) -> None:
        """Add the attributes ``new`` to those that are ``known``; raises ScriptProblem for a key
        that is there.
        """
        for key in new:
            if key in known:
                raise self.problem(node, f"the attribute {key!r} is given twice", "given before", kind=script.ARGUMENTS)
        known.update(new)

    def dotted(self, node: ast.AST) -> str | None:
        """Return ``R.nn.relu`` for that chain of names, its namespace under its usual name.

        None for other nodes.
        """
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        parts.append(node.id)
        parts.reverse()
        for length in range(min(len(parts), 3), 0, -1):
            head = self.aliases.get(".".join(parts[:length]))
            if head is not None:
                return ".".join([head, *parts[length:]])
        return ".".join(parts)

    def called(self, node: ast.AST) -> str | None:
        """Return the dotted name that ``node`` calls, None where it is no call of one."""
        return self.dotted(node.func) if isinstance(node, ast.Call) else None

    def quoted(self, node: ast.expr, what: str) -> ast.expr:
        """Return the expression that a string holds, placed where the string stands, and any other
        node as it is.

        Raises ScriptProblem for a string that is no expression; ``what`` is what was wanted.
        """
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            return node
        try:
            with _unwarned():
                found = ast.parse(node.value.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise self.problem(node, f"{node.value!r} is no {what}", "expected an expression") from None
        for one in ast.walk(found):
            ast.copy_location(one, node)
        return found

    def literal(self, node: ast.AST) -> Any:
        """Return the Python value of a literal: numbers, strings, None, lists, tuples,
        dictionaries, float("inf").
        """
        match node:
            case ast.Constant(value):
                if value is Ellipsis or isinstance(value, (bytes, complex)):
                    raise self.problem(node, "this is no value of a script", "expected a number, a string or a list")
                return value
            case ast.UnaryOp(ast.USub(), operand):
                value = self.literal(operand)
                if not isinstance(value, (int, float)):
                    raise self.problem(node, "only numbers have a sign", "expected a number")
                return -value
            case ast.BinOp(left, op, right) if type(op) in _ARITHMETIC:
                return self._computed(self.literal(left), op, self.literal(right), node)
            case ast.List(items):
                return [self.literal(item) for item in items]
            case ast.Tuple(items):
                return tuple(self.literal(item) for item in items)
            case ast.Dict(keys, values):
                return {self._key(key, node): self.literal(value) for key, value in zip(keys, values, strict=True)}
            case ast.Call(ast.Name("float"), [ast.Constant(str() as text)]):
                try:
                    return float(text)
                except ValueError:
                    raise self.problem(node, f"{text!r} is no number", 'expected "inf", "-inf" or "nan"') from None
            case ast.Call(func, [argument]) if (self.dotted(func) or "").startswith("T."):
                # Typed literals: T.bool(True), T.int64(3), T.float32("inf").
                value = self.literal(argument)
                return float(value) if isinstance(value, str) and "float" in (self.dotted(func) or "") else value
        raise self.problem(node, "this is no literal", "expected a number, a string, a list or a dictionary")

    def _computed(self, left: object, op: ast.operator, right: object, node: ast.AST) -> int | float:
        """Return ``1.0 / 3.0`` and its like."""
        if not all(isinstance(one, (int, float)) and abs(one) < _LARGEST for one in (left, right)):
            raise self.problem(node, "only numbers can be computed with", "expected numbers")
        try:
            found: int | float = _ARITHMETIC[type(op)](left, right)
        except ArithmeticError as error:
            raise self.not_computed(node, error) from None
        return found

    def _key(self, node: ast.expr | None, dictionary: ast.AST) -> str:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        raise self.problem(node or dictionary, "a key is no string", "expected a string")

    def string(self, node: ast.AST, what: str) -> str:
        """Return the string that ``node`` is; ``what`` says what it stands for."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        raise self.problem(node, f"{what} is a string", "expected a string")

    def word(self, node: ast.AST, what: str, check: Callable[[str], object]) -> str:
        """Return the word that ``node`` is, which ``check`` accepts."""
        text = self.string(node, what)
        try:
            check(text)
        except LimitError:
            raise
        except Relay2RelaxError as error:
            first = error.diagnostics[0]
            raise self.problem(node, first.title, "not such a word", first.help) from None
        return text

    def integer(self, node: ast.AST, what: str) -> int:
        """Return the integer that ``node`` is; ``what`` says what it stands for."""
        value = self.literal(node)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.problem(node, f"{what} is an integer", "expected an integer")
        return value

    def arguments(self, call: ast.Call, names: tuple[str, ...]) -> dict[str, ast.expr]:
        """Return the arguments of ``call`` by the parameter names ``names``; raises ScriptProblem
        for others.
        """
        title = f"`{self.dotted(call.func)}` has no such argument"
        if len(call.args) > len(names):
            raise self.problem(
                call.args[len(names)], title, f"expected {', '.join(names) or 'no arguments'}", kind=script.ARGUMENTS
            )
        given = dict(zip(names, call.args, strict=False))
        for keyword in call.keywords:
            if keyword.arg is None or keyword.arg not in names:
                raise self.problem(
                    keyword, title, f"expected {', '.join(names) or 'no arguments'}", kind=script.ARGUMENTS
                )
            if keyword.arg in given:
                raise self.problem(
                    keyword, f"the argument `{keyword.arg}` is given twice", "given before", kind=script.ARGUMENTS
                )
            given[keyword.arg] = keyword.value
        return given

    def require(self, node: ast.AST, given: Mapping[str, ast.expr], *names: str) -> None:
        """Raise ScriptProblem for the first of ``names`` that is not among the arguments."""
        for name in names:
            if name not in given:
                raise self.problem(
                    node, f"the argument `{name}` is missing", f"expected `{name}`", kind=script.ARGUMENTS
                )

    def needed(self, node: ast.AST, given: Mapping[str, ast.expr], name: str) -> ast.expr:
        """Return the argument ``name`` out of those that are ``given``."""
        self.require(node, given, name)
        return given[name]

    def only(self, node: ast.Call, what: str) -> ast.expr:
        """Return the one argument of a call that takes ``what``."""
        if len(node.args) != 1:
            raise self.problem(
                node, f"`{self.dotted(node.func)}` takes {what}", f"expected {what}", kind=script.ARGUMENTS
            )
        return node.args[0]
