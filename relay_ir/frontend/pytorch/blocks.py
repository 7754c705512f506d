"""Branches and loops of TorchScript.

A branch whose condition is known is its arm. A loop becomes a function that calls itself where what
it carries keeps its type; else its turns are written out, where their number is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from relay2relax.core.errors import UnsupportedError
from relay2relax.relay_ir.build.build import var
from relay2relax.relay_ir.frontend.pytorch.context import Conversion, Value
from relay2relax.relay_ir.frontend.pytorch.control import MOST_STEPS, refuse_change, refuse_value
from relay2relax.relay_ir.frontend.pytorch.notes import RAISES
from relay2relax.relay_ir.frontend.pytorch.scalars import CHANGES
from relay2relax.relay_ir.frontend.pytorch.torchscript import LOOP, RAISE, Block, Node, every_node
from relay2relax.relay_ir.frontend.pytorch.views import writes
from relay2relax.relay_ir.ir.expr import Call, Constant, Expr, Function, If, Let, RelayExpr, TupleGetItem, Var
from relay2relax.relay_ir.ir.types import FuncType, TensorType, TupleType, Type

if TYPE_CHECKING:
    from relay2relax.relay_ir.frontend.pytorch.importer import Importer

_LOOP, _BRANCH = "a loop", "a branch"
# How many turns TorchScript gives a loop that ends by its condition alone.
_FOREVER = 2**63 - 1


def branch(importer: Importer, node: Node, at: Conversion) -> list[Value]:
    """Return what ``prim::If`` gives."""
    condition = at.value(0)
    if isinstance(condition, Constant) and not condition.data.shape:
        condition = bool(condition.data.item())
    if isinstance(condition, (bool, int, float)):
        return importer.block(node.blocks[0 if condition else 1])
    # An arm that raises is taken for one that no data reach.
    for place, one in enumerate(node.blocks):
        if any(inner.kind == RAISE for inner in one.nodes):
            at.note(RAISES)
            return importer.block(node.blocks[1 - place])
    written = set().union(*(_check(importer, one, at, _BRANCH) for one in node.blocks))
    before = {name: importer.value(name) for name in written}
    arms = []
    for one in node.blocks:
        arms.append(importer.block(one))
        importer.values.update(before)
    for name in written:
        importer.views.renew(name)
    _share(importer, node)
    if arms[0] == arms[1]:
        return arms[0]
    exprs = [[_expr(at, value) for value in arm] for arm in arms]
    types = [at.types.of(one) for one in exprs[0]]
    if types != [at.types.of(one) for one in exprs[1]]:
        at.refuse("its branches give values of several types")
    chosen = _scalar(at, at.tensor(0))
    if len(types) == 1:
        return [at.types.state(If(chosen, exprs[0][0], exprs[1][0], span=at.span), types[0])]
    made = If(chosen, at.tuple(exprs[0]), at.tuple(exprs[1]), span=at.span)
    at.types.state(made, TupleType(tuple(types)))
    return list(at.fields(made))


def loop(importer: Importer, node: Node, at: Conversion) -> list[Value]:
    """Return what ``prim::Loop`` carries out of its last turn."""
    body = node.blocks[0]
    for name, inner in zip(node.inputs[2:], body.inputs[1:], strict=True):
        if importer.is_seen(name, node):
            # What is written into it inside is seen outside as well.
            importer.views.unfollowed.add(inner)
    _share(importer, node)
    turns, going = _plain(at.value(0)), _plain(at.value(1))
    kept, unfollowed = dict(importer.values), set(importer.views.unfollowed)
    try:
        _check(importer, body, at, _LOOP)
        return _function(importer, node, at)
    except UnsupportedError:
        importer.values, importer.views.unfollowed = kept, unfollowed
        if not isinstance(turns, int) or not isinstance(going, (bool, int)):
            raise
    return _written_out(importer, node, at, turns, bool(going))


def _written_out(importer: Importer, node: Node, at: Conversion, turns: int, going: bool) -> list[Value]:
    body = node.blocks[0]
    carried = list(at.args[2:])
    turn = 0
    while going and turn < turns:
        if turn >= MOST_STEPS:
            at.refuse(f"it has more than {MOST_STEPS} turns, and no more are written out")
        _begin_turn(importer, body, [turn, *carried])
        again, *carried = importer.block(body)
        known = _plain(again)
        if not isinstance(known, (bool, int)):
            at.refuse("whether it goes on depends on the data, and what it carries has no form in a function")
        going = bool(known)
        turn += 1
    return carried


def _begin_turn(importer: Importer, body: Block, given: Sequence[Value]) -> None:
    for name in body.inputs:
        importer.views.renew(name)
    importer.values.update(zip(body.inputs, given, strict=True))


def _function(importer: Importer, node: Node, at: Conversion) -> list[Value]:
    """Return a loop as a function that calls itself, of the turn, what is carried, and what is
    computed before it.
    """
    body = node.blocks[0]
    start = [_expr(at, value) for value in at.args[2:]]
    outside = _outside(importer, body)
    held = [cast(Expr, importer.values[name]) for name in outside]
    forever = at.value(0) == _FOREVER
    limit = None if forever else at.cast(_scalar(at, at.tensor(0)), "int64")
    first = at.with_args([bool(_plain(at.value(1)))]) if isinstance(_plain(at.value(1)), (bool, int)) else at
    going = _scalar(at, first.tensor(0) if first is not at else at.tensor(1))
    types: list[Type] = [at.types.of(one) for one in (*start, *held)]
    turn = var("turn", TensorType((), "int64"))
    still = var("going", TensorType((), "bool"))
    state = [var(f"carried_{place}", one) for place, one in enumerate(types)]
    # What was known before the loop is not known within it.
    _begin_turn(importer, body, [turn, *state[: len(start)]])
    importer.values.update(zip(outside, state[len(start) :], strict=True))
    again, *following = importer.block(body)
    importer.values.update(zip(outside, held, strict=True))
    after = [_expr(at, value) for value in following]
    if [at.types.of(one) for one in after] != types[: len(start)]:
        refuse_change(at)
    whole = [TensorType((), "int64"), TensorType((), "bool"), *types]
    result = TupleType(tuple(types[: len(start)]))
    function = var("loop", FuncType(tuple(whole), result))
    more = still if limit is None else at.call("logical_and", still, at.call("less", turn, limit))
    following_turn = at.call("add", turn, at.const(1, "int64"))
    inner = Call(function, (following_turn, _scalar(at, _expr(at, again)), *after, *state[len(start) :]), span=at.span)
    choice = If(more, inner, at.tuple(state[: len(start)]), span=at.span)
    call = Call(function, (at.const(0, "int64"), going, *start, *held), span=at.span)
    made = at.types.state(Let(function, Function((turn, still, *state), choice, result), call), result)
    return [at.types.state(TupleGetItem(made, place), one) for place, one in enumerate(types[: len(start)])]


def _outside(importer: Importer, block: Block) -> list[str]:
    """Return the names of what is computed before a block, and used in it."""
    inside = _made_inside(block)
    used = [name for node in block.inner() for name in node.inputs] + list(block.results)
    found = dict.fromkeys(name for name in used if name not in inside)
    return [name for name in found if _is_computed(importer.values.get(name))]


def _made_inside(block: Block) -> set[str]:
    """Return the names of what a block is given and makes, and those within it."""
    outputs = {name for node in block.inner() for name in node.outputs}
    return outputs.union(block.inputs, *(one.inputs for node in block.inner() for one in node.blocks))


def _is_computed(value: Value) -> bool:
    return isinstance(value, RelayExpr) and not isinstance(value, (Var, Constant))


def used_inside(node: Node) -> set[str]:
    """Return the names that the blocks of a node use."""
    inner = [one for block in node.blocks for one in block.inner()]
    used = {name for one in inner for name in one.inputs}
    every = [*node.blocks, *(block for one in inner for block in one.blocks)]
    return used.union(*(block.results for block in every))


def _share(importer: Importer, node: Node) -> None:
    """Note which results of a branch or loop may be tensors that are read under other names."""
    carried = node.inputs[2:] if node.kind == LOOP else ()
    rows = [one.results[1:] if node.kind == LOOP else one.results for one in node.blocks]
    for place, output in enumerate(node.outputs):
        for name in (*carried[place : place + 1], *(row[place] for row in rows)):
            if isinstance(importer.values.get(name), RelayExpr) and importer.is_seen(name, node):
                importer.views.unfollowed.add(output)


def _check(importer: Importer, block: Block, at: Conversion, what: str) -> set[str]:
    """Return the tensors outside of a branch that it writes into, which nothing may read after it;
    refuse other changes of what is outside of a block.
    """
    written: set[str] = set()
    inside = _made_inside(block)
    for node in every_node(block.nodes):
        if not node.inputs or not (node.kind in CHANGES or writes(node.kind)):
            continue
        name = node.inputs[0]
        if name in inside and node.kind not in CHANGES:
            continue
        known = isinstance(importer.values[name], RelayExpr)
        if node.kind in CHANGES or what == _LOOP or not known or importer.is_seen(name, node):
            at.refuse(f"{what} changes a list or tensor that was there before ({node.kind})")
        written.add(name)
    return written


def _expr(at: Conversion, value: Value) -> Expr:
    if isinstance(value, RelayExpr):
        return value
    if isinstance(value, bool):
        return at.const(value, "bool")
    if isinstance(value, (int, float)):
        return at.const(value, "int64" if isinstance(value, int) else "float64")
    if isinstance(value, tuple):
        return at.tuple([_expr(at, one) for one in cast("Sequence[Value]", value)])
    refuse_value(at, value)


def _plain(value: Value) -> Value:
    return value.data.item() if isinstance(value, Constant) and not value.data.shape else value


def _scalar(at: Conversion, expr: Expr) -> Expr:
    made = at.call("reshape", expr, ()) if at.rank(expr) else expr
    return made
