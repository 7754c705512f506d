"""The walk that ``ConvertLayout`` and ``AlterOpLayout`` share.

A value whose producer was changed keeps both layouts: the one that the program had, and the new
one. An operator that can follow is changed likewise. Where none can, ``layout_transform``
restores the old layout.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, Union

from relay2relax.core.passes import note_rewritten
from relay2relax.ops.common.layout import Layout
from relay2relax.ops.common.layout_rules import Laid, MaybeLayout, of_axes, outer_rank
from relay2relax.ops.registry.table import relay_op
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.ir.expr import Call, Expr, Function, Op, Tuple, TupleGetItem, children
from relay2relax.relay_ir.ir.rewrite import nodes, with_children
from relay2relax.relay_ir.ir.types import TensorType, TupleType, Type
from relay2relax.relay_ir.transform.layout.op_attrs import ALTER, op_attr
from relay2relax.tir.extent import static


@dataclass(frozen=True, slots=True, eq=False)
class Moved:
    """``value`` is in layout ``new``, where the program has it in layout ``old``."""

    value: Expr
    old: Layout | None
    new: Layout | None


# What a node became: an expression, a value in another layout, or the fields of a tuple.
State: TypeAlias = "Union[Expr, Moved, tuple[State, ...]]"
# (the call as it was, its attributes for the layouts before, its new arguments) -> the call wanted
Change: TypeAlias = Callable[[Call, Any, tuple[Expr, ...]], Call]


def rewrite_layouts(root: Function, types: Mapping[Expr, Type], change: Change) -> Function:
    """Return ``root`` with each call of an operator changed by ``change``, and layouts repaired."""
    result = _Walk(types, change).rewrite(root)
    assert isinstance(result, Function)
    return result


class _Walk:
    """One function: what its nodes became."""

    def __init__(self, types: Mapping[Expr, Type], change: Change) -> None:
        self.types = types
        self.change = change
        self.states: dict[Expr, State] = {}
        self.transforms: dict[tuple[Expr, str, str], Expr] = {}
        self.tuples: dict[int, Expr] = {}

    def rewrite(self, root: Function) -> Expr:
        for node in nodes(root):
            self.states[node] = self.visit(node)
        note_rewritten({node: state for node, state in self.states.items() if not isinstance(state, (Moved, tuple))})
        return self.realized(root)

    def visit(self, node: Expr) -> State:
        match node:
            case Tuple(fields):
                return tuple(self.states[one] for one in fields)
            case TupleGetItem(value, index):
                state = self.states[value]
                if isinstance(state, tuple) and index < len(state):
                    return state[index]
            case Call(Op()):
                made = self.call(node)
                if made is not None:
                    return made
        return with_children(node, [self.realized(child) for child in children(node)])

    def realized(self, node: Expr) -> Expr:
        """Return what ``node`` became in the layout that the program has it in."""
        return self.old(self.states[node], node)

    def old(self, state: State, node: Expr) -> Expr:
        if isinstance(state, Moved):
            return self.transform(state.value, state.new, state.old)
        if not isinstance(state, tuple):
            return state
        # The states of fields that are tuples in turn are met below their own nodes first.
        key = id(state)
        if key not in self.tuples:
            if isinstance(node, Tuple):
                self.tuples[key] = with_children(node, [self.realized(one) for one in node.fields])
            else:
                self.tuples[key] = Tuple(tuple(self.old(one, node) for one in state))
        return self.tuples[key]

    def transform(self, value: Expr, src: MaybeLayout, dst: MaybeLayout) -> Expr:
        """Return ``value`` brought from layout ``src`` to ``dst``."""
        if src is None or dst is None or src.name == dst.name:
            return value
        key = (value, src.name, dst.name)
        if key not in self.transforms:
            self.transforms[key] = self.transformed(value, src, dst)
        return self.transforms[key]

    def transformed(self, value: Expr, src: Layout, dst: Layout) -> Expr:
        more = outer_rank(dst) - outer_rank(src)
        if more > 0:
            known = self.types.get(value)
            if isinstance(known, TensorType) and all(static(one) == 1 for one in known.shape):
                # One element fits every layout.
                return value
            letters = {one.letter for one in src.axes if not one.factor}
            src = of_axes((*(one for one in dst.axes if not one.factor and one.letter not in letters), *src.axes))
            value = op.expand_dims(value, axis=0, num_newaxis=more)
            if src.name == dst.name:
                return value
        result: Expr = op.layout_transform(value, src.name, dst.name)
        return result

    def call(self, node: Call) -> State | None:
        """Return the call in the layouts that its producers and ``change`` ask for, None where it
        cannot have them.
        """
        assert isinstance(node.op, Op)
        inputs, args = self.inputs(node)
        record = relay_op(node.op.name)
        rule = record.layout if record is not None else None
        if rule is None:
            return self.change(node, node.attrs, args) if op_attr(node.op.name, ALTER) else None
        types = [self.types[arg] for arg in node.args]
        before = _settled(rule(node.attrs, None, tuple(one.old for one in inputs), types))
        if before is None or len(before.inputs) != len(inputs):
            return None
        pairs = list(zip(inputs, before.inputs, strict=True))
        old = tuple(one.old or own for one, own in pairs)
        now = tuple(one.new or own for one, own in pairs)
        wanted = self.change(node, before.attrs, args)
        if not isinstance(wanted.op, Op):
            return None
        new_record = relay_op(wanted.op.name)
        new_rule = new_record.layout if new_record is not None else None
        after = _settled(new_rule(wanted.attrs, now, old, types)) if new_rule is not None else None
        if after is None or len(after.inputs) != len(inputs):
            return None
        steps = iter(list(zip(inputs, before.inputs, after.inputs, strict=True)))
        moved = [
            Tuple(tuple(self.moved(field, *next(steps)) for field in arg.fields))
            if isinstance(arg, Tuple)
            else self.moved(arg, *next(steps))
            for arg in wanted.args
        ]
        made = replace(wanted, args=_same_tuples(wanted.args, moved), attrs=after.attrs, span=node.span)
        outputs = zip(before.outputs, after.outputs, strict=True)
        if isinstance(self.types[node], TupleType):
            return tuple(Moved(TupleGetItem(made, i), *layouts) for i, layouts in enumerate(outputs))
        return Moved(made, *next(outputs))

    def inputs(self, node: Call) -> tuple[list[Moved], tuple[Expr, ...]]:
        """Return the inputs of a call, the fields of tuples one by one, and its arguments as they
        lie now.
        """
        inputs: list[Moved] = []
        args: list[Expr] = []
        for arg in node.args:
            state = self.states[arg]
            if isinstance(state, tuple):
                fields = [self.input(one, arg) for one in state]
                inputs += fields
                values = [one.value for one in fields]
                args.append(with_children(arg, values) if isinstance(arg, Tuple) else Tuple(tuple(values)))
            else:
                inputs.append(self.input(state, arg))
                args.append(inputs[-1].value)
        return inputs, tuple(args)

    def input(self, state: State, node: Expr) -> Moved:
        return state if isinstance(state, Moved) else Moved(self.old(state, node), None, None)

    def moved(self, arg: Expr, given: Moved, before: Layout, after: Layout) -> Expr:
        """Return ``arg``, which its producer gives as ``given``, in the layout ``after``, which the
        call wants in the place of ``before``.
        """
        if given.old is not None and given.old.name == before.name:
            return self.transform(arg, given.new, after)
        if given.old is not None:
            arg = self.transform(arg, given.new, given.old)
        return self.transform(arg, before, after)


def _same_tuples(old: Sequence[Expr], new: Sequence[Expr]) -> tuple[Expr, ...]:
    """Return ``new``, but tuples of ``old`` whose fields are the same."""
    return tuple(
        before if isinstance(before, Tuple) and isinstance(now, Tuple) and before.fields == now.fields else now
        for before, now in zip(old, new, strict=True)
    )


@dataclass(frozen=True, slots=True)
class _Settled:
    """An answer in which every layout is known."""

    inputs: tuple[Layout, ...]
    outputs: tuple[Layout, ...]
    attrs: Any


def _settled(answer: Laid | None) -> _Settled | None:
    if answer is None:
        return None
    inputs = [one for one in answer.inputs if one is not None]
    outputs = [one for one in answer.outputs if one is not None]
    if len(inputs) < len(answer.inputs) or len(outputs) < len(answer.outputs):
        return None
    return _Settled(tuple(inputs), tuple(outputs), answer.attrs)
