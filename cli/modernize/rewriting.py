"""A script rewritten: each name of TVM that has an equivalent, with a remark for each place."""

from __future__ import annotations

import ast
import difflib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field

from relay2relax.cli.modernize.remarks import PACKAGE, Remark
from relay2relax.core.errors import ParseError, UnsupportedError, mistake
from relay2relax.core.errors.table import running

_INSTALL = "pip install relay2relax[modernize]"


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A script before and after, and the remarks on it in the order of its lines."""

    name: str
    before: str
    after: str
    remarks: Sequence[Remark] = field(default=())

    def diff(self) -> str:
        """Return what changed, as a unified diff."""
        old, new = (text.splitlines(keepends=True) for text in (self.before, self.after))
        return "".join(difflib.unified_diff(old, new, self.name, self.name))

    def count(self, kind: str) -> int:
        """Return how many places are of a kind."""
        return sum(one.kind == kind for one in self.remarks)


def rewrite_script(text: str, name: str, to: str = PACKAGE) -> Rewritten:
    """Return a script in which names of TVM that have an equivalent here or today are replaced.

    Raises ParseError where it is not Python, UnsupportedError where libcst is not installed.
    """
    try:
        import libcst
        from libcst.codemod import CodemodContext
        from libcst.codemod.visitors import AddImportsVisitor, RemoveImportsVisitor

        from relay2relax.cli.modernize.transformer import Transformer
    except ModuleNotFoundError as error:
        raise UnsupportedError(mistake(running.LIBRARY, what="libcst", problem=_INSTALL)) from error
    try:
        _check(text, name)
        tree = libcst.parse_module(text)
        context = CodemodContext()
        transformer = Transformer(context, to)
        changed = transformer.transform_module(tree)
        for visitor in (AddImportsVisitor(context), RemoveImportsVisitor(context)):
            changed = visitor.transform_module(changed)
    except libcst.ParserSyntaxError as error:
        raise _no_python(name, error.raw_line, error.message) from error
    except (RecursionError, MemoryError) as error:
        raise ParseError(f"{name} has expressions that are nested too deeply to be rewritten") from error
    return Rewritten(name, text, changed.code, sorted(set(transformer.remarks)))


def _check(text: str, name: str) -> None:
    """Raise ParseError where Python itself cannot read a script: libcst has no limit to how deeply
    brackets may be nested, and such a text ends the process.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text.removeprefix("\ufeff"))
    except SyntaxError as error:
        raise _no_python(name, error.lineno or 1, error.msg) from error
    except ValueError as error:
        raise _no_python(name, 1, error) from error


def _no_python(name: str, line: int, why: object) -> ParseError:
    return ParseError(f"{name} is not Python: line {line} {why}")
