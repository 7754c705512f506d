"""What a model consists of, and what it costs: operators, parameters, arithmetic, memory.

Arithmetic is that of the graph's nodes (``graph.costs``), before anything is fused. So it is a
property of the model and not of a backend.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace

from relay2relax import graph, relax_ir, relay_ir
from relay2relax.core.amounts import counted
from relay2relax.core.dtype import Array, bits, of_array
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.graph import MSCGraph
from relay2relax.graph.kinds import NodeKind
from relay2relax.graph.model import MSCTensor
from relay2relax.graph.queries.costs import NodeCost, costs_of_parts
from relay2relax.graph.queries.memory import memory, peak
from relay2relax.graph.relax.partitions import mark_of
from relay2relax.relay_ir.inference.infer import typed_module
from relay2relax.relay_ir.io.roles import learned_parameters
from relay2relax.tir.extent import Extent, add
from relay2relax.translator.as_tensorir import AsTensorIR, calls_as_tensorir
from relay2relax.translator.partitions import partitions
from relay2relax.translator.pipeline import Dims, Translation, entry_functions, entry_of, translate

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
            add(self.multiply_adds, other.multiply_adds),
            add(self.operations, other.operations),
            add(self.bytes, other.bytes),
        )


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
    mod: relay_ir.IRModule | relax_ir.IRModule,
    params: Mapping[str, Array] | None = None,
    dims: Dims | None = None,
    made: Translation | None = None,
) -> Summary:
    """Return what ``main`` of a Relay or Relax module consists of, and what it costs; of a library
    all functions.

    ``params`` are learned values by name. Without them, parameters of Relay that stand only where
    operators take learned values count as such. ``dims`` names or fixes extents of a Relay module,
    ``made`` is its translation, with its graph, where there is one already.
    Raises what making its graph raises; where a model cannot be lowered, costs are missing.
    """
    given = set(params or ())
    if isinstance(mod, relax_ir.IRModule):
        entries = entry_functions(mod)
        learned = {p.name for one in entries.values() for p in one.params[one.num_input :]} | given
        first, *others = entries or ("main",)
        found, weights = graph.from_relax(mod, entry=first)
        found = replace(found, entries=tuple(others))
        described = _described(found, weights, learned)
        marked = {one.name: one.compiler for one in partitions(mod) if one.compiler}
        described = replace(described, partitions=marked)
        return _with_costs(described, found, mod)
    typed = typed_module(mod)
    entry = entry_of(typed)
    learned = given if entry is None else {param.name for param in learned_parameters(typed[entry])} | given
    if made is not None:
        return _with_costs(_described(made.graph, made.weights, learned), made.graph, made.module)
    found, weights = graph.from_relay(typed, entry=entry, dims=dims)
    described = _described(found, weights, learned)
    try:
        relax = translate(typed, dims=dims)
    except Relay2RelaxError as error:
        return replace(described, not_counted=error.diagnostics[0].title)
    return _with_costs(described, found, relax)


def _described(found: MSCGraph, weights: Mapping[str, Array], learned: Collection[str]) -> Summary:
    """Return what a graph and its weights show; ``learned`` are parameters that are no inputs."""
    nodes = [node for part in found.subgraphs() for node in part.nodes]
    operators = Counter(node.optype for node in nodes if node.op or node.kind in _CALLS)
    begun = [found, *(found.functions[name] for name in found.entries)]
    given = [
        (f"{one.name}.{node.attrs.hint}" if found.entries else node.attrs.hint, node.outputs)
        for one in begun
        for node in map(one.find_node, one.params)
    ]
    held = [(of_array(value), value.shape) for value in weights.values()]
    held += [(t.dtype, t.shape) for hint, outputs in given if hint in learned for t in outputs]
    return Summary(
        name=found.name,
        inputs=tuple((hint, _type(outputs)) for hint, outputs in given if hint not in learned),
        outputs=tuple(_type([tensor]) for one in begun for tensor in one.get_outputs()),
        operators={name: Cost(calls) for name, calls in operators.most_common()},
        parameters=_held(held),
        symbols=tuple(prim.name for prim in found.prims if prim.optype in ("shape", "Var")),
        control=Counter(node.kind.value for node in nodes if node.kind in _CONTROL),
        functions=(*([found.name] if found.entries else []), *found.functions),
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


def _with_costs(summary: Summary, found: MSCGraph, relax: relax_ir.IRModule) -> Summary:
    """Return ``summary`` with what the nodes of its graph cost, and what ``relax`` has TensorIR
    for.

    What several calls of one function do counts once.
    """
    by_name: dict[str, Cost] = {}
    unknown: list[str] = []
    for part, known in costs_of_parts(found).items():
        for node in part.nodes:
            cost = known[node.name]
            if not node.op and node.kind not in _CALLS:
                continue
            if cost is None:
                unknown.append(node.optype)
            else:
                by_name[node.optype] = by_name.get(node.optype, Cost()).plus(_called(cost))
    said = replace(summary, as_tensorir=calls_as_tensorir(relax))
    if unknown:
        kinds = ", ".join(dict.fromkeys(unknown))
        return replace(said, not_counted=f"{counted(len(unknown), 'call')} of what has no tensor program: {kinds}")
    operators = {name: by_name.get(name, Cost(cost.calls)) for name, cost in summary.operators.items()}
    total = Cost()
    for one in operators.values():
        total = total.plus(one)
    return replace(said, operators=operators, total=total, peak_bytes=_peak_bytes(found))


def _called(cost: NodeCost) -> Cost:
    return Cost(1, cost.multiply_adds, cost.operations, cost.bytes)


def _peak_bytes(found: MSCGraph) -> int | None:
    """Return the bytes of tensors that are alive at once, None where branches, extents or the
    function that is called decide.
    """
    open_ = any(prim.optype != "Int" for prim in found.prims)
    if open_ or found.entries or any(node.kind in _CONTROL for part in found.subgraphs() for node in part.nodes):
        return None
    return peak(memory(found)).bytes


def _plain(cost: Cost) -> dict[str, int | str]:
    values = ((one.name, getattr(cost, one.name)) for one in fields(cost))
    return {name: value if isinstance(value, int) else str(value) for name, value in values}
