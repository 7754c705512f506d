"""Functions of ``tvm.relay.ir_pass``, which TVM had before passes were objects."""

from __future__ import annotations

from relay2relax.compat.relay.comparing import structural_equal
from relay2relax.relay_ir import analysis, transform
from relay2relax.relay_ir.inference.infer import infer_type as infer_module
from relay2relax.relay_ir.ir.device import VirtualDevice
from relay2relax.relay_ir.ir.expr import Expr, Function
from relay2relax.relay_ir.ir.module import IRModule


def infer_type(expr: Expr, mod: IRModule | None = None) -> Expr:
    """Return an expression whose types are inferred."""
    main = infer_module(IRModule.from_expr(expr))["main"]
    return main if isinstance(expr, Function) else main.body


def alpha_equal(lhs: object, rhs: object) -> bool:
    """Whether two programs are built alike."""
    return structural_equal(lhs, rhs)


def free_vars(expr: Expr) -> list[object]:
    """Return the variables that nothing binds."""
    return list(analysis.free_vars(expr))


def well_formed(expr: Expr) -> bool:
    """Whether every variable is bound once, where it is in reach."""
    return bool(analysis.well_formed(expr))


def rewrite_annotated_ops(expr: Expr, fallback_device: int) -> Expr:
    """Return a program whose annotations of devices became copies between them.

    What is not annotated is computed on the device type ``fallback_device``, 0 for the processor.
    """
    device = VirtualDevice(fallback_device or 1, 0)
    main = transform.PlanDevices(device, device)(IRModule.from_expr(expr))["main"]
    return main if isinstance(expr, Function) else main.body
