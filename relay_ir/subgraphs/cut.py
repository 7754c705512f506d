"""Functions of parts of ``@main``: the values that they need come in, those that others need go
out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from relay2relax.core.errors import UnsupportedError
from relay2relax.core.walk import post_order
from relay2relax.relay_ir.inference.infer import infer_type, typed_module
from relay2relax.relay_ir.ir.expr import (
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    Let,
    Op,
    Tuple,
    TupleGetItem,
    Var,
)
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import free_vars
from relay2relax.relay_ir.ir.types import TupleType, Type
from relay2relax.relay_ir.subgraphs.names import CUT, NodeNameError, flowing, named_nodes, node_named

# What every part has for itself.
_TAKEN_ALONG = (Constant, GlobalVar, Op, Constructor)


@dataclass(frozen=True, slots=True)
class Given:
    """The value of a node, or where that is a tuple, the field of it that ``path`` leads to."""

    node: Expr
    path: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a program: ``function`` computes the values of the nodes ``outputs`` from
    ``inputs``, which its parameters are, in the same order.

    Several outputs are a tuple. No input is one: its fields are.
    """

    function: Function
    inputs: tuple[Given, ...]
    outputs: tuple[Expr, ...]


def extract(mod: IRModule, node: str, between: str | None = None) -> Part:
    """Return the part that computes ``node`` of ``@main``.

    By itself it is that node alone. With ``between``, it is all that ``node`` is computed from by
    way of the node ``between``; the value of that comes in. Raises NodeNameError for a name that no
    node has, and where no way leads from ``between`` to ``node``.
    """
    mod = typed_module(mod)
    nodes, flow = named_nodes(mod), flowing(mod)
    last = flow.seen(node_named(node, nodes))
    if not isinstance(last, CUT):
        raise NodeNameError(f"{node} is a parameter, which nothing computes")
    if between is None:
        inside: set[Expr] = {last}
    else:
        first = flow.seen(node_named(between, nodes))
        inside = _on_the_way(first, last, flow)
        if not inside:
            raise NodeNameError(f"no way leads from {between} to {node}")
    return _part(mod, {flow.seen(one) for one in inside}, (last,), _labels(nodes, flow.seen), flow.seen)


def part_of(mod: IRModule, nodes: Iterable[Expr], outputs: Sequence[Expr]) -> Part:
    """Return the part that computes ``outputs`` by ``nodes``, which these are among; the values of
    all other nodes come in.

    Nodes are those of ``@main`` of ``mod``, which has types.
    """
    flow = flowing(mod)
    inside = {flow.seen(one) for one in nodes}
    return _part(mod, inside, tuple(map(flow.seen, outputs)), _labels(named_nodes(mod), flow.seen), flow.seen)


def split(mod: IRModule, at: Sequence[str]) -> tuple[Part, ...]:
    """Return the parts into which the nodes ``at`` cut ``@main``, each behind those that it needs.

    Every node is in one part: the first one that needs it. A part ends with the node that it is cut
    at, the last one with the result of ``@main``. Raises NodeNameError for a name that no node has.
    """
    mod = typed_module(mod)
    nodes, flow = named_nodes(mod), flowing(mod)
    ends = [_whole(flow.seen(node_named(one, nodes)), flow.seen) for one in at]
    result = flow.seen(mod["main"].body)
    order = {node: place for place, node in enumerate(post_order((result, *ends), flow))}
    ends = sorted({one for one in ends if isinstance(one, CUT) and one is not result}, key=order.__getitem__)
    home: dict[Expr, int] = {}
    for number, end in enumerate((*ends, result)):
        for node in post_order((end,), lambda one: () if one in home else flow(one)):
            home.setdefault(node, number)
    _refuse_control_flow(home)
    for node in order:
        # A field comes from the part of its tuple, so that no tuple has to go from one to another.
        if isinstance(node, TupleGetItem) and (whole := flow.seen(node.tuple_value)) in home:
            home[node] = home[whole]
    needed: list[dict[Expr, None]] = [{} for _ in range(len(ends) + 1)]
    for end, number in zip((*ends, result), range(len(ends) + 1), strict=True):
        needed[number][end] = None
        # A field that is the result may be in the part of its tuple.
        needed[home[end]][end] = None
    for node, number in home.items():
        for operand in () if not isinstance(node, CUT) else _values(flow(node), flow.seen):
            if isinstance(operand, CUT) and home[operand] < number:
                needed[home[operand]][operand] = None
    labels = _labels(nodes, flow.seen)
    made = []
    for number, outputs in enumerate(needed):
        inside: set[Expr] = {node for node, own in home.items() if own == number and isinstance(node, CUT)}
        made.append(_part(mod, inside, tuple(outputs), labels, flow.seen))
    return tuple(made)


def join(mod: IRModule, parts: Sequence[Part]) -> IRModule:
    """Return a module whose ``@main`` calls the parts of ``mod`` one after the other: ``@part_0``
    and so on.

    The last part ends with the result.
    """
    main = mod["main"]
    values: dict[Expr, Expr] = {param: param for param in main.params}
    functions = dict(mod.functions)
    result: Expr = main.body
    for number, part in enumerate(parts):
        var = GlobalVar(f"part_{number}")
        functions[var] = part.function
        call: Expr = Call(var, tuple(_field(values[one.node], one.path) for one in part.inputs))
        for place, output in enumerate(part.outputs):
            values[output] = call if len(part.outputs) == 1 else TupleGetItem(call, place)
        result = values[part.outputs[0]]
    functions[mod.get_global_var("main")] = replace(main, body=result)
    return infer_type(replace(mod, functions=functions, types={}))


