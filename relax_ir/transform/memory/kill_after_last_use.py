"""KillAfterLastUse: tensors, tuples and storages are released when nobody needs them any more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from relay2relax.relax_ir.inference.memory import AllocStorage, Kill, memory_call, read_memory_call
from relay2relax.relax_ir.ir.expr import Binding, BindingBlock, Function, If, IRModule, MatchCast, SeqExpr, Var
from relay2relax.relax_ir.ir.struct_info import TensorStructInfo, TupleStructInfo
from relay2relax.relax_ir.ir.visit import all_sequences, bindings, sequences, variables
from relay2relax.relax_ir.transform.canonicalize_bindings import CanonicalizeBindings
from relay2relax.relax_ir.transform.rewriting.mutator import Mutator, RelaxPass


@dataclass(frozen=True, slots=True)
class KillAfterLastUse(RelaxPass):
    """Say after the last use of a tensor, a tuple or a storage that it is not used any more.

    Bindings are made canonical before, so that a tensor has one name and is released once. What a
    sequence returns stays.
    """

    opt_level: ClassVar[int] = 0

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with its memory released."""
        return _Killer(CanonicalizeBindings().transform(mod)).module()


class _Killer(Mutator):
    def finish(self, seq: SeqExpr, owner: If | Function) -> SeqExpr:
        if any(block.dataflow for block in seq.blocks):
            return seq
        last: dict[Var, int] = {}
        own: list[Var] = []
        # A cast, or an annotation that is kept, is another name of what it looks at.
        memory: dict[Var, Var] = {}
        order = list(bindings(seq))
        for number, binding in enumerate(order):
            call = read_memory_call(binding.value)
            if isinstance(call, Kill):
                return seq  # The memory of this sequence is released already.
            last.update((memory.get(var, var), number) for var in _used(binding))
            if isinstance(binding.value, Var):
                memory[binding.var] = memory.get(binding.value, binding.value)
            elif isinstance(call, AllocStorage) or _holds_memory(binding.var):
                own.append(binding.var)
        for var in variables(seq.body):
            last.pop(memory.get(var, var), None)
        dying: dict[int, list[Var]] = {}
        for var in own:
            if var in last:
                dying.setdefault(last[var], []).append(var)
        made: list[Binding | MatchCast] = []
        for number, binding in enumerate(order):
            released = (memory_call(Kill(var)) for var in dying.get(number, ()))
            made += (binding, *(Binding(Var("_", TupleStructInfo()), call) for call in released))
        return SeqExpr((BindingBlock(tuple(made)),), seq.body) if len(made) > len(order) else seq


def _holds_memory(var: Var) -> bool:
    match var.info:
        case TensorStructInfo():
            return True
        case TupleStructInfo(fields):
            return bool(fields)
    return False


def _used(binding: Binding | MatchCast) -> list[Var]:
    """Return the variables that a binding uses, those inside of branches and local functions among
    them.
    """
    found = list(variables(binding.value))
    for seq in all_sequences(sequences(binding.value)):
        found += [var for inner in bindings(seq) for var in variables(inner.value)]
        found += variables(seq.body)
    return found
