"""Programs that compute in lower precision where that is safe."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from relay2relax.core.dtype import is_float
from relay2relax.core.errors import UnsupportedError
from relay2relax.core.passes import Pass, PassContext, note_rewritten
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.inference.type_table import TypeTable
from relay2relax.relay_ir.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    If,
    Let,
    Match,
    Op,
    RefCreate,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
    children,
)
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import nodes, with_children
from relay2relax.relay_ir.ir.types import TensorType, TupleType, Type, floats_as
from relay2relax.relay_ir.transform.infrastructure import declared, left_alone, map_functions
from relay2relax.relay_ir.transform.precision.conversions import (
    MIXED_PRECISION_ALWAYS,
    MIXED_PRECISION_FOLLOW,
    Conversion,
    conversion_of,
)

KEEP = "relay.ToMixedPrecision.keep_orig_output_dtype"
# The largest number of each dtype, for the bounds of clip.
_LARGEST = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38}
# Operators whose attributes say in which dtype they add up.
_ADDING = ("nn.batch_matmul", "nn.contrib_conv", "nn.conv", "nn.deformable_conv2d", "nn.dense")
_FILLING = frozenset({"dyn.full", "dyn.ones", "dyn.zeros", "full", "ones", "zeros"})


@dataclass(frozen=True, slots=True)
class ToMixedPrecision(Pass[IRModule]):
    """Compute in ``mixed_precision_type`` where operators gain by it, in float32 where they must.

    Each operator has a category (``register_mixed_precision_conversion``): convolutions and matrix
    products always compute in lower precision, sums and exponentials never, and most others where
    their operands do. Operators without one follow their operands; ``missing_op_mode`` says what
    else happens then: 0 raises UnsupportedError, 1 warns, 2 is silent. Parameters keep their
    dtypes. The result may change its own, unless the option
    ``relay.ToMixedPrecision.keep_orig_output_dtype`` of the context holds.

    Calls of functions by name, cells and arms of branches keep the dtypes they had.
    """

    mixed_precision_type: str = "float16"
    missing_op_mode: int = 1
    opt_level: ClassVar[int] = 0

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` in mixed precision; infers types where ``mod`` has none.

        Raises UnsupportedError for a type that is not of floats, and for a mode that there is not.
        """
        if not is_float(self.mixed_precision_type):
            raise UnsupportedError(f"mixed precision is of floats, not of {self.mixed_precision_type}")
        if self.missing_op_mode not in (0, 1, 2):
            raise UnsupportedError(f"missing_op_mode is 0, 1 or 2, not {self.missing_op_mode}")
        mod = declared(mod)
        types, missing = TypeTable.inferred(mod), Counter[str]()
        named = {node for one in mod.functions.values() for node in nodes(one)} & set(mod.functions)
        kept = {mod.functions[var] for var in mod.functions if var in named}
        keep = bool(PassContext.current().config.get(KEEP, False))

        def change(function: Function) -> Function:
            if left_alone(function):
                return function
            walk = _Precision(self.mixed_precision_type, types, missing)
            return walk.run(function, keep or function in kept)

        made = map_functions(mod, change)
        self._report(missing)
        return made

    def _report(self, missing: Counter[str]) -> None:
        if not missing or self.missing_op_mode == 2:
            return
        found = ", ".join(f"{name} ({count})" for name, count in sorted(missing.items()))
        message = f"no precision is registered of these operators, they follow their operands: {found}"
        if self.missing_op_mode == 0:
            raise UnsupportedError(message)
        warnings.warn(message, stacklevel=3)


