"""Calls of functions: put in place, made functions of the module, or kept for external
compilers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relay2relax.core.errors import Diagnostic, UnsupportedError, mistake
from relay2relax.core.errors.table import translating
from relay2relax.graph.model import GraphError, MSCJoint
from relay2relax.graph.relax.branches import inputs_of
from relay2relax.graph.relax.frames import Frame, Waiting, ended
from relay2relax.graph.relax.functions import is_first_order
from relay2relax.graph.relax.partitions import Mark
from relay2relax.graph.relax.signatures import fresh_extents, hint_of, info_of, parameter_type
from relay2relax.graph.relax.translation import Translation
from relay2relax.graph.relax.values import Closure, Data, Lifted, Maker, Value, changed, is_known
from relay2relax.ops.registry.symbolic import name_extents, widened
from relay2relax.relax_ir import Call, Constant, Tuple, Var
from relay2relax.relax_ir import Expr as RelaxExpr
from relay2relax.relax_ir.ir import symbols
from relay2relax.relax_ir.ir.expr import Function
from relay2relax.relax_ir.ir.struct_info import StructInfo, from_type
from relay2relax.relax_ir.ir.visit import Steps
from relay2relax.tir.script.names import identifier

# A recursive function over data that are known beforehand is unrolled; one that goes on for longer
# is refused.
_DEEPEST = 1000


def called(export: Translation, frame: Frame, node: MSCJoint) -> Steps:
    """Emit a call of a function value."""
    callee, *args = (export.operand(frame, node, name) for name in node.operands)
    match callee:
        case Closure(graph) if len(args) != len(graph.params):
            raise GraphError(
                f"node {node.name!r} gives {len(args)} values to {callee.name}, which takes {len(graph.params)}"
            )
        case Closure() if (mark := export.mark(callee, args)) is not None and not (frame.codegen and mark.compiler):
            yield from call_partition(export, frame, node, callee, mark, args)
        case Closure(recursive=True) if not any(map(is_known, args)) and is_first_order(callee.graph):
            frame.values[node.name] = call_lifted(export, frame, node, lifted(export, callee, node), args)
        case Closure(graph, captured, _, itself, recursive):
            if frame.depth == _DEEPEST:
                raise UnsupportedError(endless(export, frame, node, callee))
            values = dict(zip((*graph.params, *graph.captured), (*args, *captured), strict=True))
            if itself:
                values[itself] = callee
            inner = frame.inside(graph, values)
            inner.depth, inner.unrolled = frame.depth + 1, frame.unrolled or recursive
            yield export.walk(inner)
            ended(frame, node, inner, export.settled)
        case Lifted():
            frame.values[node.name] = call_lifted(export, frame, node, callee, args)
        case Maker():
            frame.values[node.name] = Data(callee, tuple(args))
        case _:
            raise UnsupportedError(
                f"node {node.name!r} calls a function that only the running program knows; not built yet",
                kind=translating.NO_RELAX_FORM,
            )


def endless(export: Translation, frame: Frame, node: MSCJoint, callee: Closure) -> Diagnostic:
    """Return the mistake of a recursion that does not end, with what decides whether it
    does.
    """
    found = mistake(translating.UNKNOWN_LENGTH, node=node.name, function=callee.name, limit=_DEEPEST)
    if frame.choice is None:
        return found
    name, condition = frame.choice
    inputs = inputs_of(condition, export.builder.lookup_binding, export.inputs)
    names = ", ".join(f"%{one}" for one in inputs)
    return replace(
        found,
        where=export.problems.place(name),
        label=f"{name!r} decides whether it goes on" + (f", by what is given for {names}" if inputs else ""),
        help=f"say beforehand what is known of {names}: values as params (--params), extents as dims (--dims)"
        if inputs
        else "",
    )


def call_lifted(export: Translation, frame: Frame, node: MSCJoint, callee: Lifted, args: Sequence[Value]) -> Value:
    """Emit the call of a function of the module, with what that captures."""
    given = tuple(export.as_relax(node, arg) for arg in args)
    return export.settled(
        frame, node, export.builder.emit(Call(callee.var, (*given, *callee.captured), span=node.span))
    )


def call_partition(
    export: Translation, frame: Frame, node: MSCJoint, callee: Closure, mark: Mark, args: Sequence[Value]
) -> Steps:
    """Call a function for an external compiler; inside of one, patterns are local functions."""
    if not frame.codegen:
        frame.values[node.name] = call_lifted(export, frame, node, lifted(export, callee, node, mark), args)
        return
    graph = callee.graph
    outer: list[tuple[RelaxExpr, Var]] = []
    names = [hint_of(graph.find_node(name)) for name in (*graph.params, *graph.captured)]
    inner: list[Value] = []
    for name, one in zip(names, (*args, *callee.captured), strict=True):
        own: dict[RelaxExpr, Var] = {}  # of each argument: one value may be given twice
        inner.append(captured(export, export.as_relax(node, one), own, name))
        outer += own.items()
    dataflow = not export.branches and not export.builder.in_dataflow
    export.builder.begin_sequence()
    if dataflow:
        export.builder.begin_dataflow()
    values: dict[str, Value] = dict(zip((*graph.params, *graph.captured), inner, strict=True))
    body = Frame(graph, values, object(), frame.depth + 1, frame.unrolled)
    yield export.walk(body)
    result = export.plain(body, graph.result)
    if dataflow:
        result = export.builder.emit_output(result)
        export.builder.end_dataflow()
    params = tuple(param for _, param in outer)
    ret = symbols.erase(export.builder.struct_info(result), symbols.defined(param.info for param in params))
    made = Function(params, export.builder.end_sequence(result), ret, mark.attrs(local=True))
    var = export.builder.emit(made, identifier(mark.name))
    if export.trace is not None:
        export.trace.made(callee, var)
    value = export.builder.emit(Call(var, tuple(given for given, _ in outer), span=node.span))
    frame.values[node.name] = export.settled(frame, node, value)


def lifted(export: Translation, closure: Closure, node: MSCJoint, mark: Mark | None = None) -> Lifted:
    """Return the function of the module that ``closure`` becomes, for an external compiler
    where it has a ``mark``.

    It is built when its turn comes.
    """
    if closure in export.lifted:
        return export.lifted[closure]
    graph = closure.graph
    if graph.signature.inferred is None and graph.signature.ret_type is None:
        raise UnsupportedError(
            f"node {node.name!r}: the type of the function {closure.name} is not known",
            kind=translating.NO_RELAX_FORM,
        )
    inputs = [graph.find_node(name) for name in graph.params]
    types, _ = widened(name_extents([(hint_of(one), parameter_type(graph, one)) for one in inputs]))
    own = [Var(hint_of(one), from_type(t), span=one.span) for one, t in zip(inputs, types, strict=True)]
    outer: dict[RelaxExpr, Var] = {}
    inner = tuple(changed(one, lambda value: captured(export, value, outer)) for one in closure.captured)
    params = (*own, *outer.values())
    ret = declared_result(export, closure, params)
    assert ret is not None
    name = closure.name if mark is None else mark.name
    var = export.builder.declare_new(name, [param.info for param in params], ret)
    target = export.lifted[closure] = Lifted(var, tuple(outer))
    if export.trace is not None:
        export.trace.made(closure, var)
    values: dict[str, Value] = dict(zip((*graph.params, *graph.captured), (*own, *inner), strict=True))
    if closure.itself:
        values[closure.itself] = Lifted(var, tuple(outer.values()))
    export.waiting.append(Waiting(target, params, closure, values, ret, mark))
    return target


def captured(export: Translation, value: RelaxExpr, params: dict[RelaxExpr, Var], hint: str = "") -> RelaxExpr:
    """Return what stands in a lifted function for a value from around it: constants themselves,
    else parameters, called ``hint`` or as the value is.
    """
    if isinstance(value, Constant):
        return value
    if isinstance(value, Tuple):
        return Tuple(tuple(captured(export, one, params, hint) for one in value.fields))
    if value not in params:
        name = hint or (value.name if isinstance(value, Var) else "captured")
        params[value] = Var(name, fresh_extents(export.builder.struct_info(value), {}))
    return params[value]


def declared_result(export: Translation, closure: Closure, params: Sequence[Var]) -> StructInfo | None:
    """Return what a function gives: what type inference found, in terms of its own parameters'
    extents.
    """
    signature = closure.graph.signature
    type_ = signature.inferred.ret_type if signature.inferred is not None else signature.ret_type
    if type_ is None:
        return None
    (wide,), _ = widened([type_])
    return symbols.erase(
        info_of(wide, f"the result of {closure.name}"), symbols.defined(param.info for param in params)
    )
