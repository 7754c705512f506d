"""Programs that run for several extents of their inputs, each by a function of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Optional

from relay2relax.core.errors import UnsupportedError
from relay2relax.core.passes import Pass
from relay2relax.ops.registry.table import relay_op
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.inference.infer import infer_type
from relay2relax.relay_ir.ir.expr import Call, Expr, Function, GlobalVar, If, Op, Tuple, TupleGetItem, Var, const
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.types import TensorType, TupleType, Type
from relay2relax.relay_ir.transform.batching.change_batch import with_extent
from relay2relax.relay_ir.transform.infrastructure import declared
from relay2relax.relay_ir.transform.inline import fresh_copy
from relay2relax.tir.extent import ANY, Extent


@dataclass(frozen=True, slots=True)
class FlexibleShapeDispatch(Pass[IRModule]):
    """Let ``@main`` take any extent along ``axis`` of the inputs ``input_indices`` (the first).

    It calls a copy of itself for each extent of ``buckets``, ``@main_EXTENT``, and one of unknown
    extents, ``@main_any``, for all others. With ``auto_pad`` inputs of extents between are padded
    with ``pad_value`` to the next bucket, and results cut again. ``affects_output`` says whether
    results have the extent, too, along the same axis.
    """

    buckets: Sequence[int]
    axis: int = 0
    auto_pad: bool = False
    pad_value: float = 0
    input_indices: Optional[Sequence[int]] = None
    affects_output: bool = True
    opt_level: ClassVar[int] = 0

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod``, typed, with a new ``@main``; infers types where ``mod`` has none.

        Raises UnsupportedError for an input that there is not or that has no such axis, and
        TypeInferenceError where a copy is ill-typed: attributes that name extents are not changed.
        """
        mod = declared(infer_type(mod))
        main, var = mod["main"], mod.get_global_var("main")
        inputs = self._inputs(main)
        params = [replace(one) for one in main.params]
        for place, ty in inputs.items():
            params[place] = replace(params[place], type_annotation=with_extent(ty, self.axis, ANY))
        first = min(inputs)
        extent: Expr = op.take(op.shape_of(params[first]), const(self.axis))
        others = GlobalVar("main_any")
        body: Expr = Call(others, tuple(params))
        functions = {others: self._copy(main, inputs, ANY)}
        for index, bucket in enumerate(self.buckets):
            callee = GlobalVar(f"main_{bucket}")
            functions[callee] = self._copy(main, inputs, bucket)
            body = self._dispatch(callee, index, params, inputs, extent, main.ret_type, body)
        new_main = replace(main, params=tuple(params), body=body, ret_type=self._result(main.ret_type, ANY))
        return infer_type(replace(mod, functions={**mod.functions, **functions, var: new_main}, types={}))

    def _inputs(self, main: Function) -> dict[int, TensorType]:
        """Return the types of the inputs whose extent is free, by their places."""
        found: dict[int, TensorType] = {}
        for place in (0,) if self.input_indices is None else self.input_indices:
            if not 0 <= place < len(main.params):
                raise UnsupportedError(f"@main has {len(main.params)} inputs, and none at {place}")
            ty = main.params[place].type_annotation
            if not isinstance(ty, TensorType) or not 0 <= self.axis < len(ty.shape):
                raise UnsupportedError(f"%{main.params[place].name} has no axis {self.axis}: its type is {ty}")
            found[place] = ty
        return found

    def _copy(self, main: Function, inputs: dict[int, TensorType], extent: Extent) -> Function:
        """Return ``main`` for inputs of one extent."""
        params = [replace(one) for one in main.params]
        for place, ty in inputs.items():
            params[place] = replace(params[place], type_annotation=with_extent(ty, self.axis, extent))
        body = fresh_copy(main.body, dict(zip(main.params, params, strict=True)))
        return replace(main, params=tuple(params), body=body, ret_type=self._result(main.ret_type, extent))

    def _result(self, ty: Type | None, extent: Extent) -> Type | None:
        """Return the type of the result for inputs of one extent."""
        match ty:
            case TensorType() if self.affects_output:
                return with_extent(ty, self.axis, extent)
            case TupleType(fields) if self.affects_output:
                return TupleType(tuple(self._result(one, extent) or one for one in fields))
        return ty

    def _dispatch(
        self,
        callee: GlobalVar,
        index: int,
        params: Sequence[Var],
        inputs: dict[int, TensorType],
        extent: Expr,
        result: Type | None,
        otherwise: Expr,
    ) -> Expr:
        """Return the call of ``callee`` where the extent is its bucket, else ``otherwise``."""
        bucket = self.buckets[index]
        given: dict[int, Expr] = {place: params[place] for place in inputs}
        found = extent
        if self.auto_pad:
            given = {place: self._padded(params[place], index, len(ty.shape), extent) for place, ty in inputs.items()}
            found = op.take(op.shape_of(given[min(inputs)]), const(self.axis))
        args: list[Expr] = list(params)
        for place, ty in inputs.items():
            # The reshape makes the type static.
            args[place] = op.reshape(given[place], with_extent(ty, self.axis, bucket).shape)
        call: Expr = Call(callee, tuple(args))
        if self.auto_pad and self.affects_output:
            call = self._cut(call, result, extent)
        return If(op.equal(found, const(bucket)), call, otherwise)

    def _padded(self, data: Var, index: int, rank: int, extent: Expr) -> Expr:
        """Return ``data`` padded to a bucket where no smaller one holds it."""
        bucket = self.buckets[index]
        amounts = op.scatter_nd(op.zeros([rank, 2], "int32"), const([self.axis, 1]), op.subtract(const(bucket), extent))
        assert isinstance(data.type_annotation, TensorType)
        record = relay_op("dyn.nn.pad")
        assert record is not None
        value = const(self.pad_value, data.type_annotation.dtype)
        padded = Call(Op(record.name), (data, amounts, value), record.attrs(pad_width=()))
        fits = op.less_equal(extent, const(bucket))
        if index > 0:
            fits = op.logical_and(fits, op.greater(extent, const(self.buckets[index - 1])))
        return If(fits, padded, data)

    def _cut(self, value: Expr, ty: Type | None, extent: Expr) -> Expr:
        """Return the results without what belongs to padding."""
        if isinstance(ty, TupleType):
            return Tuple(tuple(self._cut(TupleGetItem(value, i), one, extent) for i, one in enumerate(ty.fields)))
        rows = op.arange(const(0), extent, const(1), dtype="int32")
        kept: Expr = op.take(value, rows, axis=self.axis)
        return kept