class _Precision:
    """One walk over a function of the module."""

    def __init__(self, dtype: str, types: TypeTable, missing: Counter[str]) -> None:
        self.dtype, self.types, self.missing = dtype, types, missing
        self.done: dict[Expr, Expr] = {}
        # Casts that there are already, and the values that casts are of.
        self.casts: dict[tuple[Expr, str], Expr] = {}
        # Function literals that something else than a call of them uses.
        self.values: set[Expr] = set()

    def run(self, root: Function, keep: bool) -> Function:
        """Return ``root`` in mixed precision; with ``keep`` its result has the dtype it had."""
        order = [node for node in nodes(root) if node is not root]
        bound = {node.var: node.value for node in order if isinstance(node, Let)}
        for node in order:
            self.values.update(node.args if isinstance(node, Call) else children(node))
            if isinstance(node, Function):
                self.done.update((param, self._typed(param, self.types.of(param))) for param in node.params)
        for node in order:
            if isinstance(node, Var) and bound.get(node) in self.done:
                self.done[node] = self._typed(node, self.types.of(self.done[bound[node]]))
            elif node not in self.done:
                self.done[node] = self._visit(node)
        note_rewritten(self.done)
        body = self._restored(self.done[root.body], root.body) if keep else self.done[root.body]
        return root if body is root.body else replace(root, body=body, ret_type=self.types.of(body))

    def _typed(self, var: Var, ty: Type | None) -> Var:
        """Return the variable that stands for ``var`` where its type becomes ``ty``."""
        if ty is None or (ty == self.types.of(var) and var.type_annotation is not None):
            return var
        return replace(var, type_annotation=ty)

    def _stands_for(self, var: Var) -> Var | None:
        found = self.done.get(var)
        return found if isinstance(found, Var) else None

    def _visit(self, node: Expr) -> Expr:
        parts = [self.done[child] for child in children(node)]
        match node:
            case Call(Op()):
                return self._operator(node, parts[1:])
            case Call(Function()):
                # As in TVM, a literal is given float32, and its result follows from its body.
                return with_children(node, [parts[0], *(self._cast(arg, "float32") for arg in parts[1:])])
            case Call():
                given = [self._restored(new, old) for new, old in zip(parts[1:], node.args, strict=True)]
                return with_children(node, [parts[0], *given])
            case Let():
                made = with_children(node, parts)
                assert isinstance(made, Let)
                var = self._stands_for(node.var) or self._typed(node.var, self.types.of(made.value))
                return made if var is node.var else replace(made, var=var)
            case If() | Match():
                arms = self._alike(children(node)[1:], parts[1:])
                return with_children(node, [self._restored(parts[0], children(node)[0]), *arms])
            case RefCreate(value):
                return with_children(node, [self._restored(parts[0], value)])
            case RefWrite(_, value):
                return with_children(node, [parts[0], self._restored(parts[1], value)])
            case Function(params, body):
                made_body = self._restored(parts[0], body) if node in self.values else parts[0]
                given_params = tuple(self._stands_for(param) or param for param in params)
                if made_body is body and all(new is old for new, old in zip(given_params, params, strict=True)):
                    return node
                ret_type = None if node.ret_type is None else self.types.of(made_body)
                return replace(node, params=given_params, body=made_body, ret_type=ret_type)
        return with_children(node, parts)

    def _operator(self, call: Call, args: Sequence[Expr]) -> Expr:
        assert isinstance(call.op, Op)
        conversion = conversion_of(call, self.dtype)
        if conversion is None:
            self.missing[call.op.name] += 1
            conversion = Conversion(MIXED_PRECISION_FOLLOW, self.dtype, self.dtype)
        lower = conversion.category == MIXED_PRECISION_ALWAYS or (
            conversion.category == MIXED_PRECISION_FOLLOW
            and all(isinstance(arg, (Var, Constant)) or self._is_lower(self.types.of(arg)) for arg in args)
        )
        if call.op.name == "clip":
            largest = _LARGEST.get(self.dtype, np.inf)
            lower = lower and call.attrs.a_min >= -largest and call.attrs.a_max <= largest
        if lower:
            made = self._given(call, args, self.dtype)
            attrs = _with_dtype(call.op.name, made.attrs, conversion.accumulation)
            made = made if attrs is made.attrs else replace(made, attrs=attrs)
            # Scales of quantised operators are float32; TVM makes calls of others, ill-typed ones.
            if self.types.of(made) is not None or any(self.types.of(arg) is None for arg in args):
                return made if conversion.accumulation == conversion.output else self._cast(made, conversion.output)
        return self._given(call, args, "float32")

    def _given(self, call: Call, args: Sequence[Expr], dtype: str) -> Call:
        """Return ``call`` of ``args``, with all floats in them as ``dtype``."""
        assert isinstance(call.op, Op)
        made = with_children(call, [call.op, *(self._cast(arg, dtype) for arg in args)])
        assert isinstance(made, Call)
        return made

    def _is_lower(self, ty: Type | None) -> bool:
        """Whether all floats of a value are of the lower precision."""
        match ty:
            case TensorType(dtype=dtype):
                return not is_float(dtype) or dtype == self.dtype
            case TupleType(fields):
                return all(map(self._is_lower, fields))
        return True

    def _alike(self, old: Sequence[Expr], new: Sequence[Expr]) -> Sequence[Expr]:
        """Return the arms of a branch in one dtype: in that which they had, where they differ."""
        first = self.types.of(new[0]) if new else None
        if all(self.types.of(one) == first for one in new):
            return new
        return [self._restored(made, was) for made, was in zip(new, old, strict=True)]

    def _restored(self, made: Expr, old: Expr) -> Expr:
        """Return ``made``, which stands for ``old``, in the dtypes that ``old`` has."""
        return self._converted(made, self.types.of(made), self.types.of(old))

    def _cast(self, expr: Expr, dtype: str) -> Expr:
        """Return ``expr`` with all floats in it as ``dtype``."""
        ty = self.types.of(expr)
        return self._converted(expr, ty, floats_as(ty, dtype))

    def _converted(self, expr: Expr, ty: Type | None, wanted: Type | None) -> Expr:
        match ty, wanted:
            case TensorType(dtype=dtype), TensorType(dtype=asked) if is_float(dtype) and dtype != asked:
                if (expr, asked) not in self.casts:
                    made = op.cast(expr, asked)
                    self.casts[expr, asked] = made
                    self.casts[made, dtype] = expr
                return self.casts[expr, asked]
            case TupleType(fields), TupleType(asked) if ty != wanted:
                parts = expr.fields if isinstance(expr, Tuple) else [TupleGetItem(expr, i) for i in range(len(fields))]
                return Tuple(tuple(map(self._converted, parts, fields, asked)))
        return expr


def _with_dtype(name: str, attrs: Any, dtype: str) -> Any:
    """Return attributes that say in which dtype an operator adds up, or fills, with ``dtype``."""
    if name.startswith(_ADDING) and (attrs.out_dtype == "" or is_float(attrs.out_dtype)):
        return replace(attrs, out_dtype=dtype)
    if name in _FILLING and (attrs.dtype == "" or is_float(attrs.dtype)):
        return replace(attrs, dtype=dtype)
    return attrs
