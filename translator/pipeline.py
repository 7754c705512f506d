"""The one way from Relay to Relax, in two forms.

    Relay  --from_relay-->  graph  --to_relax-->  Relax  -->  weights last  -->  schedules

Both forms take it; they part where the graph's operators are written. ``via="tir"`` writes each as
``R.call_tir`` of a PrimFunc of its own, with operator name and attributes on the PrimFunc
(``op_name``, ``op_attrs``); equal calls share one. ``via="graph"`` writes Relax's own operators,
and ``R.call_tir`` only where Relax has none. Spans stay on the calls, names on the parameters, and
nothing is optimised on the way.

A common path is a common blind spot: what goes wrong in the graph goes wrong in both forms, and
comparing them with each other would not show it. So the reference is neither: Relay executed
directly (``backends.create_executor("debug", mod)``) is what ``compare`` compares both with.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, TypedDict

from typing_extensions import Unpack

from relay2relax import backends, relax_ir, relay_ir
from relay2relax.backends.gpu.device import DEFAULT_ARCH, device_of
from relay2relax.core.dtype import Array
from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import translating
from relay2relax.graph.model import MSCGraph
from relay2relax.graph.relax.exporter import relax_of_well_formed
from relay2relax.graph.relax.partitions import Partitions, check_partitions
from relay2relax.graph.relax.problems import Problems
from relay2relax.graph.relax.quantised import Quantised, check_quantised
from relay2relax.graph.relax.trace import Trace
from relay2relax.graph.relay.importer import Imported, check_library, from_relay_with_nodes
from relay2relax.ops.registry.symbolic import Dims
from relay2relax.relax_ir.ir import symbols
from relay2relax.relay_ir.inference.fixed_extents import dims_of, fix_extents
from relay2relax.relay_ir.io.params import bind_params
from relay2relax.relay_ir.transform import PartitionGraph
from relay2relax.relay_ir.transform.qdq.model import InFloats
from relay2relax.relay_ir.transform.qdq.rewrite import in_floats

__all__ = [
    "Dims",
    "Translation",
    "Via",
    "entry_functions",
    "entry_of",
    "fuses",
    "lower_to_tir",
    "translate",
    "translation",
    "via_graph",
]

Via: TypeAlias = Literal["tir", "graph"]

_MISSING = "cuda-missing"


class Options(TypedDict, total=False):
    """What :func:`translate` takes besides the module and the way, with its defaults."""

    params: Mapping[str, Array] | None
    weights: Collection[str]
    dims: Dims | None
    schedule: str | None
    partitions: Partitions
    qnn: Quantised


@dataclass(frozen=True, slots=True, eq=False)
class Translation:
    """A Relax ``module``, the Relay ``source`` that was translated, and the ``graph`` of that with
    its ``weights``.

    The source is what was given, where its types were known and there was nothing to partition.
    """

    module: relax_ir.IRModule
    source: relay_ir.IRModule
    graph: MSCGraph
    weights: Mapping[str, Array]


def translate(
    mod: relay_ir.IRModule | relay_ir.Function,
    via: Via = "graph",
    *,
    params: Mapping[str, Array] | None = None,
    weights: Collection[str] = (),
    dims: Dims | None = None,
    schedule: str | None = None,
    partitions: Partitions = "keep",
    qnn: Quantised = "integer",
) -> relax_ir.IRModule:
    """Translate ``main`` of ``mod``, or a function alone, to calls of TensorIR or Relax operators.

    A module of one function may call it otherwise. One without ``main`` is a library: each of its
    functions becomes a function of the Relax module, called as it was. They take no ``params``,
    ``weights``, ``dims`` or ``schedule``, which belong to one function.

    ``params`` are bound as constants by name. Every ``?`` of a parameter becomes a symbolic
    dimension; ``dims`` names, unifies or fixes them: ``{"data": ("batch", None, 224, 224)}``. Names
    that a frontend found (``mod.dims``) stand where ``dims`` has none.
    Branches become Relax's ``if``, recursive functions functions of the Relax module. With
    ``schedule="cpu"`` every operator becomes TensorIR, and the PrimFuncs are fused and carry
    schedules for this machine (:func:`relay2relax.backends.schedule_module`); with ``"cuda"`` they
    are kernels for GPUs, with ``"cuda:sm_90"`` for those of an architecture. With
    ``"cuda-missing"`` the program stays as it is, but for kernels in the place of that of which
    apache-tvm's default pipeline for GPUs makes none.

    ``weights`` names parameters that are weights although their values are not bound. They stand
    behind the inputs, which ``num_input`` of ``main`` counts. With a schedule, what depends on them
    alone is computed by ``main_transform_params`` (:func:`relay2relax.backends.transform_params`).

    Functions and regions for external compilers become functions with ``Codegen``, which TVM's
    ``RunCodegen`` looks for; ``partitions="inline"`` puts their bodies in the place of the calls.
    So does a schedule that fuses, over their bounds.

    Quantised operators become integer arithmetic, with Relay's bits. With ``qnn="qdq"`` they become
    operators of floats between ``R.dequantize`` and ``R.quantize``, whose results are off by some
    quanta (:class:`relay2relax.translator.Traced` says by how many).

    Raises UnsupportedError, listing all of it, for what Relax cannot express (values of data types,
    references and functions that only the running program knows), for what a library cannot be
    given, and for an unknown ``via``, ``schedule``, ``partitions`` or ``qnn``, and
    TypeInferenceError where ``mod`` is ill-typed.
    """
    done = passage(
        mod, via, params=params, weights=weights, dims=dims, schedule=schedule, partitions=partitions, qnn=qnn
    )
    return done.module


def translation(
    mod: relay_ir.IRModule | relay_ir.Function, via: Via = "graph", **options: Unpack[Options]
) -> Translation:
    """Do what :func:`translate` does, and return the graph that it went through as well."""
    done = passage(mod, via, **options)
    return Translation(done.module, done.source, done.found.graph, done.found.weights)


@dataclass(frozen=True, slots=True, eq=False)
class Passage:
    """What a translation meets: the module ``given``, its function ``entry`` (None for all of a
    library), the ``source`` with types and partitions, what was ``found`` in it, and the ``module``
    that it became.

    ``quantised`` says what became of quantised operators, where they are to be floats.
    """

    given: relay_ir.IRModule
    entry: str | None
    source: relay_ir.IRModule
    found: Imported
    module: relax_ir.IRModule
    quantised: Mapping[relay_ir.Expr, InFloats]


def passage(
    mod: relay_ir.IRModule | relay_ir.Function,
    via: Via = "graph",
    *,
    params: Mapping[str, Array] | None = None,
    weights: Collection[str] = (),
    dims: Dims | None = None,
    schedule: str | None = None,
    partitions: Partitions = "keep",
    qnn: Quantised = "integer",
    trace: Trace | None = None,
) -> Passage:
    """Do what :func:`translate` does, and return all that is met on the way.

    ``trace`` is told what becomes of the graph's nodes.
    """
    if via not in ("tir", "graph"):
        raise UnsupportedError(
            mistake(translating.CHOICE, what="way into Relax", name=repr(via), known="'tir', 'graph'")
        )
    given = relay_ir.IRModule({relay_ir.GlobalVar("main"): mod}) if isinstance(mod, relay_ir.Function) else mod
    check_partitions(partitions)
    check_quantised(qnn)
    if fuses(schedule):
        partitions = "inline"
    entry = entry_of(given)
    if entry is None:
        check_library(given, params, dims, weights, schedule)
    dims = dims_of(given, dims, entry)
    program = fix_extents(given, dims, entry) if dims and entry else given
    if partitions == "keep":
        program = PartitionGraph()(program)
    quantised: Mapping[relay_ir.Expr, InFloats] = {}
    if qnn == "qdq":
        # How far results are off is told by the weights.
        rewritten = in_floats(bind_params(program, params, entry) if params and entry else program)
        program, quantised = rewritten.module, rewritten.found
    found = from_relay_with_nodes(program, params, entry, dims)
    problems = Problems(found.place, program.source)
    made = relax_of_well_formed(found.graph, found.weights, dims, via == "tir", partitions, problems, trace, qnn)
    return Passage(given, entry, program, found, _scheduled(_weights_last(made, weights), schedule), quantised)


def lower_to_tir(
    mod: relay_ir.IRModule | relay_ir.Function,
    params: Mapping[str, Array] | None = None,
    dims: Dims | None = None,
    schedule: str | None = None,
    weights: Collection[str] = (),
) -> relax_ir.IRModule:
    """Do what :func:`translate` does with ``via="tir"``."""
    return translate(mod, "tir", params=params, weights=weights, dims=dims, schedule=schedule)


def via_graph(
    mod: relay_ir.IRModule | relay_ir.Function,
    params: Mapping[str, Array] | None = None,
    dims: Dims | None = None,
    schedule: str | None = None,
    weights: Collection[str] = (),
    qnn: Quantised = "integer",
) -> relax_ir.IRModule:
    """Do what :func:`translate` does with ``via="graph"``."""
    return translate(mod, "graph", params=params, weights=weights, dims=dims, schedule=schedule, qnn=qnn)


def entry_of(mod: relay_ir.IRModule) -> str | None:
    """Return the name of the function to translate: ``main``, or the only one; None for a library,
    of which all are.
    """
    names = [var.name for var in mod.functions]
    if len(names) == 1:
        return names[0]
    return "main" if "main" in names else None


def entry_functions(module: relax_ir.IRModule) -> dict[str, relax_ir.Function]:
    """Return the functions of a Relax module that are called from outside, by name: ``main``, or
    where there is none all that are not private.
    """
    public = {
        var.name: one for var, one in module.functions.items() if isinstance(one, relax_ir.Function) and not one.private
    }
    return {"main": public["main"]} if "main" in public else public


def _weights_last(program: relax_ir.IRModule, weights: Collection[str]) -> relax_ir.IRModule:
    """Return ``program`` whose ``main`` takes the parameters ``weights`` last, and counts the
    others as ``num_input``.

    That is how Relax tells weights from inputs. A parameter with extents that are not known stays
    an input.
    """
    if not weights:
        return program
    var, main = program.get_global_var("main"), program["main"]
    assert isinstance(main, relax_ir.Function)
    later = [param for param in main.params if param.name in weights and not symbols.used(param.info)]
    first = [param for param in main.params if param not in later]
    marked = replace(main, params=(*first, *later), attrs={**main.attrs, "num_input": len(first)})
    return replace(program, functions={**program.functions, var: marked})


def fuses(schedule: str | None) -> bool:
    """Whether a schedule makes PrimFuncs of all of a program, and fuses them."""
    return schedule is not None and schedule.partition(":")[0] != _MISSING


def _scheduled(program: relax_ir.IRModule, schedule: str | None) -> relax_ir.IRModule:
    """Return ``program`` with the PrimFuncs of a schedule; None leaves it alone."""
    if schedule is None:
        return program
    kind, _, arch = schedule.partition(":")
    if kind == "cuda":
        return backends.schedule_module(program, device=device_of(arch or DEFAULT_ARCH))
    if kind == _MISSING:
        return backends.within_limits(program, device_of(arch or DEFAULT_ARCH))
    if schedule != "cpu":
        known = "'cpu', 'cuda', 'cuda-missing', 'cuda:sm_80'"
        raise UnsupportedError(mistake(translating.CHOICE, what="schedule", name=repr(schedule), known=known))
    return backends.schedule_module(program)
