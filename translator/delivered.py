"""A Relax script that somebody wrote for a Relay module, compared with it.

A script is what ``convert`` wrote, what TVM printed, or what a person made of either. It is read
(``relax_ir.parse``) and never run as Python. Which of its parameters is which of Relay's is said by
the names; a scheduled script takes packed weights, which ``main_transform_params`` makes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from relay2relax import backends as running
from relay2relax import graph
from relay2relax.core.amounts import listed
from relay2relax.core.dtype import Array, of_array
from relay2relax.core.errors import Diagnostic, Relay2RelaxError, UnsupportedError
from relay2relax.core.errors.table import running as kinds
from relay2relax.core.tolerance import Tolerance
from relay2relax.ops.registry.types import TensorType, Type
from relay2relax.relax_ir import Function
from relay2relax.relax_ir import IRModule as RelaxModule
from relay2relax.relax_ir.ir.names import NameSupply
from relay2relax.relax_ir.ir.struct_info import StructInfo, TensorStructInfo, to_type
from relay2relax.relay_ir import IRModule
from relay2relax.relay_ir.inference.infer import typed_module
from relay2relax.tir.extent import is_any, static
from relay2relax.translator.arguments import Argument
from relay2relax.translator.as_tensorir import calls_as_tensorir
from relay2relax.translator.comparison import Trial, available_backends, require_backend
from relay2relax.translator.report import LeftOut, Report
from relay2relax.translator.work import in_words, work_of

_AHEAD = "main_transform_params"
_KERNELS = "its kernels are for a GPU"
_UNGUARDED = "apache-tvm checks no access to memory, so it is run only when asked for"


@dataclass(frozen=True, slots=True)
class Script:
    """A script and what lies beside it.

    ``name``  what rows call it. ``weights``  values of its parameters, by the script's names.
    ``names``  which parameter of Relay became which of the script's, where that is known.
    ``packed``  the parameters of Relay that ``main_transform_params`` takes, in order, where that
    is known. ``graph_text``  the document of the graph that was written with it, ``graph_name``
    what rows call that.
    """

    name: str
    module: RelaxModule
    weights: Mapping[str, Array] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    packed: tuple[str, ...] = ()
    graph_text: str = ""
    graph_name: str = "graph"

    @property
    def main(self) -> Function:
        """The function that is compared; raises Relay2RelaxError where there is none."""
        found = {var.name: one for var, one in self.module.functions.items() if isinstance(one, Function)}
        public = [name for name, one in found.items() if not one.private]
        if "main" not in found and len(public) != 1:
            title = f"{self.name} has no function main; it has: {listed(var.name for var in self.module.functions)}"
            help = f"name the one that is meant: --entry {public[-1]}" if public else ""
            raise Relay2RelaxError(Diagnostic(title, help=help), kind=kinds.NO_FUNCTION)
        return found["main" if "main" in found else public[0]]

    @property
    def is_packed(self) -> bool:
        """Whether ``main_transform_params`` makes some of what ``main`` takes."""
        return any(var.name == _AHEAD for var in self.module.functions)

    @property
    def entry(self) -> str:
        """The name of that function."""
        main = self.main
        return next(var.name for var, func in self.module.functions.items() if func is main)

    def weights_of(self, arrays: Mapping[str, Array]) -> dict[str, Array]:
        """Return ``arrays`` by the script's parameters: by name, or in the order of its weights,
        which stand behind ``num_input`` inputs.

        Raises Relay2RelaxError where neither fits.
        """
        params = self.main.params
        named = {param.name: arrays[param.name] for param in params if param.name in arrays}
        if named:
            return named
        weights = params[self.main.num_input :] if "num_input" in self.main.attrs else params[-len(arrays) :]
        pairs = list(zip(weights, arrays.values(), strict=False))
        types = [(param.info, TensorType(value.shape, of_array(value))) for param, value in pairs]
        if len(weights) == len(arrays) and all(_fits(info, type_) for info, type_ in types):
            return {param.name: value for param, value in pairs}
        title = (
            f"the params fit {self.name} neither by name nor by order: it takes "
            f"{listed(param.name for param in params)}; they have {listed(arrays)}"
        )
        raise Relay2RelaxError(title, kind=kinds.ARGUMENT)

    def relay_names(self, mod: IRModule) -> dict[str, str]:
        """Return which of the script's parameters is which of ``main`` of ``mod``.

        What is recorded counts first, then equal names, then equal places among the rest.
        """
        found = self._same_names(mod)
        return found | self.same_places(mod, found)

    def _same_names(self, mod: IRModule) -> dict[str, str]:
        there = {param.name for param in self.main.params}
        found = {self.names[p.name]: p.name for p in mod["main"].params if self.names.get(p.name) in there}
        for param in mod["main"].params:
            alike = {param.name, NameSupply().identifier(param.name)} & there - set(found)
            if param.name not in found.values() and alike:
                found[min(alike)] = param.name
        return found

    def same_places(self, mod: IRModule, named: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the parameters that only their places tell, among those that are not ``named``.

        None are where their numbers, or types at equal places, do not fit each other.
        """
        named = self._same_names(mod) if named is None else named
        packed = self.weights if self.is_packed else ()
        rest = [param for param in self.main.params if param.name not in named and param.name not in packed]
        left = [param for param in mod["main"].params if param.name not in named.values()]
        if len(rest) != len(left) or not all(_fits(a.info, mod.types[b]) for a, b in zip(rest, left, strict=True)):
            return {}
        return {a.name: b.name for a, b in zip(rest, left, strict=True)}

    def extents(self, mod: IRModule, given: Mapping[str, Array]) -> dict[str, tuple[int | None, ...]]:
        """Return which extents parameters of Relay have in the script, None for those that stay
        open.

        They are numbers there, or called as those of a value that is ``given``.
        """
        params = {param.name: param.info for param in self.main.params}
        infos = {relay: params[own] for own, relay in self.relay_names(mod).items() if own in params}
        shapes = {name: info.shape for name, info in infos.items() if isinstance(info, TensorStructInfo) and info.shape}
        known = {
            extent: size
            for name, shape in shapes.items()
            if name in given and given[name].ndim == len(shape)
            for extent, size in zip(shape, given[name].shape, strict=True)
        }
        return {
            name: tuple(size if (size := static(extent)) is not None else known.get(extent) for extent in shape)
            for name, shape in shapes.items()
        }

    def arguments(self, mod: IRModule, given: Sequence[Argument]) -> list[Argument]:
        """Return what ``main`` takes, ``given`` being the arguments of Relay's.

        Weights of the script come first; what it has no name for is packed by
        ``main_transform_params``. Raises Relay2RelaxError where a parameter has no value.
        """
        names = self.relay_names(mod)
        relay = dict(zip((param.name for param in mod["main"].params), given, strict=True))
        values: dict[str, Argument] = {script: relay[name] for script, name in names.items()} | dict(self.weights)
        missing = [param.name for param in self.main.params if param.name not in values]
        if missing and self.is_packed:
            weights = self.packed or tuple(name for name in relay if name not in names.values())
            made = running.transform_params(self.module, [_array(relay[name]) for name in weights])
            values |= {name: value for name, value in made.items() if name in missing}
            missing = [name for name in missing if name not in values]
        if missing:
            left = [name for name in relay if name not in names.values()]
            notes = (f"parameters of Relay that have no counterpart: {listed(left)}",) if left else ()
            title = f"{self.name} has parameters that Relay has no value for: {listed(missing)}"
            raise Relay2RelaxError(Diagnostic(title, notes=notes), kind=kinds.ARGUMENT)
        return [values[param.name] for param in self.main.params]


