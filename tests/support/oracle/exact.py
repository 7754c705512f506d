"""Relay programs in numbers of 120 bits: every operator's definition, run one number at a time.

    with in_bits(120):
        exact_outputs(mod, arguments)

Floats are MPFR's, integers are Python's. The definition of an operator, which C is made of, becomes
a function of Python's own; numpy's kernels have no part in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count, product
from typing import Any

import gmpy2
import numpy as np

from relay2relax.backends.relay.kernels import is_static
from relay2relax.core.dtype import is_float, of_array
from relay2relax.ops.registry.lower import lower_call
from relay2relax.ops.registry.record import OpDef
from relay2relax.ops.registry.table import relay_op
from relay2relax.ops.registry.types import TensorType, TupleType
from relay2relax.relay_ir import Call, Constant, Expr, IRModule, Op, Tuple, TupleGetItem, Var
from relay2relax.relay_ir.analysis import post_order_visit
from relay2relax.tir.extent import static
from relay2relax.tir.ir import expr as E
from relay2relax.tir.ir import stmt as S


class NotExactError(Exception):
    """The program has something that has no such form, or takes too long in it."""


# So many numbers may a program compute; a million takes four seconds.
MOST = 1_500_000


@contextmanager
def in_bits(bits: int) -> Iterator[None]:
    """Compute in numbers of so many bits while the block runs."""
    with gmpy2.context(gmpy2.get_context(), precision=bits):
        yield


def _integer(x: Any) -> int:
    return int(gmpy2.trunc(x)) if isinstance(x, gmpy2.mpfr) else int(x)


def _truncated(a: int, b: int) -> int:
    found = abs(a) // abs(b)
    return found if (a < 0) == (b < 0) else -found


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{name: getattr(gmpy2, name) for name in (
        "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "cos", "cosh", "erf", "exp", "exp10",
        "exp2", "expm1", "floor", "fmod", "hypot", "log", "log10", "log1p", "log2", "sin", "sinh", "sqrt", "tan",
        "tanh", "trunc",
    )},
    "abs": abs, "fabs": abs, "likely": lambda x: x, "nearbyint": gmpy2.rint, "round": gmpy2.rint,
    "pow": lambda x, y: x**y, "power": lambda x, y: x**y, "rsqrt": gmpy2.rec_sqrt,
    "sigmoid": lambda x: 1 / (1 + gmpy2.exp(-x)), "copysign": gmpy2.copy_sign,
    "isnan": gmpy2.is_nan, "isinf": gmpy2.is_infinite, "isfinite": gmpy2.is_finite,
}  # fmt: skip


class _Writer:
    """Writes a function of Python that does what a PrimFunc says."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[object, str] = {}
        self.scope: dict[str, Any] = {"mpf": gmpy2.mpfr, "F": FUNCTIONS, "truncated": _truncated, "integer": _integer}
        self.numbers = count()
        # How often numbers are stored, and how often what is being written runs, as far as extents
        # are known.
        self.stores, self.times = 0, 1

    def name(self, thing: object) -> str:
        if thing not in self.names:
            self.names[thing] = f"n{next(self.numbers)}"
        return self.names[thing]

    def add(self, level: int, text: str) -> None:
        self.lines.append(" " * level + text)

    def buffer(self, level: int, buffer: E.Buffer) -> None:
        shape = ", ".join(self.value(one) for one in buffer.shape)
        zero = "mpf(0)" if is_float(buffer.dtype) else "0"
        self.add(level, f"{self.name(buffer)} = np.full(({shape}{',' * (len(buffer.shape) == 1)}), {zero}, object)")
        self.scope["np"] = np

    def statement(self, stmt: S.Stmt, level: int) -> None:
        match stmt:
            case S.Seq(stmts):
                for one in stmts:
                    self.statement(one, level)
            case S.For(var, extent, body, begin=begin, step=None):
                first = "0" if begin is None else self.value(begin)
                self.add(level, f"for {self.name(var)} in range({first}, {first} + {self.value(extent)}):")
                around = self.times
                self.times *= extent.value if isinstance(extent, E.IntImm) else 1
                self.statement(body, level + 1)
                self.times = around
            case S.BlockRealize(values, block, predicate):
                if predicate is not None:
                    self.add(level, f"if {self.value(predicate)}:")
                    level += 1
                for axis, value in zip(block.iter_vars, values, strict=True):
                    self.add(level, f"{self.name(axis.var)} = {self.value(value)}")
                if block.matches:
                    raise NotExactError("matched buffers")
                for buffer in block.alloc_buffers:
                    self.buffer(level, buffer)
                if block.init is not None:
                    reduced = [self.name(one.var) for one in block.iter_vars if one.kind is S.IterKind.REDUCE]
                    self.add(level, f"if {' and '.join(f'{one} == 0' for one in reduced) or 'True'}:")
                    self.statement(block.init, level + 1)
                self.statement(block.body, level)
            case S.BufferStore(buffer, indices, value, None):
                self.stores += self.times
                self.add(level, "tick()")
                self.add(level, f"{self.name(buffer)}[{self.indices(indices)}] = {self.value(value)}")
            case S.If(condition, then, otherwise):
                self.add(level, f"if {self.value(condition)}:")
                self.statement(then, level + 1)
                if otherwise is not None:
                    self.add(level, "else:")
                    self.statement(otherwise, level + 1)
            case S.Let(var, value, body):
                self.add(level, f"{self.name(var)} = {self.value(value)}")
                self.statement(body, level)
            case S.While(condition, body):
                self.add(level, f"while {self.value(condition)}:")
                self.statement(body, level + 1)
            case S.Allocate(buffer, body, of=None, values=None):
                self.buffer(level, buffer)
                self.statement(body, level)
            case _:
                raise NotExactError(type(stmt).__name__)

    def indices(self, indices: Sequence[E.PrimExpr]) -> str:
        return ", ".join(map(self.value, indices)) or "()"

    def value(self, value: E.PrimExpr) -> str:
        match value:
            case E.IntImm(number, dtype):
                return repr(bool(number)) if dtype == "bool" else repr(number)
            case E.FloatImm(number):
                return self.constant(gmpy2.mpfr(number))
            case E.Var():
                return self.name(value)
            case E.BufferLoad(buffer, indices, None):
                return f"{self.name(buffer)}[{self.indices(indices)}]"
            case E.Binary(op, a, b):
                return self.binary(op, a, self.value(a), self.value(b))
            case E.Not(a):
                return f"(not {self.value(a)})"
            case E.Select(condition, yes, no):
                return f"({self.value(yes)} if {self.value(condition)} else {self.value(no)})"
            case E.Cast(dtype, inner):
                return self.cast(dtype, inner)
            case E.Call("if_then_else", (condition, yes, no)):
                return f"({self.value(yes)} if {self.value(condition)} else {self.value(no)})"
            case E.Call(name, args) if name in FUNCTIONS:
                return f"F[{name!r}]({', '.join(map(self.value, args))})"
            case E.LetIn(var, bound, body):
                return f"(lambda {self.name(var)}: {self.value(body)})({self.value(bound)})"
        raise NotExactError(getattr(value, "name", type(value).__name__))

    def constant(self, value: object) -> str:
        name = f"c{next(self.numbers)}"
        self.scope[name] = value
        return name

    def binary(self, op: str, left: E.PrimExpr, a: str, b: str) -> str:
        match op:
            case "min" | "max":
                return f"{op}({a}, {b})"
            case "truncdiv":
                return f"truncated({a}, {b})"
            case "truncmod":
                return f"({a} - {b} * truncated({a}, {b}))"
            case "//" | "%" if is_float(left.dtype):
                raise NotExactError("floor division of floats")
        return f"({a} {op} {b})"

    def cast(self, dtype: str, inner: E.PrimExpr) -> str:
        said = self.value(inner)
        if is_float(dtype):
            return said if is_float(inner.dtype) else f"mpf(int({said}))"
        if dtype == "bool":
            return f"({said} != 0)"
        return f"integer({said})"


