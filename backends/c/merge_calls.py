"""Dataflow blocks as one PrimFunc each: runs of ``call_tir`` are put together, so that they compile
as one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from relay2relax.backends.c.stages import Calls
from relay2relax.backends.runtime.extern_calls import is_interpreted
from relay2relax.core.dtype import Array, is_int, of_array
from relay2relax.core.passes import note_rewritten
from relay2relax.relax_ir.ir import expr as rx
from relay2relax.relax_ir.ir.names import NameSupply
from relay2relax.relax_ir.ir.struct_info import TensorStructInfo, TupleStructInfo
from relay2relax.relax_ir.ir.visit import Steps, all_sequences, bindings, operands, run, variables
from relay2relax.tir.analysis.by_numbers import proved_by_numbers
from relay2relax.tir.extent import as_prim
from relay2relax.tir.ir.expr import Buffer, PrimExpr, Var, const
from relay2relax.tir.ir.stmt import PrimFunc, Seq, Stmt
from relay2relax.tir.ir.visit import free_variables
from relay2relax.tir.normalize.executable_form import executable_form
from relay2relax.tir.te.inline import instantiate

# A run of more calls is cut: one C function of any length would take the compiler any time.
_MOST_CALLS = 10000
# What is put together is called after its calls, as long as that takes no more characters.
_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class Merged:
    """A module of which every run of ``call_tir`` is one call.

    ``constants`` are buffers of its PrimFuncs; ``made`` are the names of those that were put
    together, whose results are always new.
    """

    module: rx.IRModule
    constants: Mapping[Buffer, Array]
    made: frozenset[str]


def merge_blocks(
    module: rx.IRModule, apart: Collection[str] = (), only: Callable[[PrimFunc], bool] | None = None
) -> Merged:
    """Return ``module`` with every run of ``call_tir`` in its functions as one ``call_tir``; those
    ``apart`` stay as they are, and so do calls of PrimFuncs other than ``only`` these.

    The PrimFuncs that only those called are gone. Constant arguments become buffers of known
    content.
    """
    supply = NameSupply()
    for var in module.functions:
        supply.reserve(var.name)
    chosen = {v for v, f in module.functions.items() if isinstance(f, PrimFunc) and (only is None or only(f))}
    plain = {
        v: executable_form(f) if isinstance(f, PrimFunc) and v in chosen else f for v, f in module.functions.items()
    }
    module = rx.IRModule(plain, module.attrs)
    functions: dict[rx.GlobalVar, rx.Function | PrimFunc] = {}
    constants: dict[Buffer, Array] = {}
    for var, func in module.functions.items():
        if isinstance(func, rx.Function) and var.name in apart:
            functions[var] = func
        elif isinstance(func, rx.Function):
            functions[var] = _Merger(module, chosen, functions, constants, supply, var.name).function(func)
    made = frozenset(func.name for func in functions.values() if isinstance(func, PrimFunc))
    called = _called(functions.values())
    kept = called | (module.functions.keys() - chosen)
    functions |= {v: f for v, f in module.functions.items() if isinstance(f, PrimFunc) and v in kept}
    return Merged(replace(module, functions=functions), constants, made)


def _called(functions: Iterable[rx.Function | PrimFunc]) -> set[rx.GlobalVar]:
    found: set[rx.GlobalVar] = set()
    for func in functions:
        if not isinstance(func, rx.Function):
            continue
        for seq in all_sequences([func.body]):
            for binding in bindings(seq):
                match binding.value:
                    case rx.CallTIR(callee) | rx.Call(rx.GlobalVar() as callee):
                        found.add(callee)
                found.update(one for one in operands(binding.value) if isinstance(one, rx.GlobalVar))
    return found


@dataclass(slots=True)
class _Run:
    """A run of calls as it is put together."""

    inputs: dict[rx.Var, Buffer] = field(default_factory=dict)
    constants: dict[int, tuple[Array, Buffer]] = field(default_factory=dict)
    values: dict[rx.Var, tuple[Buffer, ...]] = field(default_factory=dict)
    infos: dict[Buffer, TensorStructInfo] = field(default_factory=dict)
    stages: list[Stmt] = field(default_factory=list)
    temporaries: list[Buffer] = field(default_factory=list)
    owners: dict[Buffer, str] = field(default_factory=dict)
    settled: set[Buffer] = field(default_factory=set)
    members: list[rx.Binding] = field(default_factory=list)


class _Merger:
    """Rewrites one function."""

    def __init__(
        self,
        module: rx.IRModule,
        chosen: Collection[rx.GlobalVar],
        functions: dict[rx.GlobalVar, rx.Function | PrimFunc],
        constants: dict[Buffer, Array],
        supply: NameSupply,
        name: str,
    ) -> None:
        self.module = module
        self.chosen = chosen
        self.functions = functions
        self.constants = constants
        self.supply = supply
        self.name = name
        self.uses: dict[rx.Var, int] = {}
        self.proved: dict[rx.GlobalVar, bool] = {}

    def function(self, func: rx.Function) -> rx.Function:
        for seq in all_sequences([func.body]):
            for binding in bindings(seq):
                for var in variables(binding.value):
                    self.uses[var] = self.uses.get(var, 0) + 1
            for var in variables(seq.body):
                self.uses[var] = self.uses.get(var, 0) + 1
        result: list[rx.SeqExpr] = []
        run(self.sequence(func.body, result))
        return replace(func, body=result[0])

    def sequence(self, seq: rx.SeqExpr, result: list[rx.SeqExpr]) -> Steps:
        blocks: list[rx.BindingBlock] = []
        for block in seq.blocks:
            done: list[rx.Binding | rx.MatchCast] = []
            current = _Run()
            for binding in block.bindings:
                if isinstance(binding, rx.Binding) and self.joins(binding, current):
                    self.add(binding, current)
                    if len(current.members) >= _MOST_CALLS:
                        done += self.finish(current)
                        current = _Run()
                    continue
                done += self.finish(current)
                current = _Run()
                inner: list[rx.SeqExpr] = []
                match binding.value:
                    case rx.If(_, then, otherwise):
                        yield self.sequence(then, inner)
                        yield self.sequence(otherwise, inner)
                        value: rx.Expr = replace(binding.value, true_branch=inner[0], false_branch=inner[1])
                        done.append(replace(binding, value=value))
                    case rx.Function(_, body):
                        yield self.sequence(body, inner)
                        done.append(replace(binding, value=replace(binding.value, body=inner[0])))
                    case _:
                        done.append(binding)
            done += self.finish(current)
            blocks.append(replace(block, bindings=tuple(done)))
        result.append(rx.SeqExpr(tuple(blocks), seq.body))

    # Putting a run together

    def joins(self, binding: rx.Binding, current: _Run) -> bool:
        """Whether a binding is part of a run: a call of a PrimFunc on tensors, or a name for a
        result of one.
        """
        match binding.value:
            case rx.CallTIR(func, args):
                callee = self.module.functions[func]
                known = func in self.chosen and isinstance(callee, PrimFunc) and not is_interpreted(callee)
                return known and all(map(_is_tensor, args))
            case rx.Var() as source:
                return source in current.values
            case rx.TupleGetItem(rx.Var() as source):
                return source in current.values
        return False

    def add(self, binding: rx.Binding, current: _Run) -> None:
        current.members.append(binding)
        match binding.value:
            case rx.Var() as source:
                current.values[binding.var] = current.values[source]
            case rx.TupleGetItem(rx.Var() as source, index):
                current.values[binding.var] = (current.values[source][index],)
            case rx.CallTIR() as call:
                self.add_call(binding.var, call, current)

    def add_call(self, var: rx.Var, call: rx.CallTIR, current: _Run) -> None:
        func = self.module.functions[call.func]
        assert isinstance(func, PrimFunc)
        given: list[Buffer | PrimExpr] = []
        for arg in _flat(call.args):
            number = _number(arg)
            given.append(self.operand(arg, current) if number is None else number)
        outputs = []
        for own, info in zip(func.buffers[-len(call.out) :], call.out, strict=True):
            assert info.shape is not None
            made = Buffer(own.name, tuple(as_prim(e) for e in info.shape), own.dtype)
            current.infos[made] = info
            outputs.append(made)
        stages, temporaries = instantiate(func, given, outputs, call.tir_args)
        current.stages += stages
        current.temporaries += temporaries
        current.owners |= dict.fromkeys((*outputs, *temporaries), func.name)
        if call.func not in self.proved:
            self.proved[call.func] = proved_by_numbers(func)
        # A tensor of another shape than the function says is looked at again.
        alike = all(
            not isinstance(actual, Buffer) or own.shape == actual.shape
            for own, actual in zip(func.buffers, (*given, *outputs), strict=True)
        )
        if self.proved[call.func] and alike:
            current.settled.update((*outputs, *temporaries))
        current.values[var] = tuple(outputs)
        for buffer in outputs:
            note_rewritten({var: buffer})

    def operand(self, arg: rx.Expr, current: _Run) -> Buffer:
        """Return the buffer of a tensor: one of this run, or an input of it."""
        if isinstance(arg, rx.Var) and arg in current.values:
            return current.values[arg][0]
        assert isinstance(arg, (rx.Var, rx.Constant))
        info = arg.info
        assert isinstance(info, TensorStructInfo)
        assert info.shape is not None
        shape = tuple(as_prim(extent) for extent in info.shape)
        if isinstance(arg, rx.Var):
            return current.inputs.setdefault(arg, Buffer(arg.name, shape, info.dtype))
        return current.constants.setdefault(id(arg.data), (arg.data, Buffer("constant", shape, info.dtype)))[1]

    def finish(self, current: _Run) -> list[rx.Binding | rx.MatchCast]:
        """Return the bindings that stand for the run: one call, and its results by their old
        names.
        """
        if sum(isinstance(one.value, rx.CallTIR) for one in current.members) == 0:
            return list(current.members)
        inside: dict[rx.Var, int] = {}
        for binding in current.members:
            for var in variables(binding.value):
                inside[var] = inside.get(var, 0) + 1
        shown = [b.var for b in current.members if self.uses.get(b.var, 0) > inside.get(b.var, 0)]
        outputs = list(dict.fromkeys(buffer for var in shown for buffer in current.values[var]))
        if not outputs:
            return []
        made = dict.fromkeys(b for buffers in current.values.values() for b in buffers)
        temporaries = [*current.temporaries, *(b for b in made if b not in outputs)]
        func, scalars = self.prim_func(current, outputs, temporaries)
        callee = rx.GlobalVar(func.name)
        self.functions[callee] = func
        self.constants |= {buffer: data for data, buffer in current.constants.values()}
        infos = tuple(current.infos[buffer] for buffer in outputs)
        call = rx.CallTIR(callee, tuple(current.inputs), infos, scalars)
        if len(outputs) == 1 and len(shown) == 1:
            return [rx.Binding(shown[0], call)]
        return self.results(call, outputs, shown, current)

    def results(
        self, call: rx.CallTIR, outputs: list[Buffer], shown: list[rx.Var], current: _Run
    ) -> list[rx.Binding | rx.MatchCast]:
        info = call.out[0] if len(outputs) == 1 else TupleStructInfo(call.out)
        whole = rx.Var(f"{call.func.name}_result", info, dataflow=False)
        done: list[rx.Binding | rx.MatchCast] = [rx.Binding(whole, call)]
        parts: dict[Buffer, rx.Var] = {}
        for number, buffer in enumerate(outputs):
            if len(outputs) == 1:
                parts[buffer] = whole
                continue
            parts[buffer] = rx.Var(f"{whole.name}_{number}", call.out[number])
            done.append(rx.Binding(parts[buffer], rx.TupleGetItem(whole, number)))
        for var in shown:
            buffers = current.values[var]
            value: rx.Expr = parts[buffers[0]] if len(buffers) == 1 else rx.Tuple(tuple(parts[b] for b in buffers))
            done.append(rx.Binding(var, value))
        return done

    def prim_func(
        self, current: _Run, outputs: list[Buffer], temporaries: list[Buffer]
    ) -> tuple[PrimFunc, tuple[PrimExpr, ...]]:
        inputs = list(current.inputs.values())
        handles = {Var(b.name, "handle"): b for b in (*inputs, *outputs)}
        order = tuple(handles)
        body = Seq(tuple(current.stages))
        calls = [one.value for one in current.members if isinstance(one.value, rx.CallTIR)]
        name = self.supply.fresh(_title([call.func.name for call in calls]))
        func = PrimFunc(
            name,
            order,
            handles,
            body,
            tuple(temporaries),
            len(outputs),
            origin=Calls(current.owners, frozenset(current.settled)),
        )
        free = tuple(free_variables(func))
        return replace(func, params=(*order[: len(inputs)], *free, *order[len(inputs) :])), free


def _title(calls: Sequence[str]) -> str:
    """Return a name for what ``calls`` become together, as TVM's FuseOps makes one."""
    shown = 0
    while shown < len(calls) and len("_".join(calls[: shown + 1])) <= _LONGEST_NAME:
        shown += 1
    rest = [f"and_{len(calls) - shown}_more"] if shown < len(calls) else []
    return "_".join(["fused", *calls[:shown], *rest])


def _is_tensor(arg: rx.Expr) -> bool:
    if isinstance(arg, rx.Tuple):
        return all(_is_tensor(one) for one in arg.fields)
    if isinstance(arg, rx.Constant):
        return True
    return isinstance(arg, rx.Var) and isinstance(arg.info, TensorStructInfo) and arg.info.shape is not None


def _flat(args: Sequence[rx.Expr]) -> Iterator[rx.Expr]:
    for arg in args:
        if isinstance(arg, rx.Tuple):
            yield from _flat(arg.fields)
        else:
            yield arg


def _number(arg: rx.Expr) -> PrimExpr | None:
    """Return a constant of one element as a number of the program."""
    if not isinstance(arg, rx.Constant) or arg.data.size != 1:
        return None
    dtype = of_array(arg.data)
    if dtype in ("float32", "float64") or is_int(dtype) or dtype == "bool":
        return const(arg.data.item(), dtype)
    return None