def _array(value: Argument) -> Array:
    if isinstance(value, tuple):
        raise UnsupportedError("a weight is a tuple", kind=kinds.ARGUMENT)
    return value


def _fits(info: StructInfo, type_: Type) -> bool:
    """Whether a parameter of a script may be one of Relay's, by rank, dtype and known extents."""
    try:
        own = to_type(info)
    except TypeError:
        return False
    if not isinstance(own, TensorType) or not isinstance(type_, TensorType):
        return type(own) is type(type_)
    if own.dtype != type_.dtype or own.rank != type_.rank:
        return False
    pairs = zip(own.shape, type_.shape, strict=True)
    return all(is_any(b) or static(a) is None or static(a) == static(b) for a, b in pairs)


def compare_script(
    mod: IRModule,
    script: Script,
    params: Mapping[str, Array] | None = None,
    inputs: Mapping[str, Array] | None = None,
    seed: int = 0,
    backends: Sequence[str] | None = None,
    expected: Mapping[str, Array] | Sequence[Array] | None = None,
    tolerance: Tolerance | None = None,
    patience: float = 600.0,
) -> Report:
    """Run ``script`` and Relay, and compare as :func:`relay2relax.translator.compare` does.

    Without ``backends`` it is every one at hand on which that takes, by estimate, no more than
    ``patience`` seconds in all; the report says which were left out. A backend that cannot express
    the script is left out as well. A script that a backend refuses, or that ends in an error, has a
    row that says so. Raises what running Relay raises, LimitError for limits that the script meets,
    CompilerError and TvmError where a backend is missing, and Relay2RelaxError where parameters of
    Relay and of the script do not go together.
    """
    mod = typed_module(mod)
    left_out: list[LeftOut] = []
    if backends is None:
        backends, left_out = within(script, patience)
    for backend in backends:
        require_backend(backend)
    trial = trial_of(mod, script, {**(params or {}), **(inputs or {})}, seed, expected, tolerance)
    return script_report(trial, script, backends, left_out)


