"""Functions of ``tvm.relay.ir_pass``, which TVM had before passes were objects."""

from __future__ import annotations

from typing import cast

from relay2relax.compat.relay.comparing import structural_equal
from relay2relax.ops.target.annotation import DeviceCopyAttrs, OnDeviceAttrs
from relay2relax.relay_ir import analysis
from relay2relax.relay_ir.inference.infer import infer_type as infer_module
from relay2relax.relay_ir.ir.device import VirtualDevice
from relay2relax.relay_ir.ir.expr import Call, Expr, Function, If, Let, Op, Tuple, TupleGetItem, children
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import nodes, with_children


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

    What is not annotated is computed on the device type ``fallback_device``. A value is copied
    where it is used on another device; variables and constants are where they are needed.
    """
    fallback = VirtualDevice(fallback_device, 0)
    places: dict[Expr, VirtualDevice] = {}
    for node in nodes(expr):
        if isinstance(node, Call) and node.op == _ON_DEVICE:
            places[node] = places[node.args[0]] = cast(VirtualDevice, cast(OnDeviceAttrs, node.attrs).virtual_device)
        elif isinstance(node, TupleGetItem) and node.tuple_value in places:
            places[node] = places[node.tuple_value]
    made: dict[Expr, Expr] = {}
    for node in nodes(expr):
        if isinstance(node, Call) and node.op == _ON_DEVICE:
            made[node] = made[node.args[0]]
            continue
        here = places.get(node, fallback)
        given = []
        for part in children(node):
            there = places.get(part, fallback)
            moved = there != here and isinstance(node, _USERS) and isinstance(part, _COPIED)
            copied = DeviceCopyAttrs(there, here)
            given.append(Call(Op("device_copy"), (made[part],), copied) if moved else made[part])
        made[node] = with_children(node, given)
    return made[expr]


_ON_DEVICE = Op("on_device")
_USERS = (Call, Tuple, TupleGetItem, Let, If)
_COPIED = (Call, Function, Tuple, TupleGetItem, Let, If)
