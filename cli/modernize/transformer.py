"""The syntax tree of a script under change. This module needs libcst."""

from __future__ import annotations

from typing import Any

import libcst
from libcst.codemod import CodemodContext, ContextAwareTransformer
from libcst.codemod.visitors import AddImportsVisitor, RemoveImportsVisitor
from libcst.metadata import PositionProvider, QualifiedNameProvider, QualifiedNameSource

from relay2relax.cli.modernize.remarks import BY_HAND, ROOTS, Remark, decide, words_of_nodes


class Transformer(ContextAwareTransformer):  # type: ignore[misc]
    """Replaces names that are imported from TVM, and notes what became of each."""

    METADATA_DEPENDENCIES = (QualifiedNameProvider, PositionProvider)

    def __init__(self, context: CodemodContext, to: str) -> None:
        super().__init__(context)
        self._to = to
        self.remarks: list[Remark] = []
        # Parts of dotted names that were looked at as a whole, and names in import statements.
        self._done: set[libcst.CSTNode] = set()

    def visit_Import(self, node: libcst.Import) -> bool:
        if any(_is_theirs(one.name) for one in node.names):
            RemoveImportsVisitor.remove_unused_import_by_node(self.context, node)
        return False

    def visit_ImportFrom(self, node: libcst.ImportFrom) -> bool:
        if node.module is not None and _is_theirs(node.module):
            RemoveImportsVisitor.remove_unused_import_by_node(self.context, node)
        return False

    def visit_Attribute(self, node: libcst.Attribute) -> bool:
        if node not in self._done:
            inner: Any = node.value
            while isinstance(inner, libcst.Attribute):
                self._done.add(inner)
                inner = inner.value
            self._done.add(inner)
        return True

    def leave_Attribute(self, original_node: libcst.Attribute, updated_node: libcst.Attribute) -> Any:
        if original_node in self._done:
            return updated_node
        found = self._decide(original_node)
        word = original_node.attr.value
        if found is None and word in words_of_nodes() and not self._imported(original_node):
            self._note(Remark(self._line(original_node), BY_HAND, f".{word}", why="a name of TVM's nodes"))
        return found or updated_node

    def leave_Name(self, original_node: libcst.Name, updated_node: libcst.Name) -> Any:
        return updated_node if original_node in self._done else self._decide(original_node) or updated_node

    def _imported(self, node: libcst.CSTNode) -> str | None:
        """Return the dotted name that a name or attribute is imported as."""
        for one in self.get_metadata(QualifiedNameProvider, node, ()) or ():
            if one.source is QualifiedNameSource.IMPORT:
                return str(one.name)
        return None

    def _decide(self, node: libcst.Name | libcst.Attribute) -> libcst.BaseExpression | None:
        dotted = self._imported(node)
        if dotted is None:
            return None
        shown = libcst.Module([]).code_for_node(node)
        decided = decide(dotted, self._line(node), shown, self._to)
        if decided is None:
            return None
        if decided.remark is not None:
            self._note(decided.remark)
        if decided.imported is None:
            return None
        AddImportsVisitor.add_needed_import(self.context, *decided.imported)
        return libcst.parse_expression(decided.ours)

    def _note(self, remark: Remark) -> None:
        self.remarks.append(remark)

    def _line(self, node: libcst.CSTNode) -> int:
        return int(self.get_metadata(PositionProvider, node).start.line)


def _is_theirs(node: libcst.Name | libcst.Attribute) -> bool:
    inner: Any = node
    while isinstance(inner, libcst.Attribute):
        inner = inner.value
    return inner.value in ROOTS
