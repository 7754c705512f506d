"""Annotations around what is meant for an external compiler."""

from __future__ import annotations

from relay2relax.ops.target.annotation import CompilerAttrs
from relay2relax.relay_ir.ir.expr import Call, Expr, Op

BEGIN, END = "annotation.compiler_begin", "annotation.compiler_end"


def annotation(node: Expr) -> str:
    """Return the name of the annotation that ``node`` is, or nothing."""
    if isinstance(node, Call) and isinstance(node.op, Op) and node.op.name in (BEGIN, END):
        return node.op.name
    return ""


def compiler(node: Expr) -> str:
    """Return the compiler that an annotation names."""
    assert isinstance(node, Call)
    assert isinstance(node.attrs, CompilerAttrs)
    return node.attrs.compiler


def operand(node: Expr) -> Expr:
    """Return what an annotation is put around."""
    assert isinstance(node, Call)
    return node.args[0]


def annotated(name: str, node: Expr, target: str) -> Expr:
    """Return ``node`` in the annotation ``name`` for the compiler ``target``."""
    return Call(Op(name), (node,), CompilerAttrs(target))
