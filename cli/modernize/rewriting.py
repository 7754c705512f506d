"""A script rewritten: each name of TVM that has an equivalent, with a remark for each place."""

from __future__ import annotations

import difflib
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
        tree = libcst.parse_module(text)
    except libcst.ParserSyntaxError as error:
        raise ParseError(f"{name} is not Python: line {error.raw_line} {error.message}") from error
    context = CodemodContext()
    transformer = Transformer(context, to)
    changed = transformer.transform_module(tree)
    for visitor in (AddImportsVisitor(context), RemoveImportsVisitor(context)):
        changed = visitor.transform_module(changed)
    return Rewritten(name, text, changed.code, sorted(set(transformer.remarks)))
