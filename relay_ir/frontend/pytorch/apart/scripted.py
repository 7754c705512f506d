"""Operators of TorchScript that have no record: PyTorch takes them apart into some that have."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from relay2relax.core.errors import UnsupportedError
from relay2relax.relay_ir.frontend.pytorch.apart.programs import missing_operators
from relay2relax.relay_ir.frontend.pytorch.apart.single import Request, Slot, decompositions, graph_of
from relay2relax.relay_ir.frontend.pytorch.context import Conversion, Value
from relay2relax.relay_ir.frontend.pytorch.dtypes import BY_NUMBER
from relay2relax.relay_ir.frontend.pytorch.exported import ExportedImporter
from relay2relax.relay_ir.frontend.pytorch.torchscript import Node, library
from relay2relax.relay_ir.ir.expr import Expr, RelayExpr


@lru_cache(maxsize=None)
def is_taken_apart(kind: str) -> bool:
    """Whether PyTorch makes others of an operator (``aten::std``), in some overload."""
    torch = library()
    space, _, name = kind.partition("::")
    packet = getattr(getattr(torch.ops, space), name.removesuffix("_"), None)
    if space != "aten" or packet is None:
        return False
    table = decompositions()
    key = torch._C.DispatchKey.CompositeImplicitAutograd
    overloads = [getattr(packet, one) for one in packet.overloads()]
    return any(one in table or torch._C._dispatch_has_kernel_for_dispatch_key(one.name(), key) for one in overloads)


def decomposed(node: Node, at: Conversion) -> Value:
    """Return what a node gives, made of the operators that PyTorch takes it apart into.

    Raises UnsupportedError where one of them has no record.
    """
    torch = library()
    schema = torch._C.parse_schema(node.native.schema())
    operator = getattr(getattr(torch.ops.aten, schema.name.removeprefix("aten::")), schema.overload_name or "default")
    exprs: list[Expr] = []
    slots = [_argument(at, one, value, exprs) for one, value in zip(schema.arguments, at.args, strict=False)]
    keywords = {one.name: slot for one, slot in zip(schema.arguments, slots, strict=False) if one.kwarg_only}
    shapes = [(at.shape(one), getattr(torch, at.dtype(one))) for one in exprs]
    try:
        graph = graph_of(Request.of(operator, slots[: len(slots) - len(keywords)], keywords, shapes))
    except UnsupportedError as error:
        at.refuse(f"PyTorch does not take it apart: {error.diagnostics[0].title}")
    lacking = sorted(missing_operators(graph, ()))
    if lacking:
        at.refuse(f"it has no record, and is made of others that have none: {', '.join(lacking)}")
    return ExportedImporter({}, False, types=at.types, notes=at.notes).parts(graph, exprs, at)


def _argument(at: Conversion, stated: Any, value: Value, exprs: list[Expr]) -> Any:
    """Return an argument as PyTorch takes it; tensors are noted in ``exprs``."""
    torch = library()
    kind = str(stated.type)
    if isinstance(value, RelayExpr):
        if "Tensor" not in kind:
            return at.with_args([value]).number(0)
        exprs.append(value)
        return Slot(len(exprs) - 1)
    if isinstance(value, (list, tuple)):
        return [_argument(at, stated, one, exprs) for one in value]
    if "Tensor" in kind and isinstance(value, (bool, int, float)):
        return _argument(at, stated, at.with_args([value]).tensor(0), exprs)
    real = str(getattr(stated, "real_type", stated.type))
    if "ScalarType" in real and isinstance(value, int):
        return getattr(torch, BY_NUMBER[value])
    return value
