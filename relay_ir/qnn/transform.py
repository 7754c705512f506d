"""The passes of ``tvm.relay.qnn.transform``; ``relay_ir.transform`` has them under longer names."""

from __future__ import annotations

from typing import Any

from relay2relax.relay_ir.transform.layout.op_attrs import Function, register_op_attr
from relay2relax.relay_ir.transform.qnn.canonicalize import CANONICALIZE, QnnCanonicalize
from relay2relax.relay_ir.transform.qnn.legalize import LEGALIZE, QnnLegalize

CanonicalizeOps = QnnCanonicalize
Legalize = QnnLegalize

__all__ = ["CanonicalizeOps", "Legalize", "register_qnn_canonicalize", "register_qnn_legalize"]


def register_qnn_legalize(op_name: str, legal_op: Function | None = None) -> Any:
    """Register ``legal_op(attrs, args, types)`` for ``Legalize``; the last type is the result's.

    It returns the expression that takes the place of the call, or None where that stays.
    """
    return register_op_attr(op_name, LEGALIZE, legal_op)


def register_qnn_canonicalize(op_name: str, legal_op: Function | None = None) -> Any:
    """Register ``legal_op(attrs, args, types)`` for ``CanonicalizeOps``, as above."""
    return register_op_attr(op_name, CANONICALIZE, legal_op)
