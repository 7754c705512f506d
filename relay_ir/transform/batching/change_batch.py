"""Programs of another batch size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Union

from relay2relax.core.errors import UnsupportedError
from relay2relax.core.passes import Pass
from relay2relax.relay_ir.inference.infer import typed_module
from relay2relax.relay_ir.ir.expr import Expr, Function, Var
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import substitute
from relay2relax.relay_ir.ir.types import TensorType
from relay2relax.relay_ir.transform.infrastructure import map_functions
from relay2relax.tir.extent import Extent


@dataclass(frozen=True, slots=True)
class ChangeBatch(Pass[IRModule]):
    """Give parameters another extent along one axis.

    ``data`` maps parameters, or their names, to the axis of the batch; ``batch_size`` is the new
    extent. What follows from it is inferred; attributes that name extents stay.
    """

    data: Mapping[Union[Var, str], int]
    batch_size: int = 16
    opt_level: ClassVar[int] = 0

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with other parameters; infers types where ``mod`` has none.

        Raises UnsupportedError for a parameter that is not a tensor with such an axis.
        """
        types = typed_module(mod).types

        def change(function: Function) -> Function:
            made: dict[Expr, Var] = {}
            for param in function.params:
                axis = self.data.get(param, self.data.get(param.name))
                if axis is not None:
                    ty = types[param]
                    if not isinstance(ty, TensorType) or not -len(ty.shape) <= axis < len(ty.shape):
                        raise UnsupportedError(f"%{param.name} has no axis {axis} to be the batch: its type is {ty}")
                    made[param] = replace(param, type_annotation=with_extent(ty, axis, self.batch_size))
            if not made:
                return function
            params = tuple(made.get(param, param) for param in function.params)
            return replace(function, params=params, body=substitute(function.body, dict(made)), ret_type=None)

        return map_functions(mod, change)


def with_extent(ty: TensorType, axis: int, extent: Extent) -> TensorType:
    """Return ``ty`` with another extent along ``axis``."""
    shape = list(ty.shape)
    shape[axis] = extent
    return TensorType(tuple(shape), ty.dtype)
