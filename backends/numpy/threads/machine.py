"""Statements of a kernel, run by all threads of a wave in lock-step."""

from __future__ import annotations

from typing import Any

import numpy as np

from relay2relax.backends.numpy.threads.fragments import Fragments
from relay2relax.backends.numpy.threads.lanes import Lanes
from relay2relax.backends.numpy.threads.memory import Owner, own_memory
from relay2relax.backends.numpy.threads.wave import Active
from relay2relax.core.dtype import numpy_dtype
from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import running
from relay2relax.core.limits import active as active_limits
from relay2relax.tir.ir.expr import Buffer, BufferLoad, Call, StringImm
from relay2relax.tir.ir.stmt import (
    THREAD_KEYS,
    Allocate,
    Assert,
    Attribute,
    BlockRealize,
    BufferStore,
    Evaluate,
    For,
    If,
    IterKind,
    Let,
    LoopKind,
    Seq,
    Stmt,
    ThreadAxis,
    While,
)
from relay2relax.tir.normalize.fragments import FRAGMENT_CALLS, is_fragment

_EVERY_THREAD = frozenset({"shared", "shared.dyn", "global"})


class Machine:
    """Runs statements for the threads of ``lanes``; ``axes`` are the numbers of a thread by kind of
    thread axis.
    """

    def __init__(self, lanes: Lanes, axes: dict[str, Any]) -> None:
        self.lanes = lanes
        self.axes = axes
        self.fragments = Fragments(lanes)
        self.budget = active_limits()

    def run(self, stmt: Stmt, active: Active) -> None:
        """Run one statement for the ``active`` threads."""
        if not active.count:
            return
        lanes = self.lanes
        lanes.stmt = stmt
        match stmt:
            case Seq(stmts):
                for part in stmts:
                    self.run(part, active)
            case BufferStore(buffer, indices, value, predicate):
                if predicate is not None:
                    active = active.where(lanes.value(predicate, active), lanes.wave)
                lanes.store(buffer, indices, lanes.value(value, active), active)
            case For(var, thread=tag, body=body) if stmt.kind is LoopKind.THREAD and tag in self.axes:
                lanes.scope[var] = self.axes[tag].astype(numpy_dtype(var.dtype))
                self.run(body, active)
            case Attribute(ThreadAxis(var, tag), key, _, body) if key in THREAD_KEYS and tag in self.axes:
                lanes.scope[var] = self.axes[tag].astype(numpy_dtype(var.dtype))
                self.run(body, active)
            case Attribute(body=body):
                self.run(body, active)
            case For():
                self.loop(stmt, active)
            case If(condition, then, otherwise):
                asked = lanes.value(condition, active)
                self.run(then, active.where(asked, lanes.wave))
                if otherwise is not None:
                    self.run(otherwise, active.where(np.logical_not(asked), lanes.wave))
            case _:
                self.run_more(stmt, active)

    def run_more(self, stmt: Stmt, active: Active) -> None:
        """Run a statement that does not choose who runs."""
        lanes = self.lanes
        match stmt:
            case Let(var, value, body):
                lanes.scope[var] = np.array(lanes.value(value, active))
                self.run(body, active)
            case Allocate(buffer, body, of):
                self.allocate(buffer, of if isinstance(of, Buffer) else None)
                self.run(body, active)
            case While(condition, body):
                while True:
                    lanes.stmt = stmt
                    active = active.where(lanes.value(condition, active), lanes.wave)
                    if not active.count:
                        return
                    self.run(body, active)
            case BlockRealize():
                self.block(stmt, active)
            case Evaluate(Call("tvm_storage_sync", (scope, *_))):
                if getattr(scope, "value", "") not in _EVERY_THREAD:
                    raise UnsupportedError(
                        mistake(running.NOT_ON_BACKEND, what="a barrier of a warp alone", backend="numpy")
                    )
                if lanes.watch is not None:
                    lanes.watch.barrier(lanes.wave, active, stmt)
            case Evaluate(Call(name) as call) if name in FRAGMENT_CALLS:
                self.fragments.run(call, active, stmt)
            case Evaluate(
                Call("atomic_add", (Call("address_of", (BufferLoad(buffer, indices),)), value, *_))
                | Call(
                    "call_extern", (StringImm("atomicAdd"), Call("address_of", (BufferLoad(buffer, indices),)), value)
                )
            ):
                lanes.add(buffer, indices, lanes.value(value, active), active)
            case Evaluate(value):
                lanes.value(value, active)
            case Assert():
                pass
            case _:
                raise UnsupportedError(
                    mistake(running.NOT_ON_BACKEND, what=f"{type(stmt).__name__} in a kernel", backend="numpy")
                )

    def loop(self, stmt: For, active: Active) -> None:
        """Run a loop: together as long as one thread has steps left."""
        lanes = self.lanes
        dtype = numpy_dtype(stmt.var.dtype)
        extent = np.asarray(lanes.value(stmt.extent, active))
        if stmt.kind is LoopKind.VECTORIZED and extent.size == 1:
            lanes.scope[stmt.var] = np.arange(int(extent.flat[0]), dtype=dtype).reshape(1, -1)
            self.run(stmt.body, active)
            return
        rows = np.broadcast_to(extent, (lanes.wave.lanes, 1))[active.rows(lanes.wave)] if extent.size > 1 else extent
        for step in range(int(rows.max(initial=0))):
            if self.budget is not None:
                self.budget.step()
            lanes.scope[stmt.var] = dtype.type(step)
            self.run(stmt.body, active if extent.size == 1 else active.where(step < extent, lanes.wave))

    def block(self, stmt: BlockRealize, active: Active) -> None:
        """Run a block where its predicate holds."""
        lanes, block = self.lanes, stmt.block
        if block.matches:
            raise UnsupportedError(
                mistake(running.NOT_ON_BACKEND, what="a part of a buffer in a kernel", backend="numpy")
            )
        begins: Any = np.True_
        if stmt.predicate is not None:
            active = active.where(lanes.value(stmt.predicate, active), lanes.wave)
        for axis, value in zip(block.iter_vars, stmt.values, strict=True):
            found = np.asarray(lanes.value(value, active)).astype(numpy_dtype(axis.var.dtype))
            lanes.scope[axis.var] = found
            if axis.kind is IterKind.REDUCE:
                begins = np.logical_and(begins, found == 0)
        for buffer in block.alloc_buffers:
            self.allocate(buffer)
        if block.init is not None:
            self.run(block.init, active.where(begins, lanes.wave))
        self.run(block.body, active)

    def allocate(self, buffer: Buffer, of: Buffer | None = None) -> None:
        """Give ``buffer`` memory, if it has none: a kernel has it from its beginning to its end."""
        lanes = self.lanes
        if buffer in lanes.memories:
            return
        if is_fragment(buffer):
            self.fragments.allocate(buffer)
            return
        shape = tuple(lanes.number(extent) for extent in buffer.shape)
        if of is not None:
            self.allocate(of)
            lanes.memories[buffer] = lanes.memory(of).seen_as(buffer.name, shape)
            return
        if buffer.scope.startswith("shared"):
            owners, watched = len(lanes.wave.blocks), lanes.watch is not None
            lanes.memories[buffer] = own_memory(buffer, shape, Owner.BLOCK, owners, watched)
        elif buffer.scope in ("local", "register"):
            lanes.memories[buffer] = own_memory(buffer, shape, Owner.THREAD, lanes.wave.lanes)
        else:
            raise UnsupportedError(
                mistake(running.NOT_ON_BACKEND, what=f"memory of scope {buffer.scope!r} in a kernel", backend="numpy")
            )
