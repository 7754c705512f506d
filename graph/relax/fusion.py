"""What fused nodes become in Relax: operators, functions or their parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import translating
from relay2relax.graph.relax.partitions import Mark
from relay2relax.relax_ir.ir import symbols
from relay2relax.relax_ir.ir.expr import Expr, Function, SeqExpr, Var
from relay2relax.relax_ir.ir.struct_info import StructInfo, TensorStructInfo, TupleStructInfo
from relay2relax.relax_ir.transform.copy_with_new_vars import copy_with_new_vars
from relay2relax.tir.extent import Extent
from relay2relax.tir.ir.expr import Var as PrimVar

# What the pattern says (R.nn.gelu, R.matmul); that as a function with ``Composite``, as TVM's
# FuseOpsByPattern makes it; or what the parts become.
Fused: TypeAlias = Literal["operators", "functions", "parts"]
_FORMS: tuple[Fused, ...] = ("operators", "functions", "parts")


def check_fused(form: str) -> None:
    """Raise UnsupportedError for a word that is no form of fused nodes."""
    if form not in _FORMS:
        known = ", ".join(map(repr, _FORMS))
        raise UnsupportedError(mistake(translating.CHOICE, what="form of fused nodes", name=repr(form), known=known))


def parameters(infos: Mapping[str, StructInfo]) -> list[Var]:
    """Return parameters by their names; extents that none of them says alone get a name."""
    defined = symbols.defined(infos.values())
    names: dict[Extent, PrimVar] = {}

    def extent(one: Extent) -> Extent:
        if set(symbols.variables(one)) <= defined:
            return one
        return names.setdefault(one, PrimVar("n", "int64"))

    def named(info: StructInfo) -> StructInfo:
        match info:
            case TensorStructInfo(shape, dtype) if shape is not None:
                return TensorStructInfo(tuple(map(extent, shape)), dtype)
            case TupleStructInfo(fields):
                return TupleStructInfo(tuple(map(named, fields)))
        return info

    return [Var(name, named(info)) for name, info in infos.items()]


def composite(pattern: str, params: Sequence[Var], body: SeqExpr, info_of: Callable[[Expr], StructInfo]) -> Function:
    """Return the private function that stands for a node that ``pattern`` has fused."""
    ret = symbols.erase(info_of(body.body), symbols.defined(param.info for param in params))
    attrs = Mark("", pattern).attrs()
    return copy_with_new_vars(Function(tuple(params), body, ret, attrs, private=True))
