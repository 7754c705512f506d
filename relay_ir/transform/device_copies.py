"""Copies between devices, where annotations say that they are needed, as TVM 0.5 put them in."""

from __future__ import annotations

from typing import cast

from relay2relax.ops.target.annotation import DeviceCopyAttrs, OnDeviceAttrs
from relay2relax.relay_ir.ir.device import VirtualDevice
from relay2relax.relay_ir.ir.expr import Call, Expr, Function, If, Let, Op, Tuple, TupleGetItem, children
from relay2relax.relay_ir.ir.rewrite import nodes, with_children


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
