"""From scheduled loops to C: one function per stage, one entry per PrimFunc.

What arrives here holds no blocks any more: loops, stores, local buffers. Loops say how they run; a
vectorised loop of a sum of products becomes vector arithmetic, any other one an ordinary loop that
the compiler may vectorise. ``expression_writer.py`` writes what they compute. Names in C are made
by position (``names.py``); no name of a program reaches the text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial, reduce

from relay2relax.backends.c.access import FENCE, PREFETCH, STEPS
from relay2relax.backends.c.codegen.expression import (
    Atom,
    CExpr,
    Convert,
    Infix,
    Invoke,
    render,
)
from relay2relax.backends.c.codegen.expression_writer import ExpressionWriter, spread, stored
from relay2relax.backends.c.codegen.hoisting import hoisted, rounds_within
from relay2relax.backends.c.codegen.magnitude import magnitude
from relay2relax.backends.c.codegen.names import Names, Site
from relay2relax.backends.c.codegen.plan import check_bytes
from relay2relax.backends.c.codegen.properties import chooses_around_loops, largest, largest_of_loop, loaded_by_choice
from relay2relax.backends.c.codegen.steps import StepCounter, Steps, on_stack
from relay2relax.backends.c.dtypes import c_type, value_type
from relay2relax.core.dtype import bits
from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import running
from relay2relax.core.limits import check
from relay2relax.tir.analysis.guards import is_guarded
from relay2relax.tir.analysis.reshape import size as size_of
from relay2relax.tir.arith.simplify import simplify
from relay2relax.tir.arith.sums import flattened
from relay2relax.tir.ir.expr import (
    Buffer,
    BufferLoad,
    Call,
    IntImm,
    PrimExpr,
    Var,
)
from relay2relax.tir.ir.stmt import (
    Allocate,
    BufferStore,
    Evaluate,
    For,
    If,
    Let,
    LoopKind,
    Seq,
    Stmt,
    While,
)
from relay2relax.tir.ir.visit import all_expressions, loads, map_expr, mentions, variables

# So many bytes of temporaries of one function live on the stack.
_STACK = 1 << 18
# Loops that would be unrolled to more copies of a statement stay loops.
_MOST_COPIES = 1 << 12
# Functions of fewer steps never ask whether they are to end; others ask after about so many.
_LONG = 1 << 30
_PIECE = 1 << 20
# So many rounds of a loop pass where nobody knows how long one takes.
_ROUNDS = 16


@dataclass(frozen=True, slots=True)
class Kernel:
    """A C function: text and declaration with ``@`` for its name, and what it is called with.

    ``begins`` are the first bytes of the buffers that it is given. A function that ``asks`` is
    given ``wrong``, too: the number of one of ``sites``, from 1 on, or -1 where the call is to end,
    and the index and the extent. ``steps`` are how many it takes.
    """

    text: str
    declaration: str
    buffers: tuple[Buffer, ...]
    begins: tuple[int, ...]
    scalars: tuple[Var, ...]
    written: frozenset[Buffer]
    sites: tuple[Site, ...] = ()
    asks: bool = False
    steps: Steps = Steps(IntImm(0, "int64"))


def _check_memory(buffer: Buffer) -> None:
    """Raise UnsupportedError for local memory that C cannot have.

    Its size is decided by data, it has more bytes than any machine, or its elements lie elsewhere
    than one behind the other from its beginning.
    """
    problem = ""
    begins = buffer.offset is None or (isinstance(buffer.offset, IntImm) and not buffer.offset.value)
    if any(True for extent in buffer.shape for _ in loads(extent)):
        problem = "its extents are data"
    elif buffer.strides or not begins:
        problem = "its elements have strides or an offset"
    if problem:
        raise UnsupportedError(f"C has no memory for {buffer.name!r}: {problem}", kind=running.NOT_ON_BACKEND)
    check_bytes(buffer.name, buffer.shape, buffer.dtype)


def stage_kernel(
    stage: Stmt,
    extents: Iterable[Var],
    memory: Callable[[Buffer], Buffer],
    begin: Callable[[Buffer], int] = lambda buffer: 0,
    checked: bool = False,
    scalars: Iterable[Var] = (),
    polled: bool = False,
) -> Kernel:
    """Return the C function of one stage.

    Its parameters are the buffers and variables the stage does not define.

    ``extents`` are the variables among those that are extents, which are never negative;
    ``scalars`` are other integers that a call gives. ``memory`` says which buffer's memory a buffer
    is, ``begin`` with which element of that it begins. With ``checked`` every access is looked at,
    with ``polled`` long loops ask whether they are to end.
    """
    extents = tuple(extents)
    return _Writer(Names(extents, memory, begin, checked), frozenset((*extents, *scalars)), polled).function(stage)


class _Writer:
    """Writes the C text of one stage: its statements."""

    def __init__(self, names: Names, fixed: frozenset[Var], polled: bool) -> None:
        self.names = names
        self.exprs = ExpressionWriter(names)
        self.steps = StepCounter(fixed)
        self.polled = polled
        self.lines: list[str] = []
        self.depth = 1
        # Bytes of the stack in use.
        self.stack = 0
        # How often what is written now stands in the text, because loops around it are unrolled.
        self.copies = 1
        # What is known to hold around: inner loops have rounds.
        self.filled: frozenset[PrimExpr] = frozenset()
        # Whether there are guards at all.
        self.guards = False

    def function(self, stage: Stmt) -> Kernel:
        self.guards = any(map(is_guarded, all_expressions(stage)))
        self.polled = self.polled and self.steps.of(stage).reach(_LONG)
        loops: list[For] = []
        inner = stage
        while isinstance(inner, For) and inner.kind is LoopKind.PARALLEL:
            if any(mentions(inner.extent, loop.var) for loop in loops):
                break  # As many rounds as the loop around it says.
            loops.append(inner)
            inner = inner.body
        if not loops:
            self.statement(stage)
            return self.kernel(f"void @({self.names.parameters()}) {{\n" + "\n".join([*self.lines, "}"]), stage)
        return self.kernel(self.parallel(loops, inner), stage)

    def parallel(self, loops: list[For], body: Stmt) -> str:
        """Return a parallel nest: one function for a part of its steps, and one that shares the
        steps out.
        """
        names = [self.names.variables.setdefault(loop.var, self.names.fresh("i")) for loop in loops]
        naturals = self.names.naturals
        for loop in loops:
            naturals[loop.var] = largest_of_loop(loop, naturals)
        extents = [self.rounds(simplify(loop.extent)) for loop in loops]
        worth = self.exprs.text(loops[0].annotations.get("worth", IntImm(1)))
        self.depth = 2
        rest: CExpr = Atom("step")
        for name, extent in zip(reversed(names), reversed(extents), strict=True):
            value = rest if name == names[0] else Infix("%", rest, extent)
            self.line(f"const int64_t {name} = {render(value)};")
            rest = Infix("/", rest, extent)
        self.statement(body)
        total = self.all_rounds(loops, extents)
        piece = self.piece(None, body)
        head = self.in_pieces("int64_t", "begin", "end", piece) if piece else []
        first, last = ("from", "to") if piece else ("begin", "end")
        names = self.names.given()
        apart = ["    R2R_APART"] if chooses_around_loops(body) else []
        lines = [
            f"struct @_arguments {{ {' '.join(f'{one};' for one in self.names.declared(restrict=False))} }};",
            f"static void @_part({self.names.parameters()}, int64_t begin, int64_t end) {{",
            *(f"  (void){name};" for name in self.names.scalars.values()),
            *head,
            f"  for (int64_t step = {first}; step < {last}; ++step) {{",
            *apart,
            *self.lines,
            "  }",
            *(["  }"] if piece else []),
            "}",
            "static void @_task(const void* given, int64_t begin, int64_t end) {",
            "  const struct @_arguments* a = given;",
            f"  @_part({', '.join(f'a->{name}' for name in names)}, begin, end);",
            "}",
            f"void @({self.names.parameters()}) {{",
            f"  const struct @_arguments a = {{{', '.join(names)}}};",
            f"  r2r_parallel(@_task, &a, {render(total)}, {worth}, {'wrong' if self.names.asks else '0'});",
            "}",
        ]
        return "\n".join(lines)

    def all_rounds(self, loops: Sequence[For], extents: Sequence[CExpr]) -> CExpr:
        """Return how many rounds loops have together; it may be too many for an int."""
        narrow = all(isinstance(loop.extent, IntImm) or loop.extent.dtype == "int32" for loop in loops)
        wide = math.prod(self.names.naturals[loop.var] + 1 for loop in loops) >= 1 << 31
        first = Convert("int64_t", extents[0]) if narrow and wide and len(extents) > 1 else extents[0]
        return reduce(partial(Infix, "*"), extents[1:], first)

    def rounds(self, extent: PrimExpr) -> CExpr:
        """Return how many rounds a loop has: none where its extent is negative."""
        value = self.exprs.expr(extent)
        if largest(extent, self.names.naturals) is not None:
            return value
        return Invoke(f"r2r_max_{c_type(extent.dtype)}", (value, Atom("0")))

    def kernel(self, text: str, stage: Stmt) -> Kernel:
        names = self.names
        declaration = f"void @({names.parameters()});"
        begins = tuple(names.begins[buffer] * ((bits(buffer.dtype) + 7) // 8) for buffer in names.buffers)
        written = frozenset(names.written)
        buffers, scalars, sites = tuple(names.buffers), tuple(names.scalars), tuple(names.sites)
        return Kernel(text, declaration, buffers, begins, scalars, written, sites, names.asks, self.steps.of(stage))

    def line(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    def statement(self, stmt: Stmt) -> None:
        match stmt:
            case Seq(stmts):
                for part in stmts:
                    self.statement(part)
            case For():
                self.loop(stmt)
            case BufferStore(buffer, indices, value):
                self.store(buffer, indices, value)
            case Let(var, value, body):
                name = self.names.named(var, "v")
                most = largest(value, self.names.naturals)
                if most is not None:
                    self.names.naturals[var] = most
                self.scoped(f"const {value_type(value.dtype)} {name} = {self.exprs.text(value)};", body)
            case If(condition, then, otherwise):
                self.braced(f"if ({self.exprs.text(condition)})", then)
                if otherwise is not None:
                    self.braced("else", otherwise)
            case While(condition, body):
                self.while_loop(condition, body)
            case Allocate(buffer, body):
                self.allocate(buffer, body)
            case Evaluate(Call(name, (BufferLoad(buffer, indices),))) if name == PREFETCH:
                # What is asked for ahead may lie outside, and is not an access to look at.
                if not self.names.checked:
                    self.line(f"__builtin_prefetch(&{render(self.exprs.element(buffer, indices))});")
            case Evaluate(Call(name, ())) if name == FENCE:
                self.line('__asm__ volatile("" ::: "memory");')
            case Evaluate(value):
                raise UnsupportedError(
                    mistake(running.NOT_ON_BACKEND, what=f"the statement {value!r}", backend="the C backend")
                )
            case _:
                raise TypeError(f"{type(stmt).__name__} must be lowered before C is written")

    def braced(self, head: str, body: Stmt, first: str = "") -> None:
        self.line(head + " {")
        self.depth += 1
        if first:
            self.line(first)
        self.statement(body)
        self.depth -= 1
        self.line("}")

    def scoped(self, declaration: str, body: Stmt, close: str = "") -> None:
        """Write a declaration and its scope in braces of their own: the names in it end there."""
        self.line("{")
        self.depth += 1
        self.line(declaration)
        self.statement(body)
        if close:
            self.line(close)
        self.depth -= 1
        self.line("}")

    def loop(self, stmt: For) -> None:
        guarded = hoisted(stmt) if self.guards else stmt
        if guarded is not stmt:
            self.statement(guarded)
            return
        filled = rounds_within(stmt)
        if filled is not None and not self.filled.issuperset(flattened("and", filled)):
            before, self.filled = self.filled, self.filled.union(flattened("and", filled))
            self.braced(f"if ({self.exprs.text(filled)})", stmt)
            self.filled = before
            return
        extent = simplify(stmt.extent)
        copies = self.copies * extent.value if isinstance(extent, IntImm) else _MOST_COPIES + 1
        if stmt.kind is LoopKind.UNROLLED and isinstance(extent, IntImm) and copies <= _MOST_COPIES:
            self.names.naturals[stmt.var] = extent.value
            around, self.copies = self.copies, copies
            for step in range(extent.value):
                check()
                self.names.unrolled.steps[stmt.var] = IntImm(step, stmt.var.dtype)
                self.statement(stmt.body)
            self.names.unrolled.steps.pop(stmt.var, None)
            self.copies = around
            return
        if stmt.kind is LoopKind.VECTORIZED and isinstance(extent, IntImm) and self.vector(stmt, extent.value):
            return
        if stmt.kind is LoopKind.VECTORIZED:
            self.line("R2R_INDEPENDENT")
        apart = "R2R_APART " if chooses_around_loops(stmt.body) else ""
        first = (apart + self.way_out(extent, stmt.body)).rstrip()
        piece = self.piece(stmt, stmt.body)
        if STEPS in stmt.annotations:
            self.line(f"#pragma GCC unroll {stmt.annotations[STEPS]}")
        if not piece:
            self.braced(self.loop_head(stmt, "0", self.exprs.expr(extent)), stmt.body, first)
            return
        independent = [self.lines.pop()] if stmt.kind is LoopKind.VECTORIZED or STEPS in stmt.annotations else []
        end = render(self.parenthesised(extent))
        self.lines += ["  " * (self.depth - 1) + one for one in self.in_pieces(c_type(stmt.var.dtype), "0", end, piece)]
        self.lines += independent
        self.braced(self.loop_head(stmt, "from", Atom("to")), stmt.body, first)
        self.line("}")

    def while_loop(self, condition: PrimExpr, body: Stmt) -> None:
        """Write a loop that data end."""
        way_out = self.way_out(condition, body)
        if not self.polled:
            self.braced(f"while ({self.exprs.text(condition)})", body, way_out)
            return
        self.names.asks = True
        asked = f"if (!({{}} % 1024) && r2r_ended(wrong)) break; {way_out}".rstrip()
        name = self.names.fresh("w")
        self.braced(
            f"for (uint64_t {name} = 1; {self.exprs.text(condition)}; ++{name})", body, asked.replace("{}", name)
        )

    def piece(self, loop: For | None, body: Stmt) -> str:
        """Return how many rounds of a loop, of which nobody knows how many it has where it is None,
        pass between two questions whether it is to end; nothing where it is too short to ask.
        """
        if not self.polled or not self.steps.of(body if loop is None else loop).reach(_PIECE if loop else 0):
            return ""
        inner = self.steps.of(body)
        if inner.known and not isinstance(inner.count, IntImm):
            self.names.asks = True
            return f"r2r_piece({magnitude(inner.count, self.exprs.text)})"
        most = _ROUNDS
        if inner.known and isinstance(inner.count, IntImm):
            most = max(_PIECE // max(inner.count.value, 1), 1)
        if loop is not None and isinstance(loop.extent, IntImm) and loop.extent.value <= most:
            return ""
        self.names.asks = True
        return str(most)

    def in_pieces(self, type_: str, begin: str, end: str, piece: str) -> list[str]:
        """Return the head of a loop over pieces, the rounds ``from`` and before ``to``: between two
        of them it asks whether it is to end.
        """
        at, size = self.names.fresh("p"), self.names.fresh("p")
        return [
            f"  const int64_t {size} = {piece};",
            f"  for ({type_} {at} = {begin}; {at} < {end}; ) {{",
            f"  if ({at} != {begin} && r2r_ended(wrong)) break;",
            f"  const {type_} from = {at}, to = {end} - {at} > {size} ? ({type_})({at} + {size}) : {end};",
            f"  {at} = to;",
        ]

    def way_out(self, condition: PrimExpr, body: Stmt) -> str:
        """Return what ends a loop that data decide how often to run when an index was outside."""
        if not loads(condition) and all(var in self.names.extents for var in variables(condition)):
            return ""
        looked_at = self.names.checked or any(is_guarded(expr) for expr in all_expressions(body))
        return "if (__atomic_load_n(wrong, __ATOMIC_RELAXED)) break;" if looked_at else ""

    def loop_head(self, stmt: For, begin: str, end: CExpr) -> str:
        type_ = c_type(stmt.var.dtype)
        name = self.names.named(stmt.var, "i")
        self.names.naturals[stmt.var] = largest_of_loop(stmt, self.names.naturals)
        return f"for ({type_} {name} = {begin}; {render(Infix('<', Atom(name), end))}; ++{name})"

    def store(self, buffer: Buffer, indices: Sequence[PrimExpr], value: PrimExpr) -> None:
        values: dict[PrimExpr, PrimExpr] = {}
        for load in loaded_by_choice(value):
            values[load] = var = Var("chosen", load.dtype)
            text = self.exprs.text(load)
            self.line(f"const {value_type(load.dtype)} {self.names.named(var, 'v')} = {text};")
        if values:
            value = map_expr(value, values.get)
        text = render(stored(self.exprs.expr(value), buffer.dtype))
        target = render(self.exprs.element(buffer, indices))
        if buffer not in self.names.local:
            self.names.written.add(self.names.memory(buffer))
        self.line(f"{target} = {text};")

    def allocate(self, buffer: Buffer, body: Stmt) -> None:
        type_ = c_type(buffer.dtype)
        extents = [e.value if isinstance(e, IntImm) else None for e in buffer.shape]
        static = [e for e in extents if e is not None]
        if buffer.scope == "register":
            self.register(buffer, static, body)
            return
        number = math.prod(static)
        item = (bits(buffer.dtype) + 7) // 8
        _check_memory(buffer)
        name = self.names.local[buffer] = self.names.fresh("t")
        size = number * item * self.copies
        if on_stack(buffer) and self.stack + size <= _STACK:
            # A result that a stage does not look at is written all the same.
            self.stack += size
            self.scoped(f"{type_} {name}[{max(number, 1)}] __attribute__((aligned(64), unused));", body)
            self.stack -= size
            return
        self.from_heap(buffer, name, f"{type_}*", item, body)

    def from_heap(self, buffer: Buffer, name: str, pointer: str, item: int, body: Stmt) -> None:
        """Write what has memory that a call asks the system for, and does without its body where
        there is none.
        """
        count = size_of(buffer)
        most = f"{magnitude(count, self.exprs.text)} * {item}"
        size = f"{item} * (uint64_t){render(self.parenthesised(count))}"
        site = self.names.site(buffer.name, None, memory=True)
        self.line("{")
        self.depth += 1
        self.line(f"const uint64_t {name}_size = {size};")
        self.line(f"{pointer} restrict {name} = r2r_local({most}, {name}_size, wrong, {site});")
        self.braced(f"if ({name})", body)
        self.line(f"r2r_release({name}, {name}_size, wrong);")
        self.depth -= 1
        self.line("}")

    def parenthesised(self, expr: PrimExpr) -> CExpr:
        value = self.exprs.expr(expr)
        return value if isinstance(value, Atom) else Atom(f"({render(value)})")

    def register(self, buffer: Buffer, extents: Sequence[int], body: Stmt) -> None:
        """Declare one vector variable per row of ``buffer``: its accesses have constant indices
        once unrolled.
        """
        name = self.names.local[buffer] = self.names.fresh("r")
        self.names.registers[buffer] = tuple(extents)
        count = math.prod(extents[:-1])
        vector = f"{c_type(buffer.dtype)}x{extents[-1]}"
        # Where every access is one to memory in the end, no row is used.
        names = ", ".join(f"{name}_{i}" for i in range(count))
        self.scoped(f"__attribute__((unused)) {vector} {names};", body)

    def vector(self, stmt: For, lanes: int) -> bool:
        """Write a vectorised loop around one store as a vector statement.

        Say whether that was possible.
        """
        if not isinstance(stmt.body, BufferStore) or lanes not in (2, 4, 8, 16):
            return False
        store = stmt.body
        if store.buffer.dtype not in ("float32", "float64", "int32", "int8", "uint8"):
            return False
        target = self.exprs.vector_place(store.buffer, store.indices, stmt.var, lanes)
        value = self.exprs.vector_value(store.value, stmt.var, lanes)
        if target is None or value is None or not target[1]:
            return False
        text, is_vector = value
        if not is_vector:
            text = spread(text, f"{c_type(store.buffer.dtype)}x{lanes}")
        if store.buffer not in self.names.local:
            self.names.written.add(self.names.memory(store.buffer))
        self.line(f"{render(target[0])} = {render(text)};")
        return True
