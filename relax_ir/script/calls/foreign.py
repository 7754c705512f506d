"""Calls of operators without a record, which are kept as they are written."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from relay2relax.core.errors.table import script
from relay2relax.relax_ir.inference.op_signatures import (
    REQUIRED,
    Argument,
    ForeignAttrs,
    Signature,
    foreign_op,
    signature,
)
from relay2relax.relax_ir.ir.expr import Call, Expr, PrimValue, StringImm, Tuple
from relay2relax.relax_ir.ir.struct_info import StructInfo
from relay2relax.relax_ir.script.calls.arguments import EXPRESSIONS, Arguments, plain

# What the result of a call is said with, by age.
RESULT = ("out_sinfo", "out_ty", "sinfo_args", "ty_args")
# What is given its arguments as one tuple.
_INTO_MEMORY = frozenset({"call_tir_inplace", "call_tir_with_grad", "dist.call_tir_local_view"})


def find_keyword(node: ast.AST, name: str) -> ast.AST:
    """Return the argument ``name`` of a call, or the node itself where it has none."""
    found = node.keywords if isinstance(node, ast.Call) else []
    return next((keyword for keyword in found if keyword.arg == name), node)


class ForeignReader:
    """Makes calls of operators by their names alone."""

    def __init__(self, arguments: Arguments) -> None:
        self.source = arguments.source
        self.arguments = arguments

    def call(self, name: str, args: Sequence[object], keywords: Mapping[str, object], node: ast.AST) -> Call:
        """Return the call of an operator without a record, as it is written."""
        op = foreign_op(name)
        assert op is not None
        if name in _INTO_MEMORY and len(args) > 1:
            args = [args[0], self.arguments.fields_of(args[1], node), *args[2:]]
        if name == "dist.call_tir_local_view" and "tir_vars" in keywords:
            # Scalars stood apart until 0.25.
            scalars = self.arguments.scalars(keywords["tir_vars"], node)
            tensors = self.arguments.leaf(args[1], node)
            given = tuple(map(PrimValue, scalars))
            args = [args[0], Tuple((*tensors.fields, *given) if isinstance(tensors, Tuple) else given), *args[2:]]
            keywords = {keyword: value for keyword, value in keywords.items() if keyword != "tir_vars"}
        params = set(op.inputs) | set(RESULT)
        for keyword in keywords:
            if keyword not in params and name != "call_builtin_with_ctx":
                raise self.source.problem(find_keyword(node, keyword), f"R.{name} has no such argument",
                                          f"expected {', '.join(op.inputs)}", kind=script.ARGUMENTS)  # fmt: skip
        found: list[Expr] = []
        layout: list[tuple[str, object]] = []
        for keyword, value in _in_order(signature(name), args, _in_today_s_words(keywords)):
            is_text = isinstance(value, StringImm) and name.startswith("memory.")
            if self.is_expression(value) and not is_text:
                layout.append((keyword, Argument(len(found))))
                found.append(self.arguments.leaf(value, node))
            else:
                layout.append((keyword, plain(value)))
        return Call(op, tuple(found), ForeignAttrs(tuple(layout)))

    def is_expression(self, value: object) -> bool:
        if isinstance(value, (tuple, list)):
            return any(self.is_expression(one) for one in value)
        return isinstance(value, EXPRESSIONS) and not isinstance(value, PrimValue)


def _in_order(
    form: Signature | None, args: Sequence[object], keywords: Mapping[str, object]
) -> list[tuple[str, object]]:
    """Return the arguments of a call with their keywords, "" for those without: by position as far
    as that goes.

    Of what is left out, only what stands between is filled in.
    """
    given = [("", arg) for arg in args]
    if form is None or form.star is not None or not keywords.keys() <= set(form.params):
        return [*given, *keywords.items()]
    named = {**dict(zip(form.params, args, strict=False)), **keywords}
    places = [name for name in form.params if name not in form.by_name]
    while places and places[-1] not in named:
        places.pop()
    if any(name not in named and form.default(name) is REQUIRED for name in places):
        return [*given, *keywords.items()]
    found = [("", named.get(name, form.default(name))) for name in places]
    return [*found, *((name, value) for name, value in named.items() if name in form.by_name)]


def _in_today_s_words(keywords: Mapping[str, object]) -> dict[str, object]:
    """Return ``keywords`` with today's names of the results' struct info, that of packed functions
    in a row.
    """
    named = {{"sinfo_args": "ty_args", "out_sinfo": "out_ty"}.get(name, name): v for name, v in keywords.items()}
    return {name: (v,) if name == "ty_args" and isinstance(v, StructInfo) else v for name, v in named.items()}
