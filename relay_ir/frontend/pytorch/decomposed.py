"""Operators of TorchScript that have no record: PyTorch takes them apart into some that have."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

from relay2relax.core.dtype import of_array
from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import frontends
from relay2relax.relay_ir.frontend.pytorch.context import Conversion, Value
from relay2relax.relay_ir.frontend.pytorch.dtypes import BY_NUMBER
from relay2relax.relay_ir.frontend.pytorch.exported import ExportedImporter, decompositions, missing_operators
from relay2relax.relay_ir.frontend.pytorch.torchscript import Node, library
from relay2relax.relay_ir.ir.expr import Expr, RelayExpr, const
from relay2relax.relay_ir.ir.rewrite import substitute


@dataclass(eq=False)
class _Parts(ExportedImporter):
    """The parts of one operator, which all have its span."""

    name: str = ""

    def _name(self, node: Any) -> str:
        return self.name


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
    plain = slots[: len(slots) - len(keywords)]

    def run(*tensors: Any) -> Any:
        return operator(
            *_filled(plain, tensors), **dict(zip(keywords, _filled(keywords.values(), tensors), strict=True))
        )

    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            from torch.fx.experimental.proxy_tensor import make_fx

            shapes = [torch.empty(at.shape(one), dtype=getattr(torch, at.dtype(one)), device="meta") for one in exprs]
            graph = make_fx(run, decomposition_table=dict(decompositions()), tracing_mode="fake")(*shapes)
            graph = make_fx(torch.func.functionalize(graph), tracing_mode="fake")(*shapes)
    except Exception as error:
        said = (str(error).strip().splitlines() or [type(error).__name__])[0]
        where, problem = f"{at.span.source_name} ({at.kind})", f"PyTorch does not take it apart: {said[:200]}"
        raise UnsupportedError(mistake(frontends.FORM, node=where, problem=problem)) from error
    lacking = sorted(missing_operators(graph, {}))
    if lacking:
        at.refuse(f"it has no record, and is made of others that have none: {', '.join(lacking)}")
    parts = _Parts({}, False, types=at.types, notes=at.notes, name=at.span.source_name)
    found = parts.subgraph(graph, exprs)
    return _result(parts, found)


def _result(parts: _Parts, found: Sequence[Value]) -> Value:
    """Return results, in which what PyTorch made beforehand is a constant."""
    constants = [const(one, of_array(one)) for one in parts.arrays.values()]
    held: dict[Expr, Expr] = dict(zip(parts.weights.values(), constants, strict=True))
    made = [substitute(one, held) if held and isinstance(one, RelayExpr) else one for one in found]
    return made[0] if len(made) == 1 else tuple(made)


@dataclass(frozen=True, slots=True)
class _Tensor:
    """The place of a tensor among those that are given."""

    place: int


def _argument(at: Conversion, stated: Any, value: Value, exprs: list[Expr]) -> Any:
    """Return an argument as PyTorch takes it; tensors are noted in ``exprs``."""
    torch = library()
    kind = str(stated.type)
    if isinstance(value, RelayExpr):
        if "Tensor" not in kind:
            return at.with_args([value]).number(0)
        exprs.append(value)
        return _Tensor(len(exprs) - 1)
    if isinstance(value, (list, tuple)):
        return [_argument(at, stated, one, exprs) for one in value]
    if "Tensor" in kind and isinstance(value, (bool, int, float)):
        return _argument(at, stated, at.with_args([value]).tensor(0), exprs)
    real = str(getattr(stated, "real_type", stated.type))
    if "ScalarType" in real and isinstance(value, int):
        return getattr(torch, BY_NUMBER[value])
    return value


def _filled(slots: Any, tensors: Sequence[Any]) -> list[Any]:
    def one(slot: Any) -> Any:
        if isinstance(slot, _Tensor):
            return tensors[slot.place]
        return [one(part) for part in slot] if isinstance(slot, list) else slot

    return [one(slot) for slot in cast("Sequence[Any]", slots)]