def _values(operands: Sequence[Expr], seen: Callable[[Expr], Expr]) -> list[Expr]:
    """Return the values that operands are put together of, through tuples."""
    roots = [seen(one) for one in operands]
    found = post_order(roots, lambda one: [seen(part) for part in _operands(one)] if isinstance(one, Tuple) else ())
    return [one for one in found if not isinstance(one, Tuple)]


def _refuse_control_flow(nodes: Iterable[Expr]) -> None:
    for node in nodes:
        closed = isinstance(node, Function) and not free_vars(node)
        if not closed and not isinstance(node, (Var, Let, *CUT, *_TAKEN_ALONG)):
            raise UnsupportedError(
                f"a program is split where it is data flow alone, and @main has a {type(node).__name__}"
            )
        if isinstance(node, Call) and isinstance(node.op, Function) and free_vars(node.op):
            raise UnsupportedError("a program is split where its functions use nothing from outside of them")


def _whole(node: Expr, seen: Callable[[Expr], Expr]) -> Expr:
    """Return the node that a field is a field of."""
    while isinstance(node, TupleGetItem):
        node = seen(node.tuple_value)
    return node


def _field(value: Expr, path: Sequence[int]) -> Expr:
    for place in path:
        value = TupleGetItem(value, place)
    return value


def _on_the_way(first: Expr, last: Expr, flow: Callable[[Expr], Sequence[Expr]]) -> set[Expr]:
    """Return the nodes behind ``first`` that ``last`` is computed by way of."""
    reaching = {first}
    for node in post_order((last,), lambda one: () if one is first else flow(one)):
        if any(one in reaching for one in flow(node)):
            reaching.add(node)
    return reaching - {first} if last in reaching and last is not first else set()


def _labels(nodes: Mapping[str, Expr], seen: Callable[[Expr], Expr]) -> dict[Expr, str]:
    """Return a name for each node that has one: ``t12`` for a line of the text."""
    found: dict[Expr, str] = {}
    for name, node in nodes.items():
        plain = name.removeprefix("%")
        found.setdefault(seen(node), f"t{plain}" if plain.isdigit() else plain)
    return found


def _part(
    mod: IRModule,
    inside: set[Expr],
    outputs: tuple[Expr, ...],
    labels: Mapping[Expr, str],
    seen: Callable[[Expr], Expr],
) -> Part:
    """Return the part whose nodes are ``inside``.

    A tuple outside is put together inside again, of its fields. Constants and functions are taken
    along.
    """
    inside = {one for one in inside if isinstance(one, CUT)}
    # A field of what is given is given itself, so that no tuple has to be.
    fields = {one for one in inside if isinstance(one, TupleGetItem) and seen(one.tuple_value) not in inside}
    inside -= fields - set(outputs)
    params: dict[Given, Var] = {}
    made: dict[Expr, Expr] = {}
    taken: set[str] = set()

    def given(one: Given, type_: Type, name: str) -> Expr:
        if isinstance(type_, TupleType):
            fields = enumerate(type_.fields)
            return Tuple(tuple(given(Given(one.node, (*one.path, i)), field, f"{name}_{i}") for i, field in fields))
        params[one] = Var(_free(name, taken), type_)
        return params[one]

    def operands(node: Expr) -> Sequence[Expr]:
        if isinstance(node, Tuple) or node in inside:
            return [seen(one) for one in _operands(node)]
        return ()

    for node in post_order(outputs, operands):
        if node in inside or isinstance(node, Tuple):
            made[node] = _rebuilt(node, [made[seen(one)] for one in _operands(node)])
        elif isinstance(node, _TAKEN_ALONG) or (isinstance(node, Function) and not free_vars(node)):
            made[node] = node
        else:
            made[node] = given(Given(node), mod.types[node], labels.get(node, "value"))
    body = made[outputs[0]] if len(outputs) == 1 else Tuple(tuple(made[one] for one in outputs))
    types = [mod.types[one] for one in outputs]
    result = types[0] if len(types) == 1 else TupleType(tuple(types))
    return Part(Function(tuple(params.values()), body, result), tuple(params), outputs)


def _operands(node: Expr) -> Sequence[Expr]:
    match node:
        case Call(_, args):
            return args
        case Tuple(fields):
            return fields
        case TupleGetItem(value):
            return (value,)
    return ()


def _rebuilt(node: Expr, operands: Sequence[Expr]) -> Expr:
    match node:
        case Call():
            return replace(node, args=tuple(operands))
        case Tuple():
            return replace(node, fields=tuple(operands))
        case TupleGetItem():
            return replace(node, tuple_value=operands[0])
    return node


def _free(name: str, taken: set[str]) -> str:
    made, count = name, 0
    while made in taken:
        count += 1
        made = f"{name}_{count}"
    taken.add(made)
    return made
