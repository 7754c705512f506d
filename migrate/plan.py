"""What will become of a model, said before anything is converted or written.

    plan(mod)  ->  verdict, operators, what is lost, who takes the result, how long it takes

The model is translated in memory, which takes little; nothing is built and nothing is run.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from relay2relax import relay_ir, translator
from relay2relax.backends.tvm.limits import missing_kernels
from relay2relax.core.dtype import Array
from relay2relax.core.errors import Diagnostic, ExitCode, Relay2RelaxError
from relay2relax.graph import MSCGraph
from relay2relax.migrate.takers import takers
from relay2relax.migrate.verdict import Verdict
from relay2relax.parity.tables import data_frame, html_table
from relay2relax.relay_ir.inference.infer import typed_module
from relay2relax.translator.summary import Summary, summarize
from relay2relax.translator.work import work_of

_UNREADABLE = (ExitCode.INPUT, ExitCode.USAGE)


@dataclass(frozen=True, slots=True)
class Plan:
    """What will become of one model.

    ``operators``  what each of Relay's becomes, with the reasons of TensorIR. ``receipt``  how many
    things that the model says are kept, moved, implied and dropped; ``dropped``  which are gone,
    and why. ``open_inputs``  types of the inputs whose extents are only known at run time.
    ``weight_bytes``  of parameters with learned values and constants. ``peak_bytes``  of other
    tensors that are alive at once, None where extents or branches leave it open. ``operations``
    arithmetic on floats of one run. ``seconds``  what planning took, and about how long building
    and one run take on each backend. ``takers``  which backends take the result, "" where one does.
    ``missing_kernels``  the operators of which apache-tvm's default pipeline makes no kernels for
    GPUs, and why: there they get ours, as ``schedule="cuda-missing"`` prints them.
    ``problems``  every mistake, where it cannot be read or translated.
    """

    model: str
    verdict: Verdict
    operators: tuple[translator.Becomes, ...] = ()
    receipt: Mapping[str, int] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    open_inputs: Mapping[str, str] = field(default_factory=dict)
    weight_bytes: int = 0
    peak_bytes: int | None = None
    operations: str = "0"
    seconds: Mapping[str, float] = field(default_factory=dict)
    takers: Mapping[str, str] = field(default_factory=dict)
    missing_kernels: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[Diagnostic, ...] = ()

    @property
    def calls(self) -> int:
        """How many operators are called."""
        return sum(one.calls for one in self.operators)

    @property
    def as_tensorir(self) -> tuple[translator.Becomes, ...]:
        """The operators of which calls become TensorIR."""
        return tuple(one for one in self.operators if one.tensorir)

    def why(self) -> Iterator[str]:
        """Yield why the model does not fare better: problems, what becomes TensorIR, what is
        lost.
        """
        for problem in self.problems:
            yield f"{problem.title} ({problem.kind.code})" if problem.kind is not None else problem.title
        for row in self.as_tensorir:
            yield f"{row.operator}: {', '.join(row.why)}" if row.why else row.operator
        yield from (f"dropped: {said}" for said in self.dropped)

    def memory(self) -> str:
        """Return in words what a run takes: weights, and other tensors with nothing fused."""
        peak = "not known, --dims says the open extents"
        if self.peak_bytes is not None:
            peak = f"{self.peak_bytes / 1e6:.1f} MB with nothing fused"
        return f"weights {self.weight_bytes / 1e6:.1f} MB, tensors alive at once {peak}"

    def times(self) -> str:
        """Return in words about how long building and one run take on each backend."""
        return ", ".join(f"{name} {seconds:.1f} s" for name, seconds in self.seconds.items() if name != "planning")

    def to_dataframe(self) -> Any:
        """Return a row for each operator as a frame of pandas.

        Raises UnsupportedError where that is not installed.
        """
        return data_frame(self._rows())

    def _rows(self) -> list[dict[str, object]]:
        return [asdict(one) for one in self.operators]

    def _repr_html_(self) -> str:
        said = "; ".join((f"{self.model}: {self.verdict.value}", *self.why()))
        return html_table([one.name for one in fields(translator.Becomes)], self._rows(), said)

    def to_json(self) -> dict[str, object]:
        """Return the plan as plain values; of problems their codes and titles."""
        return {
            "model": self.model,
            "verdict": self.verdict.value,
            "calls": self.calls,
            "operators": [asdict(one) for one in self.operators],
            "receipt": dict(self.receipt),
            "dropped": list(self.dropped),
            "open_inputs": dict(self.open_inputs),
            "weight_bytes": self.weight_bytes,
            "peak_bytes": self.peak_bytes,
            "operations": self.operations,
            "seconds": {name: round(value, 3) for name, value in self.seconds.items()},
            "takers": {name: {"takes": not why, "why_not": why} for name, why in self.takers.items()},
            "missing_kernels": dict(self.missing_kernels),
            "problems": [
                {"code": one.kind.code if one.kind is not None else None, "title": one.title, "place": _place(one)}
                for one in self.problems
            ],
        }


def plan(
    mod: relay_ir.IRModule,
    params: Mapping[str, Array] | None = None,
    dims: translator.Dims | None = None,
    *,
    name: str = "main",
    via: translator.Via = "graph",
) -> Plan:
    """Return what becomes of ``mod``, called ``name``, when it is converted ``via`` the graph or
    TensorIR.

    ``params`` are values of parameters by name, and ``dims`` names or fixes extents, as
    ``translator.translate`` takes them. What cannot be translated raises nothing: it is a plan with
    the verdict ``refused`` and all problems.

    >>> mod = relay_ir.parse("def @main(%x: Tensor[(?, 4), float32]) { nn.relu(%x) }")
    >>> plan(mod).verdict
    <Verdict.FINE: 'fine'>
    """
    start = time.perf_counter()
    try:
        typed = typed_module(mod)
        made = translator.translate_with_map(typed, via, weights=tuple(params or ()), dims=dims)
        described = summarize(typed, params, dims, made)
    except Relay2RelaxError as error:
        return refused(name, error)
    operators = translator.what_becomes(made.graph, made.module, via == "tir")
    took = time.perf_counter() - start
    work = work_of(made.module)
    gone = Counter(_said(item) for item in made.map.receipt if item.fate is translator.Fate.DROPPED)
    dropped = tuple(f"{said}, {count} times" if count > 1 else said for said, count in gone.items())
    return Plan(
        name,
        _verdict(operators, dropped, via),
        operators,
        made.map.counts(),
        dropped,
        _open_inputs(made.graph, described),
        sum(held.bytes for held in described.parameters.values()),
        described.peak_bytes,
        str(described.total.operations),
        {"planning": took, **{one: work.seconds(one) for one in ("numpy", "c", "tvm")}},
        takers(made.module),
        missing_kernels(made.module),
    )


def refused(name: str, error: Relay2RelaxError) -> Plan:
    """Return the plan of a model that ends in ``error``: unreadable, or else refused."""
    verdict = Verdict.UNREADABLE if error.first_kind.exit in _UNREADABLE else Verdict.REFUSED
    return Plan(name, verdict, problems=error.diagnostics)


def _verdict(operators: tuple[translator.Becomes, ...], dropped: tuple[str, ...], via: translator.Via) -> Verdict:
    if dropped:
        return Verdict.LOSSY
    # By way of TensorIR everything is, because it is asked for.
    return Verdict.TENSORIR if via == "graph" and any(one.tensorir for one in operators) else Verdict.FINE


def _said(item: translator.Item) -> str:
    return f"{item.aspect} {item.name}: {item.note}" if item.note else f"{item.aspect} {item.name}"


def _open_inputs(graph: MSCGraph, described: Summary) -> dict[str, str]:
    """Return the types of inputs that have extents without a number."""
    nodes = map(graph.find_node, graph.params)
    open_ = {node.attrs.hint for node in nodes if any(-1 in tensor.shape for tensor in node.outputs)}
    return {name: type_ for name, type_ in described.inputs if name in open_}


def _place(problem: Diagnostic) -> str:
    return str(problem.where) if problem.where is not None else problem.file
