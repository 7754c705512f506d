"""The pipeline of a script that was written for Relay, and the one for today.

    found = suggest(open("compile.py").read())
    print(found.relay, found.relax)

The script is read as a syntax tree and never executed. Passes are found by the names under which it
imports them: ``relay.transform.FoldConstant()``, ``transform.FuseOps(2)``, ``FoldConstant()``.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from dataclasses import dataclass

from relay2relax.core.errors import Diagnostic, ParseError
from relay2relax.core.errors.table import reading
from relay2relax.relay_ir.pipeline.text import passes_by_name
from relay2relax.relay_ir.pipeline.today import TODAY, Today, Way

# Modules whose attributes are passes, with those under which TVM's documents show them.
_PASSES = ("tvm.relay.transform", "tvm.relay.qnn.transform", "tvm.transform")
# What `relay.build` runs by itself, whatever is asked for: converting and compiling do it today.
_BUILDS = ("tvm.relay.build", "tvm.relay.vm.compile", "tvm.relay.build_module.build", "tvm.relay.optimize")
_QUANTIZE = "tvm.relay.quantize.quantize"


@dataclass(frozen=True, slots=True)
class FoundPass:
    """A pass that a script makes: its name, its line, the call as it is written, and what stands
    for it today; None for one that is not known.

    ``before`` is the pass over Relay with the script's options, nothing where these are made while
    the script runs.
    """

    name: str
    line: int
    text: str
    today: Today | None
    before: str = ""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """The passes of a script in the order of its lines, and notes on what else it runs."""

    passes: tuple[FoundPass, ...]
    notes: tuple[str, ...]

    @property
    def relay(self) -> str:
        """The pipeline over Relay that runs before converting, as ``pipeline.read`` takes it."""
        found = [one.before for one in self.passes if one.today is not None and one.today.way is Way.BEFORE]
        return ", ".join(dict.fromkeys(one for one in found if one))

    @property
    def relax(self) -> str:
        """The passes of ``tvm.relax.transform`` behind it, as Python."""
        found = [
            text
            for one in self.passes
            if one.today is not None and one.today.way is Way.RELAX
            for text in one.today.relax
        ]
        lines = "".join(f"    relax.transform.{text},\n" for text in dict.fromkeys(found))
        return f"tvm.transform.Sequential([\n{lines}])" if lines else ""


def suggest(text: str, name: str = "<script>") -> Suggestion:
    """Return the passes that a script makes, and what stands for each today.

    Raises ParseError where the script is no Python.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        title = f"{name!r} is not Python: {error}"
        raise ParseError(Diagnostic(title, kind=reading.RELAY_SYNTAX)) from None
    names = dict(_imported(tree))
    passes: list[FoundPass] = []
    notes: dict[str, None] = {}
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    for call in sorted(calls, key=lambda one: (one.lineno, one.col_offset)):
        called = _full_name(call.func, names)
        module, _, last = called.rpartition(".")
        if module in _PASSES and last in TODAY:
            before = _before(last, call, TODAY[last])
            passes.append(FoundPass(last, call.lineno, ast.unparse(call), TODAY[last], before))
            if TODAY[last].has_options and not before:
                said = f"line {call.lineno}: the options of {last} are made while the script runs; call it in Python"
                notes[said] = None
        elif module in _PASSES and last[:1].isupper() and last not in ("Sequential", "PassContext"):
            passes.append(FoundPass(last, call.lineno, ast.unparse(call), None))
        elif called in _BUILDS:
            notes[f"line {call.lineno}: {last} ran passes of its own; convert the module, and TVM's default pipeline "
                  "or the C backend does what they did"] = None  # fmt: skip
        elif called == _QUANTIZE:
            notes[f"line {call.lineno}: quantize before converting; Relax has no quantiser"] = None
        elif last == "PassContext":
            notes.update((f"line {call.lineno}: {said}", None) for said in _of_context(call))
    return Suggestion(tuple(passes), tuple(notes))


def _imported(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield the names that a script imports, and what they are in TVM."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for one in names:
                    yield (one.asname, one.name) if one.asname else (one.name.partition(".")[0],) * 2
            case ast.ImportFrom(module=str(module), names=names, level=0):
                yield from ((one.asname or one.name, f"{module}.{one.name}") for one in names)


def _full_name(node: ast.expr, names: dict[str, str]) -> str:
    """Return the name of what is called, as TVM has it."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in names:
        return ""
    return ".".join([names[node.id], *parts[::-1]])


def _before(name: str, call: ast.Call, today: Today) -> str:
    """Return the pass over Relay with the options of a call, as the table has it where there are
    none, and nothing where they are made while the script runs.
    """
    options = _options(name, call)
    if options:
        return f"{name}({', '.join(map(ast.unparse, options))})"
    return "" if options is None and today.has_options else today.before


def _options(name: str, call: ast.Call) -> list[ast.keyword] | None:
    """Return the options of a pass under their names, None where one of them is no literal."""
    kind = passes_by_name().get(name)
    known = list(inspect.signature(kind).parameters) if kind is not None else []
    if len(call.args) > len(known):
        return None
    given = [ast.keyword(arg=option, value=value) for option, value in zip(known, call.args, strict=False)]
    found = [*given, *call.keywords]
    return found if all(map(_is_literal, found)) else None


def _is_literal(keyword: ast.keyword) -> bool:
    try:
        ast.literal_eval(keyword.value)
    except (ValueError, TypeError, RecursionError, MemoryError):
        return False
    return keyword.arg is not None


def _of_context(call: ast.Call) -> Iterator[str]:
    for keyword in call.keywords:
        if keyword.arg in ("disabled_pass", "required_pass"):
            yield f"{keyword.arg}={ast.unparse(keyword.value)} holds for relay.build; leave these out, or put them in"
        elif keyword.arg == "config":
            yield f"config={ast.unparse(keyword.value)} is for Relay's passes; those of Relax have options of their own"
