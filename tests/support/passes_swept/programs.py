"""A recorded program behind each pass, and what it gives there.

    recorded = Recorded.of(case)
    for program in tried(recorded, TRIALS).programs:
        print(wrong(program, recorded, OnNumpy()))

A program that a pass left as it was, and one that another pass made already, are not given again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from recorded_cases import REDUCTION, arguments, called, entry, flat, problem, typed_case, value

from passes_swept.trials import CHOOSING, COARSE, Keeps, Trial
from relay2relax.backends import create_executor
from relay2relax.backends.relay.executor import Evaluation
from relay2relax.backends.relay.kernels import CKernels, Signature, is_static, static_signatures
from relay2relax.backends.relay.machine import Machine
from relay2relax.backends.relay.values import AdtValue, RefValue
from relay2relax.core.dtype import Array, is_float, numpy_dtype, of_array
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.tolerance import tolerance_of
from relay2relax.relay_ir import Call, Constant, Function, IRModule, TypeInferenceError, infer_type, structural_equal
from relay2relax.relay_ir.ir.rewrite import nodes
from relay2relax.translator.chains import longest_chain


@dataclass(frozen=True)
class Recorded:
    """A recorded case, with its typed module and what it was called with."""

    case: Mapping[str, Any]
    module: IRModule
    entry: str
    given: Sequence[Any]

    @staticmethod
    def of(case: Mapping[str, Any]) -> Recorded:
        module, function = typed_case(case)
        return Recorded(case, module, entry(case), arguments(case, function))


@dataclass(frozen=True)
class Program:
    """What the passes ``names`` made, typed; ``keeps`` is what it has in common with before."""

    names: list[str]
    module: IRModule
    keeps: Keeps


@dataclass
class Tried:
    """How a case fared: passes that refused it, left it, made something that is ill-typed or ended
    in an error that is not ours, and the programs that were made.
    """

    refused: dict[str, str] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)
    faults: dict[str, str] = field(default_factory=dict)
    programs: list[Program] = field(default_factory=list)


def digest(mod: IRModule) -> str:
    """Return a name for a program: of equal texts, attributes and constants."""
    found = hashlib.sha256(mod.astext(show_meta_data=False, exact_floats=True).encode("utf-8", "surrogatepass"))
    for node in nodes(*mod.functions.values()):
        match node:
            case Constant():
                found.update(repr((node.data.shape, of_array(node.data))).encode())
                found.update(np.ascontiguousarray(node.data).tobytes())
            case Call() | Function():
                found.update(repr(node.attrs).encode("utf-8", "surrogatepass"))
    return found.hexdigest()


def tried(recorded: Recorded, trials: Iterable[Trial]) -> Tried:
    """Try passes on a program."""
    found = Tried()
    known: dict[tuple[str, Keeps], Program] = {}
    text = digest(recorded.module)
    for trial in trials:
        try:
            made = trial.made(recorded.module, recorded.entry)
        except TypeInferenceError as error:
            found.faults[trial.name] = f"ill-typed within: {error.diagnostics[0].title}"
            continue
        except Relay2RelaxError as error:
            found.refused[trial.name] = f"{type(error).__name__}: {error.diagnostics[0].title}"
            continue
        except Exception as error:  # noqa: BLE001
            found.faults[trial.name] = f"{type(error).__name__}: {error}"
            continue
        if made is recorded.module or structural_equal(made, recorded.module):
            found.left.append(trial.name)
            continue
        try:
            module = infer_type(made, declare_results=True)
        except Relay2RelaxError as error:
            found.faults[trial.name] = f"ill-typed: {error.diagnostics[0].title}"
            continue
        name = digest(module)
        if name == text:
            found.left.append(trial.name)
        elif (name, trial.keeps) in known:
            known[name, trial.keeps].names.append(trial.name)
        else:
            known[name, trial.keeps] = Program([trial.name], module, trial.keeps)
    found.programs = list(known.values())
    return found


def _key(signature: Signature) -> object:
    record, attrs, types = signature
    return record.name, attrs, types


class Way(Protocol):
    """How programs are run."""

    def __call__(self, mod: IRModule, recorded: Recorded) -> Any: ...


class OnNumpy:
    """Programs whose operators are the records' kernels."""

    def __call__(self, mod: IRModule, recorded: Recorded) -> Any:
        return create_executor("debug", mod).evaluate(recorded.entry)(*recorded.given)