def _kernel(op: OpDef, attrs: Any, types: Sequence[Any], out: Any, most: int) -> Callable[..., None]:
    func = lower_call(op, attrs, tuple(types), out, "exact")
    writer = _Writer()
    params = [writer.name(buffer) for buffer in func.buffers]
    writer.add(0, f"def run(tick, {', '.join(params)}):")
    for buffer in func.root_buffers:
        writer.buffer(1, buffer)
    writer.statement(func.body, 1)
    if writer.stores > most:
        raise NotExactError("it is too long")
    exec("\n".join(writer.lines), writer.scope)  # noqa: S102 - it is written above
    run: Callable[..., None] = writer.scope["run"]
    return run


def _exactly(array: Any) -> Any:
    """Return an array of exact numbers."""
    if isinstance(array, tuple):
        return tuple(map(_exactly, array))
    array = np.asarray(array)
    turned = gmpy2.mpfr if is_float(of_array(array)) else bool if array.dtype.kind == "b" else int
    wide = array.astype(np.float64) if is_float(of_array(array)) else array
    found = np.empty(array.shape, object)
    for place in product(*map(range, array.shape)):
        found[place] = turned(wide[place].item())
    return found


def exact_outputs(mod: IRModule, arguments: Sequence[Any], most: int = MOST) -> list[Any]:
    """Return the outputs of ``main``, arrays of exact numbers.

    Raises NotExactError for programs with branches or functions, for operators whose definitions
    look at bits, and for what computes more than ``most`` numbers.
    """
    main = mod["main"]
    values: dict[Expr, Any] = dict(zip(main.params, map(_exactly, arguments), strict=True))
    left = [most]

    def tick() -> None:
        left[0] -= 1
        if left[0] < 0:
            raise NotExactError("it is too long")

    order: list[Expr] = []
    post_order_visit(main.body, order.append)
    for node in order:
        match node:
            case Var() if node in values:
                pass
            case Constant(data):
                values[node] = _exactly(data)
            case Tuple(fields):
                values[node] = tuple(values[one] for one in fields)
            case TupleGetItem(inner, index):
                values[node] = values[inner][index]
            case Call(Op(), args):
                values[node] = _called(mod, node, [values[one] for one in args], tick, most)
            case Op():
                pass
            case _:
                raise NotExactError(type(node).__name__)
    return _flat(values[main.body])


