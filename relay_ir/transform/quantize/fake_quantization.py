"""Integer programs of fake-quantised ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.passes import Pass
from relay2relax.core.walk import post_order
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.inference.infer import typed_module
from relay2relax.relay_ir.ir.expr import Call, Constant, Expr, Function, Op, Tuple, TupleGetItem, children
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import nodes, with_children
from relay2relax.relay_ir.ir.types import TensorType, Type
from relay2relax.relay_ir.transform.infrastructure import left_alone, map_functions
from relay2relax.relay_ir.transform.quantize.affine import (
    AffineType,
    AffineTypes,
    FakeQuantizationError,
    TensorAffineType,
    TupleAffineType,
)
from relay2relax.relay_ir.transform.quantize.fake_quantized_ops import rule_of

_QUANTIZE, _DEQUANTIZE = Op("qnn.quantize"), Op("qnn.dequantize")
# What a rule may raise to say that the call before it has no integer form.
_REFUSALS = (Relay2RelaxError, AssertionError, LookupError, NotImplementedError, TypeError, ValueError)
_NAMES = """
    broadcast_to clip expand_dims max maximum min minimum nn.avg_pool2d nn.batch_flatten nn.batch_matmul nn.bias_add
    nn.conv2d nn.conv2d_transpose nn.dense nn.depth_to_space nn.global_avg_pool2d nn.max_pool2d nn.pad nn.relu reshape
    split squeeze strided_slice transpose
"""
# What becomes of these on integers follows from their operands alone; only they are rewritten
# behind ``qnn.dequantize`` where no ``qnn.quantize`` follows.
_WITHOUT_QUANTIZE = frozenset(_NAMES.split())


@dataclass(frozen=True, slots=True)
class FakeQuantizationToInteger(Pass[IRModule]):
    """Compute regions between ``qnn.dequantize`` and ``qnn.quantize`` on integers.

    A region stays as it is where an operator of it has no rule; with ``hard_fail`` that raises
    FakeQuantizationError. ``optional_qnn_ops`` names operators whose optional rules are used.
    ``use_qat`` also rewrites operators whose operands are all dequantised but whose result is not
    quantised, and dequantises their results. ``register_fake_quantization_to_integer`` adds rules.
    """

    hard_fail: bool = False
    use_qat: bool = False
    optional_qnn_ops: Sequence[str] = ()
    opt_level: ClassVar[int] = 0

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with its fake-quantised regions on integers."""
        types = typed_module(mod).types
        return map_functions(mod, lambda one: one if left_alone(one) else self._function(one, types))

    def _function(self, root: Function, types: Mapping[Expr, Type]) -> Function:
        walk = _Regions(self, types)
        result = walk.rewrite(root, walk.quantize)
        if self.use_qat:
            behind = _Regions(self, walk.tensors)
            result = behind.rewrite(result, behind.without_quantize)
        assert isinstance(result, Function)
        return result