@dataclass
class InC:
    """Programs whose operators are C functions, which are compiled once for all of them."""

    kernels: CKernels = field(default_factory=CKernels)
    # The calls of programs that agreed. A call is a kernel of its own, whatever is around it.
    proven: set[str] = field(default_factory=set)

    def is_new(self, mod: IRModule) -> bool:
        """Whether a program calls what no program did that agreed."""
        found = self._calls(mod)
        return found is None or not found <= self.proven

    def agreed(self, mod: IRModule) -> None:
        """Note that a program agreed."""
        self.proven |= self._calls(mod) or set()

    @staticmethod
    def _calls(mod: IRModule) -> set[str] | None:
        """Return the calls of a program, None where some depend on what it is given."""
        if any(isinstance(node, Call) and not is_static(ty) for node, ty in mod.types.items()):
            return None
        return {hashlib.sha256(repr(one).encode()).hexdigest() for one in map(_key, static_signatures(mod.types))}

    def prepare(self, modules: Iterable[IRModule]) -> None:
        """Compile what is new in some programs, at once."""
        self.kernels.prepare([one for mod in modules for one in static_signatures(mod.types)])

    def __call__(self, mod: IRModule, recorded: Recorded) -> Any:
        machine = Machine(mod, self.kernels, None, None)
        parameters = tuple((param.name, mod.types[param]) for param in mod[recorded.entry].params)
        run = Evaluation(recorded.entry, parameters, machine.function(recorded.entry), False)
        return run(*recorded.given)


def wrong(program: Program, recorded: Recorded, way: Way) -> str:
    """Run a program and return what is wrong with its result, nothing where it keeps what it has
    to.
    """
    match program.keeps:
        case Keeps.VALUES:
            return problem(way(program.module, recorded), recorded.case, program.module)
        case Keeps.FIRST:
            return problem(way(program.module, recorded)[0], recorded.case, program.module)
        case Keeps.FLOAT16 | Keeps.BFLOAT16:
            # Where the inputs can be said in the lower precision, what is not continuous does not
            # jump.
            dtype = "float16" if program.keeps is Keeps.FLOAT16 else "bfloat16"
            rounded = replace(recorded, given=[_rounded(one, dtype) for one in recorded.given])
            wanted = leaves(OnNumpy()(recorded.module, rounded))
            main = recorded.entry == "main"
            length = longest_chain(recorded.module, rounded.given) if main else None
            coarse = recorded.case["id"] in COARSE or CHOOSING & called(recorded.case["text"])
            bound = np.inf if coarse else tolerance_of(dtype, length or REDUCTION).relative
            return _near(leaves(way(program.module, rounded)), wanted, bound, 2**31 if coarse else 0)
        case Keeps.FAST:
            return _near(leaves(way(program.module, recorded)), recorded_leaves(recorded.case["out"]), 3e-3)
        case Keeps.QUANTA:
            return _near(leaves(way(program.module, recorded)), recorded_leaves(recorded.case["out"]), 3e-2, 3)


def _rounded(given: Any, dtype: str) -> Any:
    """Return an argument with its floats rounded to those of ``dtype``."""
    if isinstance(given, tuple):
        return tuple(_rounded(one, dtype) for one in given)
    if not isinstance(given, np.ndarray) or not is_float(of_array(given)):
        return given
    return given.astype(numpy_dtype(dtype)).astype(given.dtype)


def _near(results: Sequence[Array], wanted: Sequence[Array], relative: float, steps: int = 0) -> str:
    """Compare floats by what they may be off of their size and the largest, integers by steps."""
    if len(results) != len(wanted):
        return f"{len(results)} arrays, expected {len(wanted)}"
    for number, (one, other) in enumerate(zip(results, wanted, strict=True)):
        if one.shape != other.shape:
            return f"output {number}: shape {one.shape}, expected {other.shape}"
        gap = off(one, other)
        if gap > (relative if is_float(of_array(other)) else steps):
            return f"output {number}: off by {gap:.3g}"
    return ""


def leaves(got: Any) -> list[Array]:
    """Return the arrays of a result, those of data types and references among them."""
    match got:
        case tuple() | list():
            return [leaf for field in got for leaf in leaves(field)]
        case AdtValue(fields=fields):
            return leaves(fields)
        case RefValue(value=inside):
            return leaves(inside)
    return [np.asarray(got)]


def recorded_leaves(data: Mapping[str, Any]) -> list[Array]:
    """Return the arrays of a recorded value."""
    parts = data.get("tuple", data.get("fields", [data["ref"]] if "ref" in data else None))
    return flat(value(data)) if parts is None else [leaf for one in parts for leaf in recorded_leaves(one)]


def off(one: Array, other: Array) -> float:
    """Return by how much of the largest value floats are off, and by how much integers are."""
    if not is_float(of_array(other)):
        return float(np.max(np.abs(one.astype("int64") - other.astype("int64")), initial=0))
    a, b = one.astype("float64"), other.astype("float64")
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    if not np.isfinite(a[~same]).all() or not np.isfinite(b[~same]).all():
        return float("inf")
    finite = np.abs(b[np.isfinite(b)])
    return float(np.max(np.abs(a[~same] - b[~same]) / (np.abs(b[~same]) + finite.max(initial=0)), initial=0))
