"""Annotations as functions, with TVM's names and defaults."""

from __future__ import annotations

from relay2relax.core.source import Span
from relay2relax.ops.target.annotation import OnDeviceAttrs
from relay2relax.relay_ir.ir.device import VirtualDevice
from relay2relax.relay_ir.ir.expr import Call, Constructor, Expr, Function, GlobalVar, Op, Var


def on_device(
    body: Expr,
    device: VirtualDevice,
    constrain_result: bool = False,
    constrain_body: bool = True,
    span: Span | None = None,
) -> Call:
    """Return ``body`` with the statement that it is computed on ``device``.

    ``constrain_result``  the result stays on the device, instead of being copied to where it is
        used.
    ``constrain_body``  the body is computed there; False to say something of the result only.
    """
    return Call(Op("on_device"), (body,), OnDeviceAttrs(device, constrain_result, constrain_body), (), span)


def marked(expr: Expr, device: VirtualDevice) -> Expr:
    """Return ``expr`` with its device written down: computed there, and staying there.

    Names and functions, which say it themselves, and what is marked already are returned as they
    are.
    """
    if isinstance(expr, (Var, GlobalVar, Op, Constructor, Function)):
        return expr
    if isinstance(expr, Call) and expr.op == Op("on_device"):
        return expr
    return on_device(expr, device, constrain_result=True, span=expr.span)


def marked_body(expr: Expr) -> tuple[Expr, VirtualDevice] | None:
    """Return body and device of what :func:`marked` made, None for any other expression."""
    match expr:
        case Call(Op("on_device"), (body,), attrs) if attrs.constrain_result and attrs.constrain_body:
            return body, attrs.virtual_device
    return None
