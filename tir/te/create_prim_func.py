"""From tensor expressions to a PrimFunc: one block for every compute, in an order in which each
finds its operands.

The loops of a block run over its axes, then over its reduction axes; nothing is fused, tiled or
moved here, that is the business of ``tir/schedule``. The layout of blocks is the one that TVM's
``te.create_prim_func`` produces.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from relay2relax.core.walk import post_order
from relay2relax.tir.analysis.regions import infer_regions, whole
from relay2relax.tir.errors import TIRError
from relay2relax.tir.ir.expr import Buffer, BufferLoad, Call, PrimExpr, Var, cast, children, const
from relay2relax.tir.ir.stmt import (
    Block,
    BlockRealize,
    BufferStore,
    For,
    FuncOrigin,
    IterKind,
    IterVar,
    Let,
    PrimFunc,
    Seq,
    Stmt,
)
from relay2relax.tir.ir.visit import free_variables, rebuild
from relay2relax.tir.te.tensor import Compute, Extern, Operation, Placeholder, ProducerLoad, Reduce, Tensor


class _Names:
    """Hands out names that are unique within one function."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._used: dict[str, int] = {}

    def fresh(self, hint: str) -> str:
        name, count = hint, self._used.get(hint, 0)
        while name in self._taken:
            count += 1
            name = f"{hint}_{count}"
        self._used[hint] = count
        self._taken.add(name)
        return name


def _parts(expr: PrimExpr) -> Sequence[PrimExpr]:
    """Return the operands of ``expr``, those of tensor expressions included."""
    match expr:
        case ProducerLoad(_, indices):
            return indices
        case Reduce(_, identity, sources, _, condition):
            return (*identity, *sources) if condition is None else (*identity, *sources, condition)
    return children(expr)


def _nodes(expr: PrimExpr) -> Iterable[PrimExpr]:
    stack = [expr]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(_parts(node)))


def _operands(op: Operation) -> list[Operation]:
    match op:
        case Compute(bodies=bodies):
            found = (n.tensor.op for body in bodies for n in _nodes(body) if isinstance(n, ProducerLoad))
            return list(dict.fromkeys(found))
        case Extern(inputs=inputs):
            return [tensor.op for tensor in inputs]
        case Placeholder():
            return []


def _results(op: Compute | Extern) -> list[tuple[tuple[PrimExpr, ...], str]]:
    """Return shape and dtype of each result of ``op``."""
    if isinstance(op, Extern):
        return list(zip(op.shapes, op.dtypes, strict=True))
    first = op.bodies[0]
    values = first.sources if isinstance(first, Reduce) else op.bodies
    return [(op.shape, value.dtype) for value in values]


