"""Programs on backends, compared with Relay on numpy for every batch of values.

    matrix = parity.compare(mod, params, programs=["relay-vm", "via_graph", "net.onnx"])
    print(matrix)

Two sets of outputs are compared in one place, ``translator.report.Sheet``; this chooses what is run
and on what.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from relay2relax.core.dtype import Array
from relay2relax.core.errors import LimitError, Relay2RelaxError
from relay2relax.core.errors.extensions import ask
from relay2relax.core.tolerance import difference
from relay2relax.parity.float64 import Collected, Judgement, judge
from relay2relax.parity.matrix.batches import Batch
from relay2relax.parity.matrix.measures import Measured
from relay2relax.parity.matrix.model import BatchResult, Matrix
from relay2relax.parity.matrix.nodes import NodeReport, node_report, not_finite
from relay2relax.parity.matrix.repeats import repeat
from relay2relax.parity.programs.program import Program, Runner, backends_of, named_program
from relay2relax.relay_ir.inference.fixed_extents import fix_extents
from relay2relax.relay_ir.inference.infer import typed_module
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.translator.comparison import Trial
from relay2relax.translator.pipeline import Dims, lower_to_tir, via_graph
from relay2relax.translator.report import Comparer, LeftOut, Report, Tolerances, outputs_shown

PROGRAMS = ("relay", "lower_to_tir", "via_graph")
_TRANSLATE = {"lower_to_tir": lower_to_tir, "via_graph": via_graph}
_REFERENCE = ("relay", "numpy")


def programs_of(words: Sequence[str | Program], backends: Sequence[str]) -> tuple[Program, ...]:
    """Return programs by their names on each backend that can run them; the reference, Relay on
    numpy, is none of them.
    """
    found = []
    for word in words:
        if isinstance(word, Program):
            found.append(_asked(word))
            continue
        own = backends_of(word, tuple(backends))
        found += [named_program(word, one) for one in own if (word, one) != _REFERENCE]
    return tuple(found)


def _asked(program: Program) -> Program:
    """Return a program whose functions may be a user's: what they raise is an error of ours."""

    def prepare(mod: IRModule) -> Runner:
        return partial(ask, ask(program.prepare, mod, what=str(program)), what=str(program))

    return replace(program, prepare=prepare)


def compare(
    mod: IRModule,
    params: Mapping[str, Array] | None = None,
    *,
    programs: Sequence[str | Program] = PROGRAMS,
    backends: Sequence[str] = ("numpy", "c"),
    batches: Sequence[Batch] = (Batch(),),
    dims: Dims | None = None,
    tolerance: Tolerances | None = None,
    comparer: Comparer = difference,
    per_node: bool = False,
    float64: bool = False,
    repeats: bool = False,
    told: Callable[[str], None] = lambda _: None,
) -> Matrix:
    """Run ``programs`` on ``backends`` for every batch, and compare with Relay on numpy, or with
    what a batch expects.

    A program is a name (``relay``, ``relay-graph``, ``relay-vm``, ``lower_to_tir``, ``via_graph``),
    the path of an ONNX model, an exported program of PyTorch (``.pt2``) or the folder of a C
    library, or a :class:`Program`. ``params`` are values of weights. ``tolerance`` holds for all
    outputs, or for single ones by their numbers; ``comparer`` judges in place of
    ``core.tolerance.difference``. ``per_node`` compares intermediate values of the translations and
    says where NaN begin, ``float64`` says which results are nearest to that, ``repeats`` whether
    they are the same bits again. ``told`` hears what is done next.

    A program that ends in an error has a row that says so, one that cannot be expressed is left
    out. Raises what Relay on numpy raises, but for batches that ``may_fail``, and LimitError.

    >>> mod = relay_ir.parse("def @main(%x: Tensor[(3), float32]) { nn.relu(%x) }")
    >>> print(compare(mod, backends=("numpy",), batches=[Batch(seed=1), Batch(kind="extremes")]))
    all outputs agree
    """
    typed = typed_module(fix_extents(mod, dims))
    if comparer is not difference:
        comparer = partial(ask, comparer, what="the comparer")
    asked = _Asked(dict(params or {}), programs_of(programs, backends), per_node, float64, repeats, told)
    found = []
    for batch in batches:
        seen = _Seen()
        with outputs_shown(seen.measured.add), outputs_shown(seen.collected.add):
            trial, refusal = _trial(typed, batch, asked.weights, tolerance, comparer)
            if trial is not None:
                asked.run(trial)
        if trial is not None:
            found.append(asked.result(batch, trial, seen))
        else:
            left_out = (LeftOut("relay", "numpy", f"{batch.name}: {refusal}"),)
            found.append(BatchResult(batch.name, Report((), left_out=left_out)))
    return Matrix(tuple(found))


def _trial(
    mod: IRModule, batch: Batch, weights: Mapping[str, Array], tolerance: Tolerances | None, comparer: Comparer
) -> tuple[Trial | None, str]:
    """Return the trial of a batch, or why Relay refuses one that may fail."""
    try:
        given = batch.given(mod, weights)
        return Trial.of(mod, given, batch.seed, batch.expected, tolerance, batch.extents, comparer), ""
    except Relay2RelaxError as error:
        if not batch.may_fail or isinstance(error, LimitError):
            raise
        return None, error.diagnostics[0].title


@dataclass(slots=True)
class _Seen:
    """The outputs of a batch."""

    measured: Measured = field(default_factory=Measured)
    collected: Collected = field(default_factory=Collected)


@dataclass(slots=True)
class _Asked:
    """What is run on every batch, built once."""

    weights: Mapping[str, Array]
    programs: Sequence[Program]
    per_node: bool
    float64: bool
    repeats: bool
    told: Callable[[str], None]
    runners: dict[int, Runner] = field(default_factory=dict)

    def run(self, trial: Trial) -> None:
        """Run every program for the arguments of ``trial``."""
        for number, program in enumerate(self.programs):
            self.told(str(program))
            trial.sheet.attempt(program.name, program.backend, partial(self._run, number, trial))

    def result(self, batch: Batch, trial: Trial, seen: _Seen) -> BatchResult:
        """Look closer as it was asked, and return what was found."""
        notes: list[str] = []
        judgements: tuple[Judgement, ...] = ()
        if self.float64:
            self.told("Relay in float64")
            judgements = judge(trial.module, trial.arguments, seen.collected.results)
        inside: list[NodeReport] = []
        if self.per_node:
            notes += [str(one) for one in (not_finite(trial.module, trial.arguments),) if one is not None]
            inside = list(self._inside(trial))
        again = [one for program in self.programs if (one := repeat(program, trial))] if self.repeats else []
        pairs = zip(trial.module["main"].params, trial.arguments, strict=True)
        inputs = {p.name: one for p, one in pairs if p.name not in self.weights and isinstance(one, np.ndarray)}
        return BatchResult(
            batch.name, trial.report(notes), seen.measured.found, judgements, tuple(inside), tuple(again), inputs,
            trial.sheet.expected,
        )  # fmt: skip

    def _run(self, number: int, trial: Trial) -> object:
        if number not in self.runners:
            self.runners[number] = self.programs[number].prepare(trial.module)
        return self.runners[number](trial)

    def _inside(self, trial: Trial) -> Iterator[NodeReport]:
        for program in self.programs:
            translate = _TRANSLATE.get(program.name)
            if translate is not None and program.backend != "tvm":
                self.told(f"every value of {program}")
                length = trial.sheet.length
                yield node_report(trial.module, trial.arguments, program.name, translate, program.backend, length)
