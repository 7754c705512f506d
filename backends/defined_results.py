"""Results and temporaries of tensor programs are what the programs say: elements that one does not
write are 0.

Memory that is handed out holds what was in it before. An operator's own program writes all of it;
of a script that is proved (``tir/analysis/coverage.py``), or the tensor begins with zeros.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from relay2relax.ops.registry.lower import Origin
from relay2relax.relax_ir.ir.expr import Binding, Call, CallTIR, Function, GlobalVar, IRModule, MatchCast
from relay2relax.relax_ir.ir.names import NameSupply
from relay2relax.relax_ir.ir.visit import all_sequences, bindings, operands
from relay2relax.relax_ir.transform.rewriting.mutator import Mutator
from relay2relax.tir.analysis.coverage import fills
from relay2relax.tir.ir.expr import Buffer, Var, binary, const, logical_and
from relay2relax.tir.ir.stmt import Allocate, Block, BlockRealize, BufferStore, For, If, IterKind, PrimFunc, Seq, Stmt
from relay2relax.tir.ir.visit import map_stmt
from relay2relax.tir.normalize.executable_form import executable_form
from relay2relax.tir.normalize.kernels import has_kernels


def with_defined_results(module: IRModule, kernels: bool = False) -> IRModule:
    """Return ``module`` with programs that write all of their temporaries, and for ``call_tir`` all
    of their results.

    ``kernels`` of GPUs stay what they are: who runs them as such begins with zeros in temporaries.

    Who calls a program on memory of its own, as ``call_tir_inplace`` does, finds there what was in
    it.
    """
    module = _with_defined_temporaries(module, kernels)
    results = {var: func for var, func in module.functions.items() if isinstance(func, PrimFunc)}
    changed = {var: made for var, func in results.items() if (made := _defined(func, kernels)) is not func}
    if not changed:
        return module
    others = _called_otherwise(module)
    supply = NameSupply()
    for var in module.functions:
        supply.reserve(var.name)
    functions = dict(module.functions)
    copies: dict[GlobalVar, GlobalVar] = {}
    for var, func in changed.items():
        if var not in others:
            functions[var] = func
            continue
        copies[var] = GlobalVar(supply.fresh(f"{var.name}_defined"))
        functions[copies[var]] = replace(func, name=copies[var].name, private=True)
    changed_module = replace(module, functions=functions)
    return _Caller(changed_module, copies).module() if copies else changed_module


def _with_defined_temporaries(module: IRModule, kernels: bool) -> IRModule:
    functions = {
        var: made
        for var, func in module.functions.items()
        if isinstance(func, PrimFunc) and not isinstance(func.origin, Origin)
        if not (kernels and has_kernels(func))
        if (made := _temporaries(func)) is not func
    }
    return replace(module, functions={**module.functions, **functions}) if functions else module


def _temporaries(func: PrimFunc) -> PrimFunc:
    """Return ``func``, with zeros in temporaries that it may read before it has written them."""
    plain = executable_form(func)
    found = False

    def begun(stmt: Stmt) -> Stmt | None:
        nonlocal found
        match stmt:
            case Allocate(buffer, body, None) if not fills(body, buffer):
                found = True
                return replace(stmt, body=Seq((_zeros(buffer), map_stmt(body, lambda expr: expr, begun))))
            case BlockRealize(block=block) if open_ := _open_temporaries(block):
                found = True
                inner = map_stmt(_with_init(block), lambda expr: expr, begun)
                return replace(stmt, block=replace(block, init=None, body=Seq((*map(_zeros, open_), inner))))
        return None

    body = map_stmt(plain.body, lambda expr: expr, begun)
    at_root = [_zeros(buffer) for buffer in plain.root_buffers if not fills(plain.body, buffer)]
    return plain.with_body(Seq((*at_root, body))) if found or at_root else func


def _open_temporaries(block: Block) -> list[Buffer]:
    if not block.alloc_buffers:
        return []
    body = _with_init(block)
    return [buffer for buffer in block.alloc_buffers if not fills(body, buffer)]


def _with_init(block: Block) -> Stmt:
    """Return the body of a block, behind what it does in the first round of a reduction."""
    if block.init is None:
        return block.body
    first = [binary("==", axis.var, 0) for axis in block.iter_vars if axis.kind is IterKind.REDUCE]
    return Seq((If(logical_and(*first), block.init) if first else block.init, block.body))


def _called_otherwise(module: IRModule) -> set[GlobalVar]:
    """Return the functions that are used otherwise than by ``call_tir``."""
    found: set[GlobalVar] = set()
    for seq in all_sequences(func.body for func in module.functions.values() if isinstance(func, Function)):
        for value in (*(binding.value for binding in bindings(seq)), seq.body):
            found.update(one for one in (value, *operands(value)) if isinstance(one, GlobalVar))
            match value:
                case Call(GlobalVar() as callee):
                    found.add(callee)
    return found


class _Caller(Mutator):
    """Lets ``call_tir`` call other programs."""

    def __init__(self, mod: IRModule, copies: Mapping[GlobalVar, GlobalVar]) -> None:
        super().__init__(mod)
        self.copies = copies

    def bind(self, binding: Binding | MatchCast) -> None:
        match binding:
            case Binding(value=CallTIR(func) as call) if func in self.copies:
                self.keep(replace(binding, value=replace(call, func=self.copies[func])))
            case _:
                self.keep(binding)


def _defined(func: PrimFunc, kernels: bool) -> PrimFunc:
    """Return ``func``, with zeros in results that it may not write as a whole; operators' own
    programs do.
    """
    if isinstance(func.origin, Origin):
        return func
    plain = executable_form(func)
    results = plain.buffers[len(plain.buffers) - plain.num_outputs :]
    open_ = [buffer for buffer in results if not fills(plain.body, buffer)]
    kept = func if kernels and has_kernels(func) else plain
    return kept.with_body(Seq((*map(_zeros, open_), kept.body))) if open_ else func


def _zeros(buffer: Buffer) -> Stmt:
    axes = [Var(f"i{number}", extent.dtype) for number, extent in enumerate(buffer.shape)]
    stmt: Stmt = BufferStore(buffer, tuple(axes), const(0, buffer.dtype))
    for var, extent in zip(reversed(axes), reversed(buffer.shape), strict=True):
        stmt = For(var, extent, stmt)
    return stmt
