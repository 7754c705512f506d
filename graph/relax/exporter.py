"""From the graph to Relax: operator nodes become Relax operators, branches Relax's ``if``,
recursion Relax functions.

Calls of functions are inlined. A recursive function becomes a private function of the Relax module;
what it captures is passed behind its own arguments. Functions for external compilers stay functions
(``partitions.py``). What Relax has no words for (data types, references, functions as values) is
worked out here, as far as the program says beforehand what it is (``values.py``).

This file says which functions are built. ``control.py`` walks over their nodes, ``calls.py`` and
``nodes.py`` say what these become, and ``translation.py`` keeps what is known so far.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from relay2relax.core.collection import collection_paused
from relay2relax.core.dtype import Array
from relay2relax.core.errors import UnsupportedError
from relay2relax.core.progress import going_on
from relay2relax.graph.check import check_well_formed
from relay2relax.graph.fused import unfuse
from relay2relax.graph.model import GraphError, MSCGraph
from relay2relax.graph.relax.branches import with_effects
from relay2relax.graph.relax.calls import declared_result
from relay2relax.graph.relax.control import walked
from relay2relax.graph.relax.frames import Entry, Frame
from relay2relax.graph.relax.functions import called_functions
from relay2relax.graph.relax.fusion import Fused, check_fused
from relay2relax.graph.relax.partitions import Partitions, check_partitions, mark_of
from relay2relax.graph.relax.problems import Problems
from relay2relax.graph.relax.quantised import Quantised, check_quantised
from relay2relax.graph.relax.restore import restored
from relay2relax.graph.relax.signatures import hint_of, parameter_of, parameter_type
from relay2relax.graph.relax.trace import Trace
from relay2relax.graph.relax.translation import Translation
from relay2relax.graph.relax.values import Closure, Lifted, Value
from relay2relax.ops.registry.symbolic import Dims, name_extents, widened
from relay2relax.relax_ir import IRModule
from relay2relax.relax_ir.build.emitter import OpEmitter
from relay2relax.relax_ir.ir import symbols
from relay2relax.relax_ir.ir.struct_info import ObjectStructInfo, StructInfo
from relay2relax.relax_ir.ir.visit import run
from relay2relax.relax_ir.transform import ConvertToDataflow


def to_relax(
    graph: MSCGraph,
    weights: Mapping[str, Array],
    dims: Dims | None = None,
    lowered: bool = False,
    partitions: Partitions = "keep",
    qnn: Quantised = "integer",
    fused: Fused = "operators",
) -> IRModule:
    """Return the graph as a Relax module with the function ``graph.name``, and private ones where
    it needs them.

    The graph of a Relax program becomes that program again. Of one that was made of Relay, operator
    nodes become Relax operators as their records say, or ``call_tir`` where Relax has none for
    them; with ``lowered`` each becomes ``call_tir``. ``weights`` become constants, not copied.
    Every ``?`` of a parameter becomes a symbolic dimension; ``dims`` names or unifies them.
    Functions for external compilers become functions with ``Codegen`` or ``Composite``, or with
    ``partitions="inline"`` give way to their bodies. With ``qnn="qdq"`` ``qnn.quantize`` becomes
    R.quantize, which rounds halves otherwise. A fused node becomes what its pattern says
    (``graph.register_pattern``), with ``fused="functions"`` that as a private function with
    ``Composite``, with ``fused="parts"`` or ``lowered`` what its parts become.

    Raises UnsupportedError for data types, references and functions that only the running program
    knows, and for an unknown ``partitions``, ``qnn`` or ``fused``; GraphError where a weight is
    missing, and where ``dims`` or ``lowered`` are asked of a Relax program.
    """
    check_partitions(partitions)
    check_quantised(qnn)
    check_fused(fused)
    check_well_formed(graph)
    if fused == "parts" or lowered:
        graph = replace(unfuse(graph), functions={name: unfuse(one) for name, one in graph.functions.items()})
    return relax_of_well_formed(graph, weights, dims, lowered, partitions, qnn=qnn, fused=fused)


@collection_paused()
def relax_of_well_formed(
    graph: MSCGraph,
    weights: Mapping[str, Array],
    dims: Dims | None = None,
    lowered: bool = False,
    partitions: Partitions = "keep",
    problems: Problems | None = None,
    trace: Trace | None = None,
    qnn: Quantised = "integer",
    emitter: type[OpEmitter] = OpEmitter,
    fused: Fused = "operators",
) -> IRModule:
    """Do what :func:`to_relax` does, for a graph that nobody could have changed since it was made.

    Looking through all of its nodes once more would take a tenth of the time. ``problems`` know
    where nodes stand, and ``trace`` is told what becomes of them. ``emitter`` makes operators'
    calls.
    """
    if graph.is_relax:
        if dims or lowered:
            raise GraphError(f"{graph.name!r} is a Relax program: its dimensions have names, its operators stay")
        return restored(graph, weights, fused)
    noted = problems or Problems()
    export = Translation(
        graph, weights, lowered, partitions == "keep", noted, trace, qnn == "qdq", emitter, fused == "functions"
    )
    export.walk = partial(walked, export)
    _build(export, dims)
    module = with_effects(export.builder.get()) if export.effects else export.builder.get()
    return ConvertToDataflow()(module) if export.branches else module


def _build(export: Translation, dims: Dims | None) -> None:
    """Build the entry functions, then those that they turned out to need.

    ``dims`` are those of the first one. Raises UnsupportedError with what is refused in any of
    them.
    """
    entries = [_entry_of(export, name, dims if name == export.main.name else None) for name in _entry_names(export)]
    export.inputs = [param for one in entries for param in one.params]
    for one in entries:
        # Before helpers get their names, and before others call them.
        infos = [param.info for param in one.params]
        var = export.builder.declare(one.closure.name, infos, one.ret or ObjectStructInfo())
        if one.ret is not None:
            export.lifted[one.closure] = Lifted(var, ())
    for one in entries:
        export.emitter.symbols = one.symbols
        values: dict[str, Value] = dict(zip(one.closure.graph.params, one.params, strict=True))
        attrs = one.mark.attrs() if one.mark is not None else None
        with _refusals(export), export.builder.function(one.closure.name, one.params, attrs) as var:
            if export.trace is not None:
                export.trace.made(one.closure, var)
            _body(export, one.closure, values, one.ret, bool(one.mark and one.mark.compiler), outside=True)
    _lifted_functions(export)
    export.problems.check()


def _entry_of(export: Translation, name: str, dims: Dims | None) -> Entry:
    """Return what is to be built of the function ``name``, which is called from outside."""
    graph = export.graphs[name]
    nodes = [graph.find_node(param) for param in graph.params]
    types, names = widened(name_extents([(hint_of(one), parameter_type(graph, one)) for one in nodes], dims))
    params = [parameter_of(one, type_, export.problems) for one, type_ in zip(nodes, types, strict=True)]
    closure = export.globals[name] = Closure(graph, name=name, recursive=name in export.recursive)
    ret: StructInfo | None = None
    if closure.recursive:
        with _refusals(export):
            ret = declared_result(export, closure, params)
    return Entry(closure, params, names, ret, export.mark(closure, ()))


def _entry_names(export: Translation) -> Iterator[str]:
    """The names of the functions that are called from outside.

    In a library, a function for an external compiler that others call comes with them.
    """
    called = {one for name, graph in export.graphs.items() for one in called_functions(graph) if one != name}
    for name in (export.main.name, *export.main.entries):
        mark = mark_of(export.graphs[name]) if export.partitions and name in called else None
        if mark is None or not export.main.entries:
            yield name


def _lifted_functions(export: Translation) -> None:
    """Build the functions that others turned out to need."""
    while export.waiting:
        one = export.waiting.pop()
        mark = one.mark
        codegen = mark is not None and bool(mark.compiler)
        attrs = mark.attrs() if mark is not None else None
        name = one.target.var.name
        with _refusals(export), export.builder.function(name, one.params, attrs, private=not codegen):
            _body(export, one.closure, one.values, one.ret, codegen)


@contextmanager
def _refusals(export: Translation) -> Iterator[None]:
    """Note what is refused while the block builds a function, and go on to the next one."""
    try:
        yield
    except UnsupportedError as error:
        export.problems.add("", error)


def _body(
    export: Translation,
    closure: Closure,
    values: dict[str, Value],
    ret: StructInfo | None,
    codegen: bool = False,
    outside: bool = False,
) -> None:
    """Emit a function's body; its result is said to be ``ret`` where that is given.

    One for an external compiler (``codegen``) holds local functions, which stand in no dataflow
    block. One that is called from ``outside`` gives values of data types as tuples.
    """
    frame = Frame(closure.graph, values, object(), codegen=codegen)
    dataflow = not (export.branches or codegen)
    if dataflow:
        export.builder.begin_dataflow()
    with going_on("nodes of Relax", lambda: (len(frame.values), len(frame.graph.nodes))):
        run(export.walk(frame))
    export.problems.check()
    if export.trace is not None:
        export.trace.begin(closure.graph.result)
    outcome = frame.values[closure.graph.result]
    if outside:
        outcome = export.as_tuples(outcome)
    result = export.as_relax(closure.graph.find_node(closure.graph.result), outcome)
    if ret is not None and symbols.join(ret, export.builder.struct_info(result)) != ret:
        result = export.builder.match_cast(result, ret)
    if dataflow:
        result = export.builder.emit_output(result)
        export.builder.end_dataflow()
    export.builder.emit_func_output(result)
    if export.trace is not None:
        export.trace.end(result)
