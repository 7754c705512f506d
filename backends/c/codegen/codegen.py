"""From scheduled loops to C: one function per stage, one entry per PrimFunc.

What arrives here holds no blocks any more: loops, stores, local buffers. Loops say how they run; a
vectorised loop of a sum of products becomes vector arithmetic, any other one an ordinary loop that
the compiler may vectorise. Names in C are made here, by position; no name of a program reaches the
text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from relay2relax.backends.c.codegen.expression import (
    Atom,
    CExpr,
    Conditional,
    Convert,
    Element,
    Infix,
    Invoke,
    Prefix,
    render,
)
from relay2relax.backends.c.codegen.header import FUNCTIONS
from relay2relax.backends.c.codegen.positions import Unrolled
from relay2relax.backends.c.codegen.properties import chooses_around_loops, is_natural, is_remainder, loaded_by_choice
from relay2relax.backends.c.dtypes import HALF, c_type, value_type
from relay2relax.backends.runtime.extern_calls import math_call
from relay2relax.core.dtype import bits, is_float, is_int, is_unsigned, numpy_dtype
from relay2relax.core.errors import UnsupportedError
from relay2relax.tir.analysis.reshape import size as size_of
from relay2relax.tir.arith.simplify import simplify
from relay2relax.tir.ir.expr import (
    Binary,
    Buffer,
    BufferLoad,
    Call,
    Cast,
    FloatImm,
    FunctionCall,
    IntImm,
    Not,
    PrimExpr,
    Select,
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
from relay2relax.tir.ir.visit import map_expr, subexpressions

# Temporaries up to this size live on the stack.
_STACK_BYTES = 1 << 16
_LOGICAL = {"and": "&&", "or": "||"}
_DIVISIONS = {"//": "/", "%": "%", "truncdiv": "/", "truncmod": "%"}


# Intrinsics whose values are numbers of half precision where their arguments are.
_EXACT = frozenset({"abs", "ceil", "copysign", "fabs", "floor", "fmod", "nearbyint", "round", "trunc"})
_PREDICATES = frozenset({"isfinite", "isinf", "isnan"})


def stored(value: CExpr, dtype: str) -> CExpr:
    """Return ``value`` in the form that memory holds.

    What only moves from memory to memory keeps its bits.
    """
    if dtype not in HALF:
        return value
    match value:
        case Invoke(name, (inner,)) if name == f"r2r_load_{dtype}":
            return inner
        case Invoke(name, (inner,)) if name == f"r2r_round_{dtype}":
            value = inner
        case Conditional(condition, then, otherwise):
            return Conditional(condition, stored(then, dtype), stored(otherwise, dtype))
    return Invoke(f"r2r_store_{dtype}", (value,))


def rounded(value: CExpr, dtype: str) -> CExpr:
    """Return ``value`` as a number of ``dtype``; for all but half precision C computes just
    those.
    """
    return Invoke(f"r2r_round_{dtype}", (value,)) if dtype in HALF else value


@dataclass(frozen=True, slots=True)
class Kernel:
    """A C function: text and declaration with ``@`` for its name, and what it is called with.

    ``begins`` are the first bytes of the buffers that it is given.
    """

    text: str
    declaration: str
    buffers: tuple[Buffer, ...]
    begins: tuple[int, ...]
    scalars: tuple[Var, ...]
    written: frozenset[Buffer]


def stage_kernel(
    stage: Stmt,
    extents: Iterable[Var],
    memory: Callable[[Buffer], Buffer],
    begin: Callable[[Buffer], int] = lambda buffer: 0,
) -> Kernel:
    """Return the C function of one stage.

    Its parameters are the buffers and variables the stage does not define.

    ``extents`` are the variables among those that are extents, which are never negative; ``memory``
    says which buffer's memory a buffer is, ``begin`` with which element of that it begins.
    """
    return _Writer(extents, memory, begin).function(stage)


class _Writer:
    """Writes the C text of one stage."""

    def __init__(
        self, extents: Iterable[Var], memory: Callable[[Buffer], Buffer], begin: Callable[[Buffer], int]
    ) -> None:
        self.memory = memory
        self.begin = begin
        self.begins: dict[Buffer, int] = {}
        self.lines: list[str] = []
        self.depth = 1
        self.naturals = set(extents)
        self.unrolled = Unrolled()
        self.buffers: dict[Buffer, str] = {}
        self.scalars: dict[Var, str] = {}
        self.written: set[Buffer] = set()
        self.names: dict[Var, str] = {}
        self.local: dict[Buffer, str] = {}
        self.registers: dict[Buffer, tuple[int, ...]] = {}
        self.count = 0

    def function(self, stage: Stmt) -> Kernel:
        loops: list[For] = []
        inner = stage
        while isinstance(inner, For) and inner.kind is LoopKind.PARALLEL:
            loops.append(inner)
            inner = inner.body
        if not loops:
            self.statement(stage)
            return self.kernel(f"void @({self.parameters()}) {{\n" + "\n".join([*self.lines, "}"]))
        return self.parallel(loops, inner)

    def parallel(self, loops: list[For], body: Stmt) -> Kernel:
        """Write a parallel nest: one function for a part of its steps, and one that shares the
        steps out.
        """
        names = [self.names.setdefault(loop.var, self.fresh("i")) for loop in loops]
        self.naturals.update(loop.var for loop in loops)
        extents = [self.expr(simplify(loop.extent)) for loop in loops]
        worth = self.text(loops[0].annotations.get("worth", IntImm(1)))
        self.depth = 2
        rest: CExpr = Atom("step")
        for name, extent in zip(reversed(names), reversed(extents), strict=True):
            value = rest if name == names[0] else Infix("%", rest, extent)
            self.line(f"const int64_t {name} = {render(value)};")
            rest = Infix("/", rest, extent)
        self.statement(body)
        total = extents[0]
        for extent in extents[1:]:
            total = Infix("*", total, extent)
        names = [*self.buffers.values(), *self.scalars.values()]
        apart = ["    R2R_APART"] if chooses_around_loops(body) else []
        lines = [
            f"struct @_arguments {{ {' '.join(f'{one};' for one in self.declared(restrict=False))} }};",
            f"static void @_part({self.parameters()}, int64_t begin, int64_t end) {{",
            *(f"  (void){name};" for name in self.scalars.values()),
            "  for (int64_t step = begin; step < end; ++step) {",
            *apart,
            *self.lines,
            "  }",
            "}",
            "static void @_task(const void* given, int64_t begin, int64_t end) {",
            "  const struct @_arguments* a = given;",
            f"  @_part({', '.join(f'a->{name}' for name in names)}, begin, end);",
            "}",
            f"void @({self.parameters()}) {{",
            f"  const struct @_arguments a = {{{', '.join(names)}}};",
            f"  r2r_parallel(@_task, &a, {render(total)}, {worth});",
            "}",
        ]
        return self.kernel("\n".join(lines))

    def kernel(self, text: str) -> Kernel:
        declaration = f"void @({self.parameters()});"
        begins = tuple(self.begins[buffer] * ((bits(buffer.dtype) + 7) // 8) for buffer in self.buffers)
        return Kernel(text, declaration, tuple(self.buffers), begins, tuple(self.scalars), frozenset(self.written))

    def parameters(self) -> str:
        return ", ".join(self.declared(restrict=True)) or "void"

    def declared(self, restrict: bool) -> list[str]:
        """Return the declarations of the buffers and variables that are given to the function."""
        found = []
        for buffer, name in self.buffers.items():
            const = "" if buffer in self.written else "const "
            found.append(f"{const}{c_type(buffer.dtype)}*{' restrict' if restrict else ''} {name}")
        return found + [f"{c_type(var.dtype)} {name}" for var, name in self.scalars.items()]

    def line(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def base(self, buffer: Buffer) -> str:
        found = self.local.get(buffer)
        if found is None:
            memory = self.memory(buffer)
            found = self.buffers.setdefault(memory, f"b{len(self.buffers)}")
            begin = self.begin(buffer)
            first = self.begins.setdefault(memory, begin)
            # All that a stage reads of one memory begins at one place.
            assert first == begin
        return found

    def named(self, var: Var, prefix: str) -> str:
        """Give ``var`` a new name and return it."""
        if var in self.names:
            self.unrolled.forget()
        self.names[var] = self.fresh(prefix)
        return self.names[var]

    def variable(self, var: Var) -> str:
        found = self.names.get(var) or self.scalars.get(var)
        if found is None:
            found = self.scalars[var] = f"n{len(self.scalars)}"
        return found

    # Statements

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
                name = self.named(var, "v")
                self.scoped(f"const {value_type(value.dtype)} {name} = {self.text(value)};", body)
            case If(condition, then, otherwise):
                self.braced(f"if ({self.text(condition)})", then)
                if otherwise is not None:
                    self.braced("else", otherwise)
            case While(condition, body):
                self.braced(f"while ({self.text(condition)})", body)
            case Allocate(buffer, body):
                self.allocate(buffer, body)
            case Evaluate(value):
                raise UnsupportedError(f"the C backend has no statement {value!r}")
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
        extent = simplify(stmt.extent)
        if stmt.kind is LoopKind.UNROLLED and isinstance(extent, IntImm):
            self.naturals.add(stmt.var)
            for step in range(extent.value):
                self.unrolled.steps[stmt.var] = IntImm(step, stmt.var.dtype)
                self.statement(stmt.body)
            self.unrolled.steps.pop(stmt.var, None)
            return
        if stmt.kind is LoopKind.VECTORIZED and isinstance(extent, IntImm) and self.vector(stmt, extent.value):
            return
        if stmt.kind is LoopKind.VECTORIZED:
            self.line("R2R_INDEPENDENT")
        self.braced(self.loop_head(stmt), stmt.body, "R2R_APART" if chooses_around_loops(stmt.body) else "")

    def loop_head(self, stmt: For) -> str:
        type_, extent = c_type(stmt.var.dtype), self.expr(simplify(stmt.extent))
        name = self.named(stmt.var, "i")
        self.naturals.add(stmt.var)
        return f"for ({type_} {name} = 0; {render(Infix('<', Atom(name), extent))}; ++{name})"

    def store(self, buffer: Buffer, indices: Sequence[PrimExpr], value: PrimExpr) -> None:
        values: dict[PrimExpr, PrimExpr] = {}
        for load in loaded_by_choice(value):
            values[load] = var = Var("chosen", load.dtype)
            text = self.text(load)
            self.line(f"const {value_type(load.dtype)} {self.named(var, 'v')} = {text};")
        if values:
            value = map_expr(value, values.get)
        text = render(stored(self.expr(value), buffer.dtype))
        target = render(self.element(buffer, indices))
        if buffer not in self.local:
            self.written.add(self.memory(buffer))
        self.line(f"{target} = {text};")

    def allocate(self, buffer: Buffer, body: Stmt) -> None:
        type_ = c_type(buffer.dtype)
        extents = [e.value if isinstance(e, IntImm) else None for e in buffer.shape]
        static = [e for e in extents if e is not None]
        if buffer.scope == "register":
            self.register(buffer, static, body)
            return
        name = self.local[buffer] = self.fresh("t")
        size = math.prod(static)
        if len(static) == len(extents) and size * bits(buffer.dtype) // 8 <= _STACK_BYTES:
            # A result that a stage does not look at is written all the same.
            self.scoped(f"{type_} {name}[{max(size, 1)}] __attribute__((aligned(64), unused));", body)
            return
        size_text = f"sizeof({type_}) * (size_t){render(self.parenthesised(size_of(buffer)))}"
        self.scoped(f"{type_}* restrict {name} = malloc({size_text});", body, f"free({name});")

    def parenthesised(self, expr: PrimExpr) -> CExpr:
        value = self.expr(expr)
        return value if isinstance(value, Atom) else Atom(f"({render(value)})")

    def register(self, buffer: Buffer, extents: Sequence[int], body: Stmt) -> None:
        """Declare one vector variable per row of ``buffer``: its accesses have constant indices
        once unrolled.
        """
        name = self.local[buffer] = self.fresh("r")
        self.registers[buffer] = tuple(extents)
        count = math.prod(extents[:-1])
        vector = f"{c_type(buffer.dtype)}x{extents[-1]}"
        # Where every access is one to memory in the end, no row is used.
        names = ", ".join(f"{name}_{i}" for i in range(count))
        self.scoped(f"__attribute__((unused)) {vector} {names};", body)

    # Vector statements

    def vector(self, stmt: For, lanes: int) -> bool:
        """Write a vectorised loop around one store as a vector statement.

        Say whether that was possible.
        """
        if not isinstance(stmt.body, BufferStore) or lanes not in (2, 4, 8, 16):
            return False
        store = stmt.body
        if store.buffer.dtype not in ("float32", "float64", "int32"):
            return False
        target = self.vector_place(store.buffer, store.indices, stmt.var, lanes)
        value = self.vector_value(store.value, stmt.var, lanes)
        if target is None or value is None or not target[1]:
            return False
        text, is_vector = value
        if not is_vector:
            text = spread(text, f"{c_type(store.buffer.dtype)}x{lanes}")
        if store.buffer not in self.local:
            self.written.add(self.memory(store.buffer))
        self.line(f"{render(target[0])} = {render(text)};")
        return True

    def vector_place(
        self, buffer: Buffer, indices: Sequence[PrimExpr], lane: Var, lanes: int
    ) -> tuple[CExpr, bool] | None:
        """Return the elements as a C expression and whether it is a vector, or None where it cannot
        be one.
        """
        vector = f"{c_type(buffer.dtype)}x{lanes}"
        if buffer in self.registers:
            *rows, last = indices
            extents = self.registers[buffer]
            if last != lane or lanes != extents[-1]:
                return None
            number = 0
            for row, extent in zip(rows, extents, strict=False):
                at = self.unrolled.number(row)
                if at is None:
                    return None
                number = number * extent + at
            return Atom(f"{self.local[buffer]}_{number}"), True
        stride, place = self.position(buffer, indices, lane)
        if stride == 0:
            return Element(self.base(buffer), place), False
        if stride == 1:
            address = Prefix("&", Element(self.base(buffer), place))
            return Prefix("*", Convert(f"{vector}*", address)), True
        return None

    def position(self, buffer: Buffer, indices: Sequence[PrimExpr], lane: Var | None) -> tuple[int | None, CExpr]:
        """Return how far a lane moves a position, and where the first lane is."""
        found, offset = self.unrolled.position(buffer, indices, lane)
        if found.stride is None:
            return None, Atom("")
        if found.start == IntImm(0):
            return found.stride, literal(IntImm(offset))
        start = found.text = self.expr(found.start) if found.text is None else found.text
        if not offset:
            return found.stride, start
        return found.stride, Infix("+" if offset > 0 else "-", start, literal(IntImm(abs(offset))))

    def vector_value(self, expr: PrimExpr, lane: Var, lanes: int) -> tuple[CExpr, bool] | None:
        """Return ``expr`` as a C expression and whether it is a vector, or None where it cannot be
        one.
        """
        match expr:
            case Binary("+" | "-" | "*" | "/" | "min" | "max" as op, a, b):
                left, right = self.vector_value(a, lane, lanes), self.vector_value(b, lane, lanes)
                if left is None or right is None:
                    return None
                if not left[1] and not right[1]:
                    return self.expr(expr), False
                if op in ("min", "max"):
                    vector = f"{c_type(expr.dtype)}x{lanes}"
                    whole = tuple(part if is_vector else spread(part, vector) for part, is_vector in (left, right))
                    return Invoke(f"r2r_{op}_{vector}", whole), True
                return Infix(op, left[0], right[0]), True
        if not any(node is lane for node in subexpressions(expr)):
            return self.expr(expr), False
        if not isinstance(expr, BufferLoad):
            return None
        found = self.vector_place(expr.buffer, expr.indices, lane, lanes)
        if found is not None and found[1] and expr.buffer not in self.local:
            vector = f"{c_type(expr.buffer.dtype)}x{lanes}"
            match found[0]:
                case Prefix("*", Convert(_, address)):
                    return Prefix("*", Convert(f"const {vector}*", address)), True
        return found

    def across(self, name: str, expr: PrimExpr) -> CExpr:
        """Return the sum, the least or the largest of the lanes of the vector that begins at
        ``expr``, in registers.
        """
        assert isinstance(expr, BufferLoad)
        lanes = self.registers[expr.buffer][-1]
        lane = Var("lane")
        found = self.vector_place(expr.buffer, (*expr.indices[:-1], lane), lane, lanes)
        assert found is not None
        return Invoke(f"{name}_{c_type(expr.dtype)}x{lanes}", (found[0],))

    # Expressions

    def text(self, expr: PrimExpr) -> str:
        return render(self.expr(expr))

    def element(self, buffer: Buffer, indices: Sequence[PrimExpr]) -> CExpr:
        return Element(self.base(buffer), self.position(buffer, indices, None)[1])

    def expr(self, expr: PrimExpr) -> CExpr:
        match expr:
            case IntImm() | FloatImm():
                return literal(expr)
            case Var() if expr in self.unrolled.steps:
                return literal(self.unrolled.steps[expr])
            case Var():
                return Atom(self.variable(expr))
            case Binary():
                return self.binary(expr)
            case Not(a):
                return Prefix("!", self.expr(a))
            case Cast(dtype, value):
                return self.cast(dtype, value)
            case Select(condition, then, otherwise) | Call("if_then_else", (condition, then, otherwise)):
                decided = self.unrolled.put(condition)
                if isinstance(decided, IntImm):
                    return self.expr(then if decided.value else otherwise)
                return Conditional(self.expr(condition), self.expr(then), self.expr(otherwise))
            case Call():
                return self.call(expr)
            case FunctionCall(name):
                raise UnsupportedError(f"the C backend does not call Module.{name}, another function of the module")
            case BufferLoad(buffer, indices):
                element = self.element(buffer, indices)
                return Invoke(f"r2r_load_{buffer.dtype}", (element,)) if buffer.dtype in HALF else element
        raise UnsupportedError(f"the C backend has no expression {type(expr).__name__}")

    def cast(self, dtype: str, value: PrimExpr) -> CExpr:
        inner = self.expr(value)
        if dtype == "bool":
            return Infix("!=", inner, Atom("0"))
        if dtype == "float16" and value.dtype == "float64":
            return rounded(Invoke("r2r_sticky_float", (inner,)), dtype)
        if dtype in ("uint32", "uint64") and is_float(value.dtype):
            return Invoke(f"r2r_to_{dtype}", (inner,))
        return rounded(Convert(value_type(dtype), inner), dtype)

    def binary(self, expr: Binary) -> CExpr:
        """Return ``a op b``; of half precision it is computed in single precision and rounded,
        which is exact.
        """
        a, b, dtype = self.expr(expr.a), self.expr(expr.b), expr.a.dtype
        if dtype in HALF:
            value = self.operation(expr, a, b, "float32")
            return value if expr.op in ("min", "max") or expr.dtype == "bool" else rounded(value, dtype)
        return self.operation(expr, a, b, dtype)

    def operation(self, expr: Binary, a: CExpr, b: CExpr, dtype: str) -> CExpr:
        """Return what ``expr`` does to the numbers ``a`` and ``b`` of ``dtype``."""
        type_ = c_type(dtype)
        match expr.op:
            case "and" | "or":
                return Infix(_LOGICAL[expr.op], a, b)
            case "!=" if is_float(dtype):
                # Ordered, as TVM compares: a NaN is not different from anything.
                return Invoke("__builtin_islessgreater", (a, b))
            case "min" | "max":
                # A function: the text of an operand stands in it once.
                return Invoke(f"r2r_{expr.op}_{type_}", (a, b))
            case "//" | "%" if is_float(dtype):
                if expr.op == "%":
                    return Invoke(f"r2r_floormod_{type_}", (a, b))
                return Invoke("floorf" if dtype == "float32" else "floor", (Infix("/", a, b),))
            case "//" | "%" if not is_unsigned(dtype) and not self.natural(expr.a, expr.b):
                return Invoke(f"r2r_floor{'div' if expr.op == '//' else 'mod'}_{type_}", (a, b))
            case "truncmod" if is_float(dtype):
                return Invoke("fmodf" if dtype == "float32" else "fmod", (a, b))
            case "<<" if isinstance(expr.a, IntImm):
                # A literal is an int in C, too narrow for some shifts.
                return Infix("<<", Convert(type_, a), b)
            case "truncdiv" if is_float(dtype):
                return Invoke("truncf" if dtype == "float32" else "trunc", (Infix("/", a, b),))
        if expr.op == "-" and is_remainder(expr):
            b = Invoke(f"r2r_product_{type_}", (b,))
        value = Infix(_DIVISIONS.get(expr.op, expr.op), a, b)
        # C widens small integers to int; the program's arithmetic wraps around in its own width.
        if is_int(dtype) and bits(dtype) < 32 and expr.dtype != "bool":
            return Convert(type_, value)
        return value

    def natural(self, a: PrimExpr, b: PrimExpr) -> bool:
        return is_natural(a, self.naturals) and is_natural(b, self.naturals)

    def call(self, expr: Call) -> CExpr:
        expr = math_call(expr) or expr
        args = tuple(self.expr(arg) for arg in expr.args)
        dtype = expr.args[0].dtype if expr.args else expr.dtype
        match expr.name:
            case "likely":
                return args[0]
            case "vector_sum" | "vector_min" | "vector_max":
                return self.across(f"r2r_across_{expr.name.removeprefix('vector_')}", expr.args[0])
            case "reinterpret" if dtype in HALF or expr.dtype in HALF:
                same = Convert(c_type(expr.dtype), stored(args[0], dtype))
                return Invoke(f"r2r_load_{expr.dtype}", (same,)) if expr.dtype in HALF else same
            case "reinterpret" if is_float(dtype) == is_float(expr.dtype):
                return Convert(c_type(expr.dtype), args[0])
            case "reinterpret":
                return Invoke(f"r2r_{c_type(dtype)}_as_{c_type(expr.dtype)}", args)
            case "bitwise_not":
                return Convert(c_type(dtype), Prefix("~", args[0]))
            case "popcount":
                unsigned = Convert(c_type(f"uint{bits(dtype)}"), args[0])
                return Convert(c_type(expr.dtype), Invoke("__builtin_popcountll", (unsigned,)))
            case "abs" | "fabs" if is_int(dtype):
                if is_unsigned(dtype):
                    return args[0]
                negative = Convert(c_type(dtype), Prefix("-", args[0]))
                return Conditional(Infix("<", args[0], Atom("0")), negative, args[0])
            case "pow" | "power" if is_int(dtype):
                return Convert(c_type(dtype), Invoke("r2r_powi", args))
            case "floor" | "ceil" | "round" | "trunc" | "nearbyint" if is_int(dtype):
                return args[0]
            case "isnan" | "isinf" | "isfinite" if is_int(dtype):
                return Atom("1" if expr.name == "isfinite" else "0")
        found = FUNCTIONS.get(expr.name)
        if found is None or not is_float(dtype):
            raise UnsupportedError(f"the C backend has no intrinsic T.{expr.name} of {dtype}")
        value = Invoke(found[1] if dtype == "float64" else found[0], args)
        return value if expr.name in _EXACT | _PREDICATES else rounded(value, dtype)


def spread(value: CExpr, vector: str) -> CExpr:
    """Return a vector of which every lane is ``value``; a difference keeps the sign of a zero."""
    return Infix("-", value, Atom(f"({vector}){{0}}"))


def literal(expr: IntImm | FloatImm) -> CExpr:
    """Return a constant in C's spelling; floats are written in hexadecimal, which is exact."""
    if isinstance(expr, FloatImm):
        suffix = "f" if value_type(expr.dtype) == "float" else ""
        number = float(numpy_dtype(expr.dtype).type(expr.value)) if expr.dtype in HALF else expr.value
        if math.isnan(number):
            return Atom("NAN")
        if math.isinf(number):
            return Atom("INFINITY" if number > 0 else "-INFINITY")
        if number == int(number) and abs(number) < 1e6:
            return Atom(f"{number:.1f}{suffix}")
        return Atom(number.hex() + suffix)
    value = expr.value
    if is_unsigned(expr.dtype):
        return Atom(f"{value}{'ULL' if bits(expr.dtype) == 64 else 'U'}" if bits(expr.dtype) >= 32 else str(value))
    if value == -(1 << 63):
        # The literal of the number without its sign is too large.
        return Infix("-", Atom(f"-{(1 << 63) - 1}LL"), Atom("1"))
    return Atom(str(value) if -(1 << 31) < value < 1 << 31 else f"{value}LL")