class _Builder:
    """One conversion: the buffers of tensors, and the blocks so far."""

    def __init__(self) -> None:
        self.names = _Names()
        self.blocks = _Names()
        self.buffers: dict[tuple[Operation, int], Buffer] = {}

    def buffer(self, tensor: Tensor) -> Buffer:
        found = self.buffers.get((tensor.op, tensor.index))
        if found is None:
            raise TIRError(f"the tensor {tensor.name} is used, but it is not among the inputs")
        return found

    def declare(self, name: str, shape: Sequence[PrimExpr], dtype: str, key: tuple[Operation, int]) -> Buffer:
        buffer = Buffer(self.names.fresh(name), tuple(shape), dtype)
        self.buffers.setdefault(key, buffer)
        return buffer

    def expr(self, expr: PrimExpr, values: Mapping[Var, PrimExpr]) -> PrimExpr:
        """Return ``expr`` over buffers and block axes."""
        match expr:
            case Var():
                return values.get(expr, expr)
            case ProducerLoad(tensor, indices):
                buffer = self.buffer(tensor)
                return BufferLoad(buffer, tuple(cast("int64", self.expr(i, values)) for i in indices))
            case Reduce():
                raise TIRError(
                    "a reduction is only part of an expression here; give the reduction a compute of its own "
                    "and load from that"
                )
        parts = children(expr)
        return rebuild(expr, [self.expr(part, values) for part in parts]) if parts else expr

    def compute(self, op: Compute) -> Stmt:
        """Return the loop nest of ``op``."""
        targets = [self.buffers[op, i] for i in range(len(_results(op)))]
        first = op.bodies[0]
        reduce = first if isinstance(first, Reduce) else None
        if reduce is not None and len(op.bodies) != 1:
            raise TIRError(f"the compute {op.name} has several reductions; reduce tuples with one of several sources")
        ranges = [(v, e, IterKind.SPATIAL) for v, e in zip(op.axes, op.shape, strict=True)]
        if reduce is not None:
            ranges += [(axis.var, axis.extent, IterKind.REDUCE) for axis in reduce.axes]
        axes = [IterVar(Var(f"v_{v.name}", "int64"), extent, kind) for v, extent, kind in ranges]
        values: dict[Var, PrimExpr] = {v: axis.var for (v, _, _), axis in zip(ranges, axes, strict=True)}
        place = tuple(axis.var for axis in axes[: len(op.axes)])
        if reduce is None:
            init = None
            body = self.stores(targets, place, [self.expr(b, values) for b in op.bodies])
        else:
            init = self.stores(targets, place, [self.expr(i, values) for i in reduce.identity], separate=True)
            body = self.update(reduce, targets, place, values)
        reads, writes = infer_regions([s for s in (init, body) if s is not None], [a.var for a in axes])
        block = Block(self.blocks.fresh(op.name), tuple(axes), reads, writes, body, init)
        return _nest(block, [v.name for v, _, _ in ranges])

    def update(
        self, reduce: Reduce, targets: list[Buffer], place: tuple[Var, ...], values: Mapping[Var, PrimExpr]
    ) -> Stmt:
        """Return the statement that folds one point of the reduction axes into the accumulators."""
        sources = [self.expr(source, values) for source in reduce.sources]
        if reduce.condition is not None:
            test = self.expr(reduce.condition, values)
            neutral = [self.expr(i, values) for i in reduce.identity]
            sources = [Call("if_then_else", (test, s, i), s.dtype) for s, i in zip(sources, neutral, strict=True)]
        accumulators = [BufferLoad(target, place) for target in targets]
        combined = [self.expr(c, values) for c in reduce.combine(accumulators, sources)]
        return self.stores(targets, place, combined)

    def stores(
        self,
        targets: list[Buffer],
        place: tuple[Var, ...],
        values: Sequence[PrimExpr],
        separate: bool = False,
    ) -> Stmt:
        """Return the stores of ``values``; several are all computed before the first is stored."""
        if len(targets) != len(values):
            raise TIRError(f"{len(values)} values for the {len(targets)} results of {targets[0].name}")
        if len(targets) == 1:
            return BufferStore(targets[0], place, values[0])
        if separate:
            return Seq(tuple(BufferStore(t, place, v) for t, v in zip(targets, values, strict=True)))
        temporaries = [Var(f"v_{target.name}", value.dtype) for target, value in zip(targets, values, strict=True)]
        body: Stmt = Seq(tuple(BufferStore(t, place, v) for t, v in zip(targets, temporaries, strict=True)))
        for var, value in zip(reversed(temporaries), reversed(values), strict=True):
            body = Let(var, value, body)
        return body

    def extern(self, op: Extern) -> Stmt:
        """Return the opaque block of ``op``."""
        sources = [self.buffer(tensor) for tensor in op.inputs]
        targets = [self.buffers[op, i] for i in range(len(op.shapes))]
        body = op.build(sources, targets)
        reads = tuple(whole(buffer) for buffer in dict.fromkeys(sources))
        block = Block(self.blocks.fresh(op.name), (), reads, tuple(whole(b) for b in targets), body)
        return BlockRealize((), block)

    def copy(self, source: Buffer, target: Buffer) -> Stmt:
        """Return the loop nest that copies ``source``."""
        axes = tuple(IterVar(Var(f"v_i{d}"), e, IterKind.SPATIAL) for d, e in enumerate(target.shape))
        place = tuple(axis.var for axis in axes)
        body = BufferStore(target, place, BufferLoad(source, place))
        reads, writes = infer_regions([body], place)
        block = Block(self.blocks.fresh(target.name), axes, reads, writes, body)
        return _nest(block, [f"i{d}" for d in range(len(axes))])