def _called(mod: IRModule, call: Call, args: Sequence[Any], tick: Callable[[], None], most: int) -> Any:
    assert isinstance(call.op, Op)
    op = relay_op(call.op.name)
    if op is None:
        raise NotExactError(call.op.name)
    if op.passes_through:
        return args[0]
    given = tuple(_sized(mod.types[one], value) for one, value in zip(call.args, args, strict=True))
    out = op.infer(call.attrs, *given)
    if not is_static(out):
        raise NotExactError("an extent that data decide")
    fields = out.fields if isinstance(out, TupleType) else (out,)
    shapes = [[static(one) or 0 for one in field.shape] for field in fields if isinstance(field, TensorType)]
    made = [np.empty(shape, np.object_) for shape in shapes]
    _kernel(op, call.attrs, given, out, most)(tick, *_flat(tuple(args)), *made)
    return tuple(made) if isinstance(out, TupleType) else made[0]


def _sized(known: Any, value: Any) -> Any:
    """Return what is known of a value's type with the extents that it has."""
    if isinstance(known, TupleType):
        return TupleType(tuple(map(_sized, known.fields, value)))
    return TensorType(value.shape, known.dtype)


def _flat(value: Any) -> list[Any]:
    return [one for field in value for one in _flat(field)] if isinstance(value, tuple) else [value]


def share(found: Any, exact: Any) -> float:
    """Return the largest error of floats, as a share of the largest finite magnitude that is
    exact; infinity where one is finite and the other is not.
    """
    largest, off = gmpy2.mpfr(0), gmpy2.mpfr(0)
    for one, right in zip(found.astype(np.float64).ravel().tolist(), exact.ravel(), strict=True):
        if gmpy2.is_finite(right) and np.isfinite(one):
            largest = max(largest, abs(right))
            off = max(off, abs(right - one))
        elif one != right and not (one != one and gmpy2.is_nan(right)):
            return float("inf")
    return float(off / (largest or 1))
