"""Branches and loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relay2relax.relay_ir.build.build import var
from relay2relax.relay_ir.frontend.onnx.conversion import Conversion, Convert, Value
from relay2relax.relay_ir.ir.expr import Call, Expr, Function, If, Let, RelayExpr, TupleGetItem, Var
from relay2relax.relay_ir.ir.types import FuncType, TensorType, TupleType, Type
from relay2relax.tir.extent import ANY, static

# A loop whose length is known is written out up to so many times.
_LONGEST = 1000


def _joined(one: Type, other: Type) -> Type | None:
    """Return the type of a value that has either type, None where there is none."""
    match one, other:
        case TensorType(shape, dtype), TensorType(extents, of) if dtype == of and len(shape) == len(extents):
            return TensorType(tuple(a if a == b else ANY for a, b in zip(shape, extents, strict=True)), dtype)
        case TupleType(fields), TupleType(others) if len(fields) == len(others):
            parts = [_joined(*pair) for pair in zip(fields, others, strict=True)]
            known = tuple(part for part in parts if part is not None)
            return TupleType(known) if len(known) == len(parts) else None
    return None


def _if(at: Conversion) -> tuple[Value, ...]:
    graphs = at.wanted("then_branch"), at.wanted("else_branch")
    given = at.arg()
    condition = at.call("take", given, at.const(0, "int64")) if at.rank(given) == 1 else at.scalar(given)
    known = at.data(condition)
    if known is not None:
        return tuple(at.importer.subgraph(graphs[0] if known else graphs[1], (), at.node.place))
    arms = [at.importer.subgraph(graph, (), at.node.place) for graph in graphs]
    if all(one is other for one, other in zip(*arms, strict=True)):
        return tuple(arms[0])
    exprs = [[_tensor(at, one) for one in arm] for arm in arms]
    types = [_joined(at.type(one), at.type(other)) for one, other in zip(*exprs, strict=True)]
    found = tuple(one for one in types if one is not None)
    if len(found) != len(types):
        at.refuse("its branches give tensors of several ranks or dtypes")
    single = len(found) == 1
    bodies = [arm[0] if single else at.tuple(arm) for arm in exprs]
    made = at.values.state(If(condition, bodies[0], bodies[1], span=at.span), found[0] if single else TupleType(found))
    return (made,) if single else tuple(at.fields(made))


def _tensor(at: Conversion, value: Value) -> Expr:
    if not isinstance(value, RelayExpr):
        at.refuse("a sequence or optional comes out of a branch or loop")
    return value


def _loop(at: Conversion) -> tuple[Value, ...]:
    """``for i in range(M)`` while the condition holds; what each turn gives besides is stacked."""
    graph, carried = at.wanted("body"), list(at.args[2:])
    most = at.known(0) if at.has(0) else None
    condition = at.known(1) if at.has(1) else np.array(True)
    if most is not None and condition is not None and int(most.reshape(-1)[0]) <= _LONGEST:
        found = _written_out(at, graph, int(most.reshape(-1)[0]) if condition else 0, carried)
        if found is not None:
            return found
    return _Loop(at, graph, [_tensor(at, one) for one in carried]).made()


def _written_out(at: Conversion, graph: Any, turns: int, carried: list[Value]) -> tuple[Value, ...] | None:
    """Return a loop turn by turn, None where only the running program knows when it ends."""
    scans: list[list[Expr]] = []
    for turn in range(turns):
        given = [at.const(turn, "int64"), at.const(True, "bool"), *carried]
        condition, *results = at.importer.subgraph(graph, given, at.node.place)
        known = at.data(condition) if isinstance(condition, RelayExpr) else None
        if known is None:
            return None
        carried = results[: len(carried)]
        scans.append([_tensor(at, one) for one in results[len(carried) :]])
        if not known:
            break
    if not scans and len(graph.output) > len(carried) + 1:
        return None
    return (*carried, *(at.call("stack", at.tuple(column), axis=0) for column in zip(*scans, strict=True)))


class _Loop:
    """A loop as a function that calls itself."""

    def __init__(self, at: Conversion, graph: Any, carried: Sequence[Expr]) -> None:
        self.at, self.graph, self.carried = at, graph, carried
        self.types: list[Type] = [at.type(one) for one in carried]

    def made(self) -> tuple[Value, ...]:
        """Return the results, once the types of what is carried stay."""
        for _ in range(4):
            state = [var(f"carried_{i}", self._annotation(one)) for i, one in enumerate(self.types)]
            turn = var("turn", shape=(), dtype="int64")
            condition = var("going_on", shape=(), dtype="bool")
            given: list[Value] = [turn, condition, *state]
            going, *results = self.at.importer.subgraph(self.graph, given, self.at.node.place)
            outs = [_tensor(self.at, one) for one in results]
            held, scans = outs[: len(state)], outs[len(state) :]
            joined = [_joined(one, self.at.type(out)) for one, out in zip(self.types, held, strict=True)]
            if any(one is None for one in joined):
                self.at.refuse("what it carries changes its rank or dtype")
            if joined == self.types:
                return self._function(turn, condition, state, _tensor(self.at, going), held, scans)
            self.types = [one for one in joined if one is not None]
        self.at.refuse("the types of what it carries do not settle")

    def _annotation(self, type_: Type) -> TensorType:
        assert isinstance(type_, TensorType)
        return type_

    def _function(
        self, turn: Var, going: Var, state: list[Var], again: Expr, held: list[Expr], scans: list[Expr]
    ) -> tuple[Value, ...]:
        at = self.at
        kinds = [TensorType((ANY, *at.extents(one)), at.dtype(one)) for one in scans]
        stacks = [var(f"stacked_{i}", one) for i, one in enumerate(kinds)]
        result = TupleType((*self.types, *kinds))
        params = (turn, going, *state, *stacks)
        loop = var("loop", FuncType(tuple(one.type_annotation for one in params if one.type_annotation), result))
        grown = [self._grown(turn, *pair) for pair in zip(stacks, scans, strict=True)]
        following = at.call("add", turn, at.const(1, "int64"))
        more = Call(loop, (following, at.scalar(again), *held, *grown), span=at.span)
        condition: Expr = going
        if at.has(0):
            limit = at.cast(at.scalar(at.arg(0)), "int64")
            condition = at.call("logical_and", going, at.call("less", turn, limit))
        body = If(condition, more, at.tuple([*state, *stacks]), span=at.span)
        function = Function(params, body, result)
        shapes = [[static(extent) or 0 for extent in at.extents(one)] for one in scans]
        empty = [at.const(np.zeros((0, *shape)), at.dtype(one)) for shape, one in zip(shapes, scans, strict=True)]
        first = at.scalar(at.arg(1)) if at.has(1) else at.const(True, "bool")
        start = Call(loop, (at.const(0, "int64"), first, *self.carried, *empty), span=at.span)
        whole = at.values.state(Let(loop, function, start), result)
        return tuple(at.values.state(TupleGetItem(whole, i), one) for i, one in enumerate(result.fields))

    def _grown(self, turn: Var, stack: Var, one: Expr) -> Expr:
        """Return what is stacked with one more; the first turn says extents that are open."""
        at = self.at
        wide = at.unsqueeze(one, [0])
        made = at.call("concatenate", at.tuple([stack, wide]), axis=0)
        if at.static(one) is not None:
            return made
        first = at.call("equal", turn, at.const(0, "int64"))
        kind = TensorType((ANY, *at.extents(one)), at.dtype(one))
        return at.values.state(If(first, wide, made, span=at.span), kind)


def _scan(at: Conversion) -> tuple[Value, ...]:
    """A turn for each place of an axis, which is known: written out."""
    graph, count = at.wanted("body"), at.wanted("num_scan_inputs")
    if at.opset < 9:
        return _scan_of_batches(at, graph, count)
    args = list(at.tensors())
    state, inputs = args[: len(args) - count], args[len(args) - count :]
    axes = at.attr("scan_input_axes", [0] * count)
    turned = at.attr("scan_input_directions", [0] * count)
    lengths = {at.shape(one)[axis] for one, axis in zip(inputs, axes, strict=True)}
    if len(lengths) != 1:
        at.refuse("its inputs have several lengths")
    (length,) = lengths
    scans: list[list[Expr]] = []
    for turn in at.steps(length):
        parts = []
        for one, axis, back in zip(inputs, axes, turned, strict=True):
            place = length - 1 - turn if back else turn
            axis %= at.rank(one)
            parts.append(at.squeeze(at.slice(one, axis, place, place + 1), [axis]))
        results = [_tensor(at, one) for one in at.importer.subgraph(graph, [*state, *parts], at.node.place)]
        state = results[: len(state)]
        scans.append(results[len(state) :])
    outputs = len(graph.output) - len(state)
    out_axes = at.attr("scan_output_axes", [0] * outputs)
    back = at.attr("scan_output_directions", [0] * outputs)
    stacked = []
    for column, axis, reverse in zip(zip(*scans, strict=True), out_axes, back, strict=True):
        whole = column[::-1] if reverse else column
        stacked.append(at.call("stack", at.tuple(whole), axis=axis))
    return (*state, *stacked)


def _scan_of_batches(at: Conversion, graph: Any, count: int) -> tuple[Value, ...]:
    """A turn for each image of a batch, and within it for each place of the second axis."""
    if at.has(0):
        at.refuse("its sequences have lengths of their own")
    args = [at.arg(place) for place in range(1, len(at.args))]
    known = len(args) - count
    back = at.attr("directions", [0] * count)
    batch, length = at.shape(args[known])[:2]
    columns: list[list[Expr]] = []
    for image in at.steps(batch):
        each = [at.squeeze(at.slice(one, 0, image, image + 1), [0]) for one in args]
        state, inputs, scans = each[:known], each[known:], []
        for turn in at.steps(length):
            places = [length - 1 - turn if reverse else turn for reverse in back]
            pairs = zip(inputs, places, strict=True)
            parts = [at.squeeze(at.slice(one, 0, place, place + 1), [0]) for one, place in pairs]
            results = [_tensor(at, one) for one in at.importer.subgraph(graph, [*state, *parts], at.node.place)]
            state = results[:known]
            scans.append(results[known:])
        stacks = [at.call("stack", at.tuple(column), axis=0) for column in zip(*scans, strict=True)]
        columns.append([*state, *stacks])
    return tuple(at.call("stack", at.tuple(column), axis=0) for column in zip(*columns, strict=True))


OPERATORS: dict[str, Convert] = {"If": _if, "Loop": _loop, "Scan": _scan}