def _nest(block: Block, names: Sequence[str]) -> Stmt:
    """Return ``block`` in loops over its axes.

    One without axes has an axis of one point, as in TVM: a block without any that is all of a
    function is its root there, of which no kernel for a GPU is made.
    """
    if not block.iter_vars:
        axis = IterVar(Var("vi"), const(1, "int64"), IterKind.SPATIAL)
        return BlockRealize((const(0, "int64"),), replace(block, iter_vars=(axis,)))
    loops = [Var(name, "int64") for name in names]
    nest: Stmt = BlockRealize(tuple(loops), block)
    for loop, axis in zip(reversed(loops), reversed(block.iter_vars), strict=True):
        nest = For(loop, axis.extent, nest)
    return nest


def create_prim_func(
    inputs: Sequence[Tensor], outputs: Sequence[Tensor], name: str = "main", origin: FuncOrigin | None = None
) -> PrimFunc:
    """Return the PrimFunc ``name`` with the buffers of ``inputs``, then of ``outputs``, as
    parameters.

    Computes between them become blocks over temporaries, one block per compute. A variable of an
    extent or expression that is no dimension of any parameter on its own becomes a scalar parameter
    between inputs and outputs: nobody could tell its value otherwise. Raises TIRError where a
    tensor that is used is not among the inputs, where a reduction is only part of an expression,
    and where a result is not computed.
    """
    build = _Builder()
    for tensor in inputs:
        if not isinstance(tensor.op, Placeholder):
            raise TIRError(f"the input {tensor.name} is computed; an input must be a placeholder")
        if (tensor.op, 0) in build.buffers:
            raise TIRError(f"the input {tensor.name} is given twice")
        build.declare(tensor.name, tensor.shape, tensor.dtype, (tensor.op, 0))
    results: list[Buffer] = []
    copies: list[tuple[Tensor, Buffer]] = []
    for tensor in outputs:
        key = (tensor.op, tensor.index)
        taken = key in build.buffers
        buffer = build.declare(tensor.name, tensor.shape, tensor.dtype, key)
        results.append(buffer)
        if taken or isinstance(tensor.op, Placeholder):
            if buffer is build.buffers[key]:
                raise TIRError(f"the output {tensor.name} is a placeholder that is not among the inputs")
            copies.append((tensor, buffer))
    temporaries: list[Buffer] = []
    stages: list[Stmt] = []
    for op in post_order([tensor.op for tensor in outputs], _operands):
        if isinstance(op, Placeholder):
            continue
        found = _results(op)
        for index, (shape, dtype) in enumerate(found):
            if (op, index) not in build.buffers:
                hint = op.name if len(found) == 1 else f"{op.name}_{index}"
                temporaries.append(build.declare(hint, shape, dtype, (op, index)))
        stages.append(build.compute(op) if isinstance(op, Compute) else build.extern(op))
    stages += [build.copy(build.buffer(tensor), target) for tensor, target in copies]
    sources = [build.buffer(tensor) for tensor in inputs]
    body = Seq(tuple(stages))
    handles = {Var(f"{b.name}_handle", "handle"): b for b in (*sources, *results)}
    order = tuple(handles)
    func = PrimFunc(name, order, handles, body, tuple(temporaries), len(results), origin=origin)
    scalars = free_variables(func)
    return replace(func, params=(*order[: len(sources)], *scalars, *order[len(sources) :])) if scalars else func
