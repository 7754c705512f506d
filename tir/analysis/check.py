"""Whether a PrimFunc is legal: every mistake at once, each with the place in the program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from relay2relax.core import dtype as dt
from relay2relax.core.errors import Diagnostic
from relay2relax.tir.analysis.reshape import size
from relay2relax.tir.errors import TIRError
from relay2relax.tir.ir.expr import (
    AnyExtent,
    Binary,
    Buffer,
    BufferData,
    BufferLoad,
    Call,
    Cast,
    CommReducer,
    IntImm,
    LetIn,
    Not,
    Pointer,
    PrimExpr,
    Select,
    Var,
    accessed_dtype,
    children,
)
from relay2relax.tir.ir.stmt import (
    Allocate,
    Assert,
    Attribute,
    Block,
    BlockRealize,
    BufferRegion,
    BufferStore,
    Evaluate,
    For,
    If,
    IterKind,
    Let,
    PrimFunc,
    Seq,
    Stmt,
    ThreadAxis,
    While,
)
from relay2relax.tir.ir.visit import (
    expressions,
    loads,
    place_variables,
    shape_variables,
    statements,
    subexpressions,
    variables,
    written_buffers,
)

_ONLY_INTEGERS = frozenset({"//", "%", "truncdiv", "truncmod", "&", "|", "^", "<<", ">>"})
_ONLY_BOOLS = frozenset({"and", "or"})


class _Checker:
    """The mistakes so far, what can be seen at this place, and the names of the statements around
    it.
    """

    def __init__(self, strict: bool) -> None:
        self.strict = strict
        self.mistakes: list[Diagnostic] = []
        self.known: set[Var | Buffer] = set()
        self.place: list[str] = []
        # Variables of the loops up to the next block, and those beyond it, which only its axes may
        # use.
        self.loops: list[Var] = []
        self.hidden: set[Var] = set()

    def wrong(self, title: str, help: str = "") -> None:
        where = f"in {' / '.join(filter(None, self.place))}" if self.place else ""
        self.mistakes.append(Diagnostic(title, label=where, help=help))

    @contextmanager
    def inside(self, place: str, *defined: Var | Buffer) -> Iterator[None]:
        """Define names for what is done within.

        A variable that is bound there already is a mistake.
        """
        for item in defined:
            if isinstance(item, Buffer):
                self.declare(item)
            elif item in self.known:
                self.wrong(f"the variable {item.name} is bound twice")
        new = [item for item in defined if item not in self.known]
        self.known.update(new)
        self.place.append(place)
        yield
        self.place.pop()
        self.known.difference_update(new)

    def declare(self, buffer: Buffer) -> None:
        if buffer in self.known:
            self.wrong(f"the buffer {buffer.name} is declared twice")
        for extent in buffer.shape:
            if isinstance(extent, AnyExtent):
                self.wrong(f"the buffer {buffer.name} has an extent about which nothing is known")
            else:
                self.index(extent, f"an extent of {buffer.name}")
        for part in buffer.strides if buffer.offset is None else (*buffer.strides, buffer.offset):
            self.index(part, f"a stride or the offset of {buffer.name}")

    def matched(self, buffer: Buffer) -> list[Var]:
        """Return the variables that ``buffer``, which stands for another, gives their values."""
        named = (*shape_variables([buffer]), *place_variables(buffer))
        return [var for var in dict.fromkeys(named) if var not in self.known]

    # Expressions.

    def index(self, expr: PrimExpr, what: str) -> None:
        self.expr(expr)
        if not dt.is_int(expr.dtype):
            self.wrong(f"{what} has dtype {expr.dtype}, expected an integer")

    def condition(self, expr: PrimExpr, what: str) -> None:
        self.expr(expr)
        if expr.dtype != "bool":
            self.wrong(f"the condition of {what} has dtype {expr.dtype}, expected bool")

    def access(self, buffer: Buffer, indices: Sequence[PrimExpr], what: str) -> None:
        if buffer not in self.known:
            self.wrong(f"{what} of {buffer.name}, which is not declared here")
        if len(indices) != len(buffer.shape):
            self.wrong(f"{what} of {buffer.name} with {len(indices)} indices; it has {len(buffer.shape)} dimensions")
        for index in indices:
            self.index(index, f"an index of {buffer.name}")

    def expr(self, expr: PrimExpr) -> None:
        match expr:
            case Var(name):
                if expr in self.hidden:
                    title = f"the loop variable {name} is not seen inside of a block with axes"
                    self.wrong(title, help="bind an axis to it")
                elif expr not in self.known:
                    self.wrong(f"the variable {name} is not defined here")
            case BufferLoad(buffer, indices, predicate):
                self.access(buffer, indices, "a load")
                if predicate is not None:
                    self.expr(predicate)
                return
            case BufferData(buffer):
                if buffer not in self.known:
                    self.wrong(f"the address of {buffer.name}, which is not declared here")
            case LetIn(var, value, body):
                self.expr(value)
                if value.dtype != var.dtype:
                    self.wrong(f"{var.name} is {var.dtype}, its value {value.dtype}")
                with self.inside(f"let {var.name}", var):
                    self.expr(body)
                return
            case CommReducer(left, right, results, identities):
                with self.inside("reducer", *left, *right):
                    for part in (*results, *identities):
                        self.expr(part)
                return
            case Binary(op, a, b):
                if a.dtype != b.dtype:
                    self.wrong(f"the operands of {op!r} have dtypes {a.dtype} and {b.dtype}")
                elif op in _ONLY_BOOLS and dt.element_dtype(a.dtype) != "bool":
                    self.wrong(f"{op!r} takes bools, not {a.dtype}")
                elif op in _ONLY_INTEGERS and dt.is_float(a.dtype):
                    self.wrong(f"{op!r} takes integers, not {a.dtype}")
                elif op == "/" and not dt.is_float(a.dtype):
                    self.wrong(f"'/' takes floats, not {a.dtype}", help="use '//' or 'truncdiv'")
            case Not(a) if dt.element_dtype(a.dtype) != "bool":
                self.wrong(f"a negation of {a.dtype}, expected bool")
            case Cast(dtype, value) if "handle" in (dtype, value.dtype):
                self.wrong("a conversion of a handle")
            case Select(condition, a, b) | Call("if_then_else", (condition, a, b)):
                if dt.element_dtype(condition.dtype) != "bool":
                    self.wrong(f"the condition of a choice has dtype {condition.dtype}, expected bool")
                if a.dtype != b.dtype or a.dtype != expr.dtype:
                    self.wrong(f"the branches of a choice have dtypes {a.dtype} and {b.dtype}")
            case AnyExtent():
                self.wrong("an extent about which nothing is known")
        for part in children(expr):
            self.expr(part)

    # Statements.

    def stmt(self, stmt: Stmt) -> None:
        match stmt:
            case BufferStore(buffer, indices, value, predicate):
                self.access(buffer, indices, "a store")
                self.expr(value)
                if predicate is not None:
                    self.expr(predicate)
                if value.dtype != accessed_dtype(buffer, indices):
                    self.wrong(f"a store of {value.dtype} into {buffer.name}, which holds {buffer.dtype}")
            case Seq(stmts):
                for one in stmts:
                    self.stmt(one)
            case For(var, _, body):
                for part, what in ((stmt.extent, "extent"), (stmt.begin, "begin"), (stmt.step, "step")):
                    if part is not None:
                        self.index(part, f"the {what} of the loop {var.name}")
                        if var.dtype != part.dtype:
                            self.wrong(f"the loop {var.name} is {var.dtype}, its {what} {part.dtype}")
                with self.inside(f"loop {var.name}", var):
                    self.loops.append(var)
                    self.stmt(body)
                    self.loops.pop()
            case If(condition, then, otherwise):
                # TVM takes integers, too.
                (self.expr if dt.is_int(condition.dtype) else lambda one: self.condition(one, "a branch"))(condition)
                self.stmt(then)
                if otherwise is not None:
                    self.stmt(otherwise)
            case Let(var, value, body):
                self.expr(value)
                if value.dtype != var.dtype:
                    self.wrong(f"{var.name} is {var.dtype}, its value {value.dtype}")
                with self.inside(f"let {var.name}", var):
                    self.stmt(body)
            case While(condition, body):
                self.condition(condition, "a while")
                self.stmt(body)
            case Evaluate(value):
                self.expr(value)
            case Assert(condition, message):
                self.condition(condition, "an assertion")
                for part in message:
                    self.expr(part)
            case Attribute(node, _, value, body):
                # TVM says something of the variable of a loop outside of the loop.
                for part in (node, value):
                    if isinstance(part, PrimExpr) and not isinstance(part, Var):
                        self.expr(part)
                defined = [node.var] if isinstance(node, ThreadAxis) and node.var not in self.known else []
                with self.inside(f"attribute {stmt.key}", *defined):
                    self.stmt(body)
            case Allocate(buffer, body, of):
                self.allocate(buffer, body, of)
            case BlockRealize():
                self.realize(stmt)

    def allocate(self, buffer: Buffer, body: Stmt, of: Buffer | PrimExpr | None) -> None:
        if isinstance(of, Buffer):
            self.view(buffer, of)
        elif of is not None:
            self.expr(of)
        free = [] if of is None else self.matched(buffer)
        with self.inside(f"allocation {buffer.name}", *free), self.inside("", buffer):
            self.stmt(body)

    def view(self, buffer: Buffer, of: Buffer) -> None:
        if of not in self.known:
            self.wrong(f"{buffer.name} is the memory of {of.name}, which is not declared here")
        begin = IntImm(0) if buffer.offset is None else buffer.offset
        match size(buffer), size(of), begin:
            case IntImm(own), IntImm(most), IntImm(first) if self.strict and not buffer.strides:
                if (own + first) * _width(buffer.dtype) > most * _width(of.dtype):
                    self.wrong(f"{buffer.name} has more elements than {of.name}, whose memory it is")

    def realize(self, stmt: BlockRealize) -> None:
        block = stmt.block
        if len(stmt.values) != len(block.iter_vars):
            self.wrong(f"the block {block.name} has {len(block.iter_vars)} axes and {len(stmt.values)} values")
        for axis, value in zip(block.iter_vars, stmt.values, strict=False):
            self.index(value, f"the value of the axis {axis.var.name}")
            self.index(axis.extent, f"the extent of the axis {axis.var.name}")
            begin = axis.extent if axis.begin is None else axis.begin
            self.index(begin, f"the begin of the axis {axis.var.name}")
            if not value.dtype == axis.var.dtype == axis.extent.dtype == begin.dtype:
                self.wrong(f"the axis {axis.var.name} is {axis.var.dtype}, its value {value.dtype}")
        if stmt.predicate is not None:
            self.condition(stmt.predicate, f"the block {block.name}")
        own = [axis.var for axis in block.iter_vars]
        with self.inside(f"block {block.name}", *own, *block.alloc_buffers), ExitStack() as stack:
            for match in block.matches:
                self.region(match.region)
                stack.enter_context(self.inside("", *self.matched(match.buffer)))
                stack.enter_context(self.inside("", match.buffer))
            for region in (*block.reads, *block.writes):
                self.region(region)
            self.contents(block)
            outer, loops = self.hidden, self.loops
            if block.iter_vars:
                self.hidden, self.loops = outer | set(loops), []
            if block.init is not None:
                self.stmt(block.init)
            self.stmt(block.body)
            self.hidden, self.loops = outer, loops

    def region(self, region: BufferRegion) -> None:
        buffer = region.buffer
        self.access(buffer, [one.begin for one in region.region], "a region")
        for one in region.region:
            self.index(one.extent, f"an extent of a region of {buffer.name}")

    def contents(self, block: Block) -> None:
        """Check what regions, init and reduction axes promise about the statements of ``block``."""
        reduced = {axis.var for axis in block.iter_vars if axis.kind is IterKind.REDUCE}
        if self.strict and block.init is not None and not reduced:
            self.wrong(f"the block {block.name} has an init, but no reduction axis")
        stores: list[BufferStore] = []
        read: set[Buffer] = set()
        addressed: set[Buffer] = set()
        owned = {*block.alloc_buffers, *(match.buffer for match in block.matches)}
        for part in (block.init, block.body):
            if part is None:
                continue
            for node in statements(part):
                match node:
                    case BufferStore():
                        stores.append(node)
                    case Allocate(buffer):
                        owned.add(buffer)
                    case BlockRealize(block=inner):
                        owned.update((*inner.alloc_buffers, *(match.buffer for match in inner.matches)))
                for expr in expressions(node):
                    read.update(load.buffer for load in loads(expr))
                    addressed.update(_addressed(expr))
        written = {store.buffer for store in stores}
        for store in stores:
            if (
                self.strict
                and block.init is not None
                and reduced.intersection(v for i in store.indices for v in variables(i))
            ):
                self.wrong(f"{store.buffer.name} is written at an index that a reduction axis changes")
        for buffer in sorted(written - owned - {r.buffer for r in block.writes}, key=lambda b: b.name):
            if self.strict:
                self.wrong(f"the block {block.name} writes {buffer.name}, which its regions do not say")
        # Who is given the address of a buffer may read it, write it, or both.
        written |= addressed & {r.buffer for r in block.writes}
        for buffer in sorted(read - written - owned - {r.buffer for r in block.reads}, key=lambda b: b.name):
            if self.strict:
                self.wrong(f"the block {block.name} reads {buffer.name}, which its regions do not say")
        accumulating = written & read - owned
        if self.strict and reduced and block.init is None and not accumulating:
            self.wrong(f"the block {block.name} has reduction axes, but accumulates nothing")

    def func(self, func: PrimFunc) -> None:
        for param, count in Counter(func.params).items():
            if count > 1:
                self.wrong(f"the parameter {param.name} is given twice")
        for param in func.params:
            if (param.dtype == "handle") != (param in func.buffer_map) and not isinstance(param, Pointer):
                expected = "a buffer" if param.dtype == "handle" else "no buffer"
                self.wrong(f"the parameter {param.name} of dtype {param.dtype} must have {expected}")
            self.known.add(param)
        for var in func.buffer_map:
            if var not in func.params:
                self.wrong(f"{var.name} has a buffer, but is no parameter")
        if not 0 <= func.num_outputs <= sum(param.dtype == "handle" for param in func.params):
            self.wrong(f"{func.num_outputs} outputs are announced, there are {len(func.buffers)} buffers")
        # A parameter's dimension that is a plain variable gives that variable its value.
        self.known.update(e for buffer in func.buffers for e in buffer.shape if isinstance(e, Var))
        if not self.strict:
            # Whoever calls it may find the others.
            self.known.update(shape_variables(func.buffers))
        self.known.update(var for buffer in func.buffers for var in place_variables(buffer))
        for buffer in (*func.buffers, *func.root_buffers):
            self.declare(buffer)
            self.known.add(buffer)
        self.stmt(func.body)
        if self.strict:
            self.outputs(func)

    def outputs(self, func: PrimFunc) -> None:
        written = written_buffers(func.body)
        opaque = any(isinstance(node, Evaluate) for node in statements(func.body))
        for output in func.buffers[len(func.buffers) - func.num_outputs :]:
            if output not in written and not opaque:
                self.wrong(f"the output {output.name} is never written")


def check_prim_func(func: PrimFunc, strict: bool = True) -> None:
    """Raise TIRError, which lists every mistake, unless ``func`` is legal.

    Checked: variables and buffers are defined where they are used and bound once; ranks and dtypes
    of loads, stores, operators and conditions; block axes and their values. Unless ``strict`` is
    false also what TVM does not ask for: every output is written, regions name every buffer that a
    block touches, reductions accumulate at places that their axes do not change.
    """
    checker = _Checker(strict)
    checker.place.append(func.name)
    try:
        checker.func(func)
    except RecursionError as error:
        raise TIRError(f"{func.name}: statements are nested too deep") from error
    if checker.mistakes:
        raise TIRError(checker.mistakes)


def _addressed(expr: PrimExpr) -> Iterator[Buffer]:
    """Yield the buffers whose addresses ``expr`` takes."""
    for node in subexpressions(expr):
        match node:
            case Call("address_of", (BufferLoad(buffer),)) | BufferData(buffer):
                yield buffer


def _width(dtype: str) -> int:
    lanes = dt.lanes_of(dtype)
    return dt.bits(dt.element_dtype(dtype)) * (lanes if isinstance(lanes, int) else 1)