def trial_of(
    mod: IRModule,
    script: Script,
    given: Mapping[str, Array],
    seed: int = 0,
    expected: Mapping[str, Array] | Sequence[Array] | None = None,
    tolerance: Tolerance | None = None,
) -> Trial:
    """Return the trial of ``mod`` for values that ``script`` takes as well.

    Raises what running Relay raises, and Relay2RelaxError for parameters that do not go together.
    """
    values = values_for_relay(script, mod, given)
    return Trial.of(mod, values, seed, expected, tolerance, script.extents(mod, values))


def values_for_relay(script: Script, mod: IRModule, given: Mapping[str, Array]) -> dict[str, Array]:
    """Return values for parameters of Relay: what is ``given``, and weights that lie beside the
    script.

    Raises Relay2RelaxError where a parameter of Relay has no counterpart in the script and no value
    either: what is drawn for it would not be what the script was made with.
    """
    names = script.relay_names(mod)
    found = {relay: script.weights[own] for own, relay in names.items() if own in script.weights} | dict(given)
    unknown = [p.name for p in mod["main"].params if p.name not in found and p.name not in names.values()]
    if unknown:
        title = f"{script.name} has no counterpart of these parameters of Relay: {listed(unknown)}"
        free = [p.name for p in script.main.params if p.name not in names and p.name not in script.weights]
        notes = (f"parameters of the script without one: {listed(free)}",) if free else ()
        help = "where the script has them in itself, or packed, give their values, with --params"
        raise Relay2RelaxError(Diagnostic(title, notes=notes, help=help), kind=kinds.ARGUMENT)
    return found


def script_report(trial: Trial, script: Script, backends: Sequence[str], left_out: Sequence[LeftOut] = ()) -> Report:
    """Run ``script`` on ``backends`` for the arguments of ``trial``, and return how it compares.

    Raises Relay2RelaxError where a parameter of the script has no value.
    """
    arguments = script.arguments(trial.module, trial.arguments)
    trial.sheet.left_out += left_out
    for backend in backends:

        def result(target: str = backend) -> object:
            machine = running.VirtualMachine(running.build(script.module, target=target))
            return machine[script.entry](*arguments)

        trial.sheet.attempt(script.name, backend, result)
    if script.graph_text and "numpy" in backends:
        trial.sheet.attempt(script.graph_name, "numpy", lambda: _graph_result(trial, script))
    placed = [f"{own} is {relay}" for own, relay in script.same_places(trial.module).items()]
    notes = [f"parameters of {script.name} that only their places tell: {listed(placed)}"] if placed else []
    return trial.report([*notes, *(f"{script.name}: {one}" for one in calls_as_tensorir(script.module))])


def _graph_result(trial: Trial, script: Script) -> object:
    """Return what the graph that was written gives, as Relay, with the constants of the module."""
    names = [param.name for param in trial.module["main"].params]
    values = dict(zip(names, trial.arguments, strict=True))
    found = graph.from_json(script.graph_text)
    left = {found.find_node(name).attrs.hint for name in found.params}
    bound = {name: _array(value) for name, value in values.items() if name not in left}
    _, weights = graph.from_relay(trial.module, bound)
    program = typed_module(graph.to_relay(found, weights))
    given = [values[param.name] for param in program["main"].params]
    return running.create_executor("debug", program, backend="numpy").evaluate()(*given)


def within(script: Script, patience: float, guarded: bool = False) -> tuple[tuple[str, ...], list[LeftOut]]:
    """Return the backends at hand on which ``script`` can be checked within ``patience`` seconds in
    all, by estimate, and the others.

    With ``guarded`` they are those that no program makes read or write outside of its tensors.
    """
    work = work_of(script.module)
    chosen: list[str] = []
    left_out: list[LeftOut] = []
    for backend in available_backends():
        needed = work.seconds(backend)
        if work.threads and backend != "numpy":
            left_out.append(LeftOut(script.name, backend, _KERNELS))
        elif needed > patience:
            left_out.append(LeftOut(script.name, backend, f"it takes about {in_words(needed)}"))
        elif guarded and backend == "tvm":
            left_out.append(LeftOut(script.name, backend, _UNGUARDED))
        else:
            chosen.append(backend)
            patience -= needed
    return tuple(chosen), left_out
