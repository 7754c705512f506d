"""What a model consists of, and what it costs: operators, parameters, arithmetic, memory.

Arithmetic is counted in the loops of the PrimFuncs that the operators become, one per operator,
before anything is fused. So it is a property of the model and not of a backend.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Literal

from relay2relax import graph, relax_ir, relay_ir
from relay2relax.core.amounts import counted
from relay2relax.core.dtype import Array, bits, of_array
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.graph import MSCGraph
from relay2relax.graph.kinds import NodeKind
from relay2relax.graph.model import MSCTensor
from relay2relax.graph.relax.partitions import mark_of
from relay2relax.ops.registry.record import OpDef
from relay2relax.relax_ir.analysis.calls import argument_info, extents_of_call
from relay2relax.relax_ir.ir import symbols
from relay2relax.relax_ir.ir.struct_info import StructInfo, TensorStructInfo, TupleStructInfo
from relay2relax.relax_ir.ir.visit import all_sequences, bindings, operands
from relay2relax.relax_ir.transform import LegalizeOps
from relay2relax.relay_ir.inference.infer import typed_module
from relay2relax.relay_ir.io.roles import learned_parameters
from relay2relax.tir.cost import Arithmetic, arithmetic
from relay2relax.tir.extent import Extent, as_prim, canonical
from relay2relax.tir.ir.expr import binary
from relay2relax.tir.ir.stmt import PrimFunc
from relay2relax.translator.as_tensorir import AsTensorIR, calls_as_tensorir
from relay2relax.translator.partitions import partitions
from relay2relax.translator.pipeline import Dims, translate

# Kinds of nodes that are control flow, or calls of functions.
_CONTROL = frozenset({NodeKind.IF, NodeKind.MATCH, NodeKind.CALL, NodeKind.FUNCTION, NodeKind.LET})
# Kinds of nodes that compute what no operator of the graph's own says.
_CALLS = frozenset({NodeKind.CALL_TIR, NodeKind.CALL_PACKED, NodeKind.CALL_DPS_PACKED})


@dataclass(frozen=True, slots=True)
class Cost:
    """What calls cost together, as numbers or as expressions over symbolic extents.

    ``multiply_adds`` are products that are added up, ``operations`` all arithmetic on floats (a
    multiply-add is two), ``bytes`` the tensors that are read and written, each once for a call.
    """

    calls: int = 0
    multiply_adds: Extent = 0
    operations: Extent = 0
    bytes: Extent = 0

    def plus(self, other: Cost) -> Cost:
        """Return the cost of both."""
        return Cost(
            self.calls + other.calls,
            _sum([self.multiply_adds, other.multiply_adds]),
            _sum([self.operations, other.operations]),
            _sum([self.bytes, other.bytes]),
        )


# Calls of functions that are not in the program.
_ELSEWHERE = (NodeKind.CALL_DPS_PACKED, NodeKind.CALL_PACKED)


@dataclass(frozen=True, slots=True)
class Held:
    """Parameters of one dtype that have learned values: how many tensors, elements and bytes."""

    tensors: int
    elements: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Summary:
    """What there is to say of a model.

    ``operators``  calls of the model's own operators by name, with what each costs. ``parameters``
    learned values by dtype. ``peak_bytes``  of tensors that are alive at once, with nothing fused
    and memory used again; None where extents or branches leave it open. ``symbols``  the dynamic
    extents. ``control``  control flow and calls of functions by kind. ``partitions``  functions
    that are meant for an external compiler, with its name. ``not_counted``  says why costs are
    missing, where they are.
    """

    name: str
    inputs: tuple[tuple[str, str], ...]
    outputs: tuple[str, ...]
    operators: Mapping[str, Cost]
    parameters: Mapping[str, Held]
    symbols: tuple[str, ...]
    control: Mapping[str, int]
    functions: tuple[str, ...]
    partitions: Mapping[str, str]
    total: Cost = field(default_factory=Cost)
    peak_bytes: int | None = None
    as_tensorir: tuple[AsTensorIR, ...] = ()
    not_counted: str = ""

    @property
    def calls_of_tensorir(self) -> int:
        """How many calls of a Relax module are calls of TensorIR; 0 for a Relay module."""
        return self.operators.get(NodeKind.CALL_TIR.value, Cost()).calls

    def to_json(self) -> dict[str, object]:
        """Return the summary as plain values; costs with symbolic extents as text."""
        return {
            "name": self.name,
            "inputs": [{"name": name, "type": type_} for name, type_ in self.inputs],
            "outputs": list(self.outputs),
            "operators": {name: _plain(cost) for name, cost in self.operators.items()},
            "parameters": {dtype: asdict(held) for dtype, held in self.parameters.items()},
            "total": _plain(self.total),
            "peak_bytes": self.peak_bytes,
            "dynamic_extents": list(self.symbols),
            "control_flow": dict(self.control),
            "functions": list(self.functions),
            "partitions": dict(self.partitions),
            "as_tensorir": [asdict(one) for one in self.as_tensorir],
            "not_counted": self.not_counted,
        }


def summarize(
    mod: relay_ir.IRModule | relax_ir.IRModule, params: Mapping[str, Array] | None = None, dims: Dims | None = None
) -> Summary:
    """Return what ``main`` of a Relay or Relax module consists of, and what it costs.

    ``params`` are learned values by name. Without them, parameters of Relay that stand only where
    operators take learned values count as such. ``dims`` names or fixes extents of a Relay module.
    Raises what making its graph raises; where a model cannot be lowered, costs are missing.
    """
    given = set(params or ())
    if isinstance(mod, relax_ir.IRModule):
        main = mod["main"]
        assert isinstance(main, relax_ir.Function)
        learned = {p.name for p in main.params[main.num_input :]} | given
        described = _described(graph.from_relax(mod), learned)
        marked = {one.name: one.compiler for one in partitions(mod) if one.compiler}
        described = replace(described, partitions=marked)
        own = {func for func in mod.functions.values() if isinstance(func, PrimFunc)}
        return _with_costs(described, mod, lambda: LegalizeOps()(mod), _relax_names(mod), own)
    typed = typed_module(mod)
    learned = {param.name for param in learned_parameters(typed["main"])} | given
    described = _described(graph.from_relay(typed, dims=dims), learned)
    try:
        relax = translate(typed, dims=dims)
    except Relay2RelaxError as error:
        return replace(described, not_counted=error.diagnostics[0].title)
    return _with_costs(described, relax, lambda: translate(typed, "tir", dims=dims))


def _described(made: tuple[MSCGraph, Mapping[str, Array]], learned: Collection[str]) -> Summary:
    """Return what a graph and its weights show; ``learned`` are parameters that are no inputs."""
    found, weights = made
    nodes = [node for part in found.subgraphs() for node in part.nodes]
    operators = Counter(node.optype for node in nodes if node.op or node.kind in _CALLS)
    given = [(found.find_node(name).attrs.hint, found.find_node(name).outputs) for name in found.params]
    held = [(of_array(value), value.shape) for value in weights.values()]
    held += [(t.dtype, t.shape) for hint, outputs in given if hint in learned for t in outputs]
    return Summary(
        name=found.name,
        inputs=tuple((hint, _type(outputs)) for hint, outputs in given if hint not in learned),
        outputs=tuple(_type([tensor]) for tensor in found.get_outputs()),
        operators={name: Cost(calls) for name, calls in operators.most_common()},
        parameters=_held(held),
        symbols=tuple(prim.name for prim in found.prims if prim.optype in ("shape", "Var")),
        control=Counter(node.kind.value for node in nodes if node.kind in _CONTROL),
        functions=tuple(found.functions),
        partitions={
            name: mark.compiler
            for name, one in found.functions.items()
            if (mark := mark_of(one)) is not None and mark.compiler
        },
        total=Cost(operators.total()),
    )


def _type(tensors: Sequence[MSCTensor]) -> str:
    shown = [f"{one.dtype}[{', '.join(map(str, one.get_shape(with_prims=True)))}]" for one in tensors]
    return shown[0] if len(shown) == 1 else f"({', '.join(shown)})"


def _held(tensors: Iterable[tuple[str, Sequence[int]]]) -> dict[str, Held]:
    """Return what tensors of each dtype hold; one with an open extent counts for no elements."""
    found: dict[str, Held] = {}
    for dtype, shape in tensors:
        elements = 0 if -1 in shape else math.prod(shape)
        old = found.get(dtype, Held(0, 0, 0))
        size = old.bytes + (elements * bits(dtype) + 7) // 8
        found[dtype] = Held(old.tensors + 1, old.elements + elements, size)
    return found


def _with_costs(
    summary: Summary,
    relax: relax_ir.IRModule,
    lower: Callable[[], relax_ir.IRModule],
    names: Mapping[str, str] | None = None,
    own: Collection[PrimFunc] = (),
) -> Summary:
    """Return ``summary`` with what the lowered program costs, and what ``relax`` has TensorIR
    for.

    ``names`` are what the summary calls operators; ``own`` PrimFuncs were there before lowering.
    """
    said = replace(summary, as_tensorir=calls_as_tensorir(relax))
    elsewhere = sum(summary.operators.get(kind.value, Cost()).calls for kind in _ELSEWHERE)
    if elsewhere:
        return replace(said, not_counted=f"{counted(elsewhere, 'call')} of functions that only a library has")
    try:
        lowered = lower()
    except Relay2RelaxError as error:
        return replace(said, not_counted=error.diagnostics[0].title)
    costs = _costs(lowered, names or {}, own)
    operators = {name: replace(costs.get(name, Cost()), calls=one.calls) for name, one in summary.operators.items()}
    total = Cost()
    for one in costs.values():
        total = total.plus(one)
    return replace(
        said, operators=operators, total=replace(total, calls=summary.total.calls), peak_bytes=_peak_bytes(lowered)
    )


def _costs(mod: relax_ir.IRModule, names: Mapping[str, str], own: Collection[PrimFunc]) -> dict[str, Cost]:
    """Return what the calls of PrimFuncs cost, by the names of the operators that they are:
    ``names`` where these have others, the word for such calls where the PrimFunc is in ``own``.

    What several branches or calls of one function do counts once.
    """
    known: dict[PrimFunc, Arithmetic] = {}
    found: dict[str, Cost] = {}
    roots = [func.body for func in mod.functions.values() if isinstance(func, relax_ir.Function)]
    for seq in all_sequences(roots):
        for binding in bindings(seq):
            call = binding.value
            func = mod.functions.get(call.func) if isinstance(call, relax_ir.CallTIR) else None
            if not isinstance(call, relax_ir.CallTIR) or not isinstance(func, PrimFunc):
                continue
            if func not in known:
                known[func] = arithmetic(func)
            infos = [*map(argument_info, call.args), *call.out]
            values = extents_of_call(func, call)
            cost = Cost(
                1,
                symbols.substitute_extent(known[func].multiply_adds, values),
                symbols.substitute_extent(known[func].operations, values),
                _sum(map(_bytes, infos)),
            )
            operator = str(func.attrs.get("op_name", func.name))
            name = NodeKind.CALL_TIR.value if func in own else names.get(operator, operator)
            found[name] = found.get(name, Cost()).plus(cost)
    return found


def _relax_names(mod: relax_ir.IRModule) -> dict[str, str]:
    """Return what the operators that a Relax module calls are called in its graph."""
    roots = [func.body for func in mod.functions.values() if isinstance(func, relax_ir.Function)]
    values = [binding.value for seq in all_sequences(roots) for binding in bindings(seq)]
    ops = {value.op for value in values if isinstance(value, relax_ir.Call) and isinstance(value.op, OpDef)}
    return {op.name: op.relax_name for op in ops}


def _bytes(info: StructInfo) -> Extent:
    """Return how many bytes a value takes; 0 where that is not known."""
    match info:
        case TensorStructInfo(shape, dtype) if shape is not None and dtype:
            size: Extent = (bits(dtype) + 7) // 8
            for extent in shape:
                size = _on(size, "*", extent)
            return size
        case TupleStructInfo(fields):
            return _sum(map(_bytes, fields))
    return 0


def _sum(parts: Iterable[Extent]) -> Extent:
    total: Extent = 0
    for part in parts:
        total = _on(total, "+", part)
    return total


def _on(a: Extent, op: Literal["+", "*"], b: Extent) -> Extent:
    if isinstance(a, int) and isinstance(b, int):
        return a + b if op == "+" else a * b
    return canonical(binary(op, as_prim(a), as_prim(b)))


def _peak_bytes(mod: relax_ir.IRModule) -> int | None:
    """Return the bytes of tensors that are alive at once in ``main``: parameters and constants
    always, others from where they are computed to where they are used last.
    """
    main = mod["main"]
    assert isinstance(main, relax_ir.Function)
    steps = [step for seq in all_sequences([main.body]) for step in bindings(seq)]
    if any(isinstance(step.value, relax_ir.If) for step in steps):
        return None
    memory: dict[relax_ir.Expr, tuple[relax_ir.Expr, ...]] = {}  # in whose memory a value lies
    last: dict[relax_ir.Expr, int] = {}
    always: dict[relax_ir.Expr, Extent] = {param: _bytes(param.info) for param in main.params}
    for number, step in enumerate(steps):
        used = operands(step.value) or ((step.value,) if isinstance(step.value, relax_ir.Var) else ())
        always.update((one, _bytes(argument_info(one))) for one in used if isinstance(one, relax_ir.Constant))
        places = tuple(dict.fromkeys(place for one in used for place in memory.get(one, ())))
        last.update(dict.fromkeys(places, number))
        view = isinstance(step.value, (relax_ir.Tuple, relax_ir.TupleGetItem, relax_ir.Var))
        memory[step.var] = places if view else (step.var,)
        last[step.var] = number
    last.update(dict.fromkeys(memory.get(main.body.body, ()), len(steps)))
    ends: dict[int, list[relax_ir.Expr]] = {}
    for place, number in last.items():
        ends.setdefault(number, []).append(place)
    sizes: dict[relax_ir.Expr, Extent] = {
        step.var: _bytes(step.var.info) for step in steps if memory[step.var] == (step.var,)
    }
    fixed = {place: size for place, size in (sizes | always).items() if isinstance(size, int)}
    if len(fixed) < len(sizes) + len(always):
        return None
    alive = peak = sum(fixed[one] for one in always)
    for number, step in enumerate(steps):
        if step.var in sizes:
            alive += fixed[step.var]
        peak = max(peak, alive)
        alive -= sum(fixed[place] for place in ends.get(number, ()) if place in sizes)
    return peak


def _plain(cost: Cost) -> dict[str, int | str]:
    values = ((one.name, getattr(cost, one.name)) for one in fields(cost))
    return {name: value if isinstance(value, int) else str(value) for name, value in values}