class _Regions:
    """One walk over a function."""

    def __init__(self, options: FakeQuantizationToInteger, types: Mapping[Expr, Type]) -> None:
        self.hard_fail = options.hard_fail
        self.optional = frozenset(options.optional_qnn_ops)
        # The types of old nodes, and of new ones that regions consist of.
        self.tensors = dict(types)
        # The new nodes of which a region can be made integers, up to and without the result.
        self.ready: set[Expr] = set()

    def rewrite(self, root: Expr, visit: Callable[[Call], Expr]) -> Expr:
        """Return ``root`` with ``visit`` applied to each call of an operator."""
        done: dict[Expr, Expr] = {}
        for node in nodes(root):
            made = with_children(node, [done[child] for child in children(node)])
            if made is not node and node in self.tensors:
                self.tensors[made] = self.tensors[node]
            if isinstance(made, Call) and isinstance(made.op, Op):
                made = visit(made)
            done[node] = made
            if self._is_ready(made):
                self.ready.add(made)
        return done[root]

    def _is_ready(self, node: Expr) -> bool:
        """Whether ``node`` may stand in a region: data flow from ``qnn.dequantize`` by operators
        that have rules.
        """
        match node:
            case Call(Op("qnn.dequantize")):
                return True
            case Call(Op(name)):
                return rule_of(name, self.optional) is not None and all(one in self.ready for one in _operands(node))
            case Tuple() | TupleGetItem():
                return all(one in self.ready for one in children(node))
        return isinstance(node, Constant)

    def quantize(self, call: Call) -> Expr:
        """Return what takes the place of ``call``, the end of a region where it quantises."""
        if call.op != _QUANTIZE:
            return call
        data, scale, zero_point = call.args
        if data not in self.ready:
            return self._refused(call)
        if any(isinstance(one, (Call, Tuple, TupleGetItem)) for one in (scale, zero_point)):
            # As in TVM, which takes what computes them for a part of the region.
            if self.hard_fail:
                raise FakeQuantizationError("the scale or the zero point of qnn.quantize is computed")
            return call
        types = AffineTypes(self.tensors, call)
        types[call] = TensorAffineType(scale, zero_point, call.attrs.out_dtype, call.attrs.axis)
        return self._made(call, types, types[call])

    def _refused(self, call: Call) -> Expr:
        """Return ``call``; raises FakeQuantizationError for operators without rules if asked to."""
        if self.hard_fail:
            region = list(_region(call.args[0]))
            if all(isinstance(one, (Call, Op, Tuple, TupleGetItem, Constant)) for one in region):
                found = {one.op.name for one in region if isinstance(one, Call) and isinstance(one.op, Op)}
                named = sorted(name for name in found if rule_of(name, self.optional) is None)
                raise FakeQuantizationError(f"no integer form is known of {', '.join(named)}")
        return call

    def _made(self, call: Call, types: AffineTypes, wanted: AffineType | None) -> Expr:
        try:
            made = self._integers(call, types, wanted)
        except _REFUSALS as refusal:
            if self.hard_fail:
                if isinstance(refusal, FakeQuantizationError):
                    raise
                raise FakeQuantizationError(str(refusal)) from refusal
            return call
        if wanted is None:
            result = types.tensor(made)
            made = op.qnn.dequantize(made, result.scale, result.zero_point, axis=result.axis)
            self.tensors[made] = self.tensors[call]
        return made

    def _integers(self, root: Call, types: AffineTypes, wanted: AffineType | None) -> Expr:
        """Return the region that ends in ``root`` on integers; ``types`` learns what they stand
        for.
        """
        done: dict[Expr, Expr] = {}
        for node in _region(root):
            if node in done:
                continue
            made = with_children(node, [done.get(child, child) for child in children(node)])
            if made is not node and node in self.tensors:
                self.tensors[made] = self.tensors[node]
            match made:
                case Call(Op(name)):
                    self._note_ends(made, types)
                    if wanted is not None and made.op != _DEQUANTIZE:
                        types[made] = wanted
                    rule = rule_of(name, self.optional)
                    assert rule is not None
                    result, stands = rule(made, types)
                    if made.op == _DEQUANTIZE and result in types and not _same(types[result], stands):
                        raise FakeQuantizationError("a tensor is dequantised in two ways")
                    types[result] = stands
                    self._note_type(result, self.tensors.get(node), types[result])
                    made = result
                case Tuple(fields):
                    types[made] = TupleAffineType(tuple(types.tensor(one) for one in fields))
                case TupleGetItem(value, index):
                    of = types[value]
                    if isinstance(of, TupleAffineType):
                        types[made] = of.types[index]
            done[node] = made
        return done[root]

    def _note_type(self, made: Expr, was: Type | None, stands: AffineType) -> None:
        """Note the type of ``made``, in whose place a tensor of type ``was`` stood."""
        if isinstance(was, TensorType) and isinstance(stands, TensorAffineType):
            self.tensors[made] = replace(was, dtype=stands.dtype)

    def _note_ends(self, call: Call, types: AffineTypes) -> None:
        """Note what the operand of ``qnn.dequantize`` stands for."""
        if call.op == _DEQUANTIZE:
            data, scale, zero_point = call.args
            given = self.tensors.get(data)
            if not isinstance(given, TensorType):
                raise FakeQuantizationError("the dtype of an operand is not known")
            types[call] = TensorAffineType(scale, zero_point, given.dtype, call.attrs.axis)

    def without_quantize(self, call: Call) -> Expr:
        """Return what takes the place of ``call``, whose operands may all be dequantised."""
        assert isinstance(call.op, Op)
        if call.op.name not in _WITHOUT_QUANTIZE:
            return call
        region = list(_region(call))
        calls = [one for one in region if isinstance(one, Call) and one is not call]
        flows = all(isinstance(one, (Call, Op, Tuple, TupleGetItem, Constant)) for one in region)
        if not calls or not flows:
            return call
        if any(one.op != _DEQUANTIZE for one in calls):
            if self.hard_fail:
                raise FakeQuantizationError(f"an operand of {call.op.name} is not dequantised")
            return call
        return self._made(call, AffineTypes(self.tensors, None), None)


def _same(left: AffineType, right: AffineType) -> bool:
    """Whether two tensors stand for reals in the same way."""
    match left, right:
        case TensorAffineType(), TensorAffineType():
            return left.same_as(right)
    return left is right


def _operands(call: Call) -> Sequence[Expr]:
    """Return what a region is followed through: of what quantises, the data alone."""
    return call.args[:1] if call.op == _QUANTIZE else call.args


def _region(end: Expr) -> Iterator[Expr]:
    """Yield what ``end`` is computed of, back to calls of ``qnn.dequantize``."""
    roots: tuple[Expr, ...] = (end,)
    return post_order(roots, _below)


def _below(node: Expr) -> Sequence[Expr]:
    if isinstance(node, Call):
        return () if node.op == _DEQUANTIZE else _operands(node)
    return tuple(children(node))
