"""Scalar expressions as TVMScript.

A literal always says its dtype, so that no reader has to guess.
"""

from __future__ import annotations

import math
import struct
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from relay2relax.core.dtype import check_dtype
from relay2relax.core.errors import UnsupportedError
from relay2relax.core.errors.table import tensor_programs
from relay2relax.core.words import Code, Identifier, code, comma, dotted, number, quoted, sign, truth, word
from relay2relax.tir.errors import TIRError
from relay2relax.tir.ir.builtins import DTYPE_FIRST, DTYPE_LAST, is_builtin
from relay2relax.tir.ir.expr import (
    COMPARISONS,
    Binary,
    BinaryOp,
    Broadcast,
    Buffer,
    BufferData,
    BufferLoad,
    Call,
    Cast,
    CommReducer,
    FloatImm,
    FunctionCall,
    IntImm,
    Keyword,
    LetIn,
    Not,
    PrimExpr,
    Ramp,
    Select,
    Shuffle,
    StringImm,
    Var,
    binary,
)
from relay2relax.tir.ir.stmt import Target, ThreadAxis
from relay2relax.tir.script.dialect import INTRINSICS, Dialect
from relay2relax.tir.script.names import Scope

_OPERATORS = {
    "or": 1, "and": 2, "<": 4, "<=": 4, ">": 4, ">=": 4, "==": 4, "!=": 4, "|": 5, "^": 6, "&": 7, "<<": 8,
    ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "//": 10, "%": 10,
}  # fmt: skip
_RELATIONS = COMPARISONS - {"and", "or"}
_NAMED = {
    "+": "Add", "-": "Sub", "*": "Mul", "/": "Div", "//": "FloorDiv", "%": "FloorMod", "<": "LT", "<=": "LE", ">": "GT",
    ">=": "GE", "==": "EQ", "!=": "NE",
}  # fmt: skip
_NOT = 3
_ATOM = 20
_INT64_MAX = 2**63 - 1
_FLOAT32_MAX = (2 - 2**-23) * 2.0**127


def float_literal(value: float) -> Code:
    """Return ``value`` as ``T.float32`` and its like take it: all digits, infinities and NaN as
    strings.
    """
    if math.isnan(value):
        return quoted("nan")
    if math.isinf(value):
        return quoted("inf" if value > 0 else "-inf")
    return number(float(value))


def dtype_word(dtype: str) -> Identifier:
    """Return ``dtype`` as the name that it has in the namespace ``T``.

    Raises DTypeError for what is no dtype, WordError for one that has no name there.
    """
    return word(check_dtype(dtype))


def _literal(constant: IntImm | FloatImm) -> Code:
    """Return the text of a number, which says its dtype."""
    match constant:
        case IntImm(value, "bool"):
            return code("T.bool({})", truth(value))
        case IntImm(value, dtype) if value > _INT64_MAX:
            # Readers take no integer of 64 bits without a sign.
            return code("T.reinterpret({}, T.int64({}))", quoted(dtype), value - 2**64)
        case IntImm(value, dtype):
            return code("T.{}({})", dtype_word(dtype), value)
        case FloatImm(value, "float64") if _FLOAT32_MAX < abs(value) < math.inf:
            # Readers take a literal for a float32 before they look at the dtype that is asked for.
            (pattern,) = struct.unpack("<q", struct.pack("<d", value))
            return code('T.reinterpret("float64", T.int64({}))', pattern)
        case FloatImm(value, dtype):
            return code("T.{}({})", dtype_word(dtype), float_literal(value))


def _is_folded(op: BinaryOp, a: PrimExpr, b: PrimExpr) -> bool:
    """Whether readers take ``a op b`` for something simpler, such as ``a`` for ``a + 0``."""
    if not isinstance(a, (IntImm, FloatImm)) and not isinstance(b, (IntImm, FloatImm)):
        return False
    found = binary(op, a, b) if a.dtype == b.dtype else None
    return found is a or found is b or isinstance(found, (IntImm, FloatImm))


class ExpressionPrinter(ABC):
    """The texts of expressions and attributes, in which names are those of ``scope``.

    ``places`` are the texts of offsets that belong to buffers, ``addresses`` the buffers whose name
    is that of memory, ``scalars`` those whose name stands for their one element.
    """

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.scope = Scope()
        self.places: dict[Var, Code] = {}
        self.addresses: set[Buffer] = set()
        self.scalars: set[Buffer] = set()

    @abstractmethod
    def declare(self, var: Var) -> Code:
        """Write a declaration of ``var`` before this place, and return its name."""

    # Expressions.

    def expr(self, expr: PrimExpr, level: int = 0) -> Code:
        """Return the text of ``expr``, in parentheses where it binds weaker than ``level``."""
        text, binds = self.bare(expr)
        return code("({})", text) if binds < level else text

    def bare(self, expr: PrimExpr) -> tuple[Code, int]:
        match expr:
            case IntImm() | FloatImm():
                return _literal(expr), _ATOM
            case StringImm(value):
                return quoted(value), _ATOM
            case Keyword(name, value):
                return code("{}={}", word(name), self.attribute(value)), _ATOM
            case Var(name):
                found = self.scope.name(expr) or self.places.get(expr)
                if found is None:
                    raise TIRError(f"the tensor program uses the variable {name} where it is not defined")
                return found, _ATOM
            case Binary():
                return self.binary(expr)
            case Not(a):
                return code("not {}", self.expr(a, _NOT)), _NOT
            case Cast(dtype, value):
                return code("T.Cast({}, {})", quoted(check_dtype(dtype)), self.expr(value)), _ATOM
            case Select(condition, then, otherwise):
                return code("T.Select({}, {}, {})", self.expr(condition), self.expr(then), self.expr(otherwise)), _ATOM
            case BufferLoad(buffer) if buffer in self.scalars:
                return self.buffer(buffer), _ATOM
            case BufferLoad(buffer, indices, predicate):
                place = self.indices(indices)
                if predicate is None:
                    return code("{}[{}]", self.buffer(buffer), place), _ATOM
                return code("{}.vload([{}], predicate={})", self.buffer(buffer), place, self.expr(predicate)), _ATOM
            case BufferData(buffer, True):
                return self.buffer(buffer), _ATOM
            case BufferData(buffer):
                return self.address(buffer), _ATOM
            case Ramp(base, stride, lanes):
                return code("T.Ramp({}, {}, {})", self.count(base), self.count(stride), self.count(lanes)), _ATOM
            case Broadcast(value, lanes):
                return code("T.Broadcast({}, {})", self.expr(value), self.count(lanes)), _ATOM
            case Shuffle(vectors, indices):
                lists = (comma(map(self.count, part)) for part in (vectors, indices))
                return code("T.Shuffle({})", comma(code("[{}]", one) for one in lists)), _ATOM
            case LetIn(var, value, body):
                text = self.expr(value)
                name = self.declare(var)
                return code("T.Let({}, where={{{}: {}}})", self.expr(body), name, text), _ATOM
            case CommReducer():
                return self.reducer(expr), _ATOM
            case Call():
                return self.call(expr), _ATOM
            case FunctionCall(name, args):
                return code("Module.{}({})", word(name), comma(map(self.expr, args))), _ATOM
        raise UnsupportedError(f"TVMScript cannot say {expr!r} in a tensor program", kind=tensor_programs.NOT_EXPRESSED)

    def binary(self, expr: Binary) -> tuple[Code, int]:
        """Return the text of an operation, and how strongly it binds."""
        op, a, b = expr.op, expr.a, expr.b
        if op in _RELATIONS and a.dtype == "bool":
            # TVM's LLVM backend compares bools as if they were floats, and fails.
            return self.bare(Binary(op, Cast("uint8", a), Cast("uint8", b)))
        if op in _NAMED:
            # Readers compute what operators say of numbers alone.
            of_numbers = isinstance(a, (IntImm, FloatImm)) and isinstance(b, (IntImm, FloatImm))
            if of_numbers or (self.dialect.today and _is_folded(op, a, b)):
                return code("T.{}({}, {})", word(_NAMED[op]), self.expr(a), self.expr(b)), _ATOM
        if op in _OPERATORS:
            level = _OPERATORS[op]
            # A number on the left of a relation would change sides.
            first = self.expr(a, level + 1) if op in _RELATIONS else self.operand(a, b, level)
            return code("{} {} {}", first, sign(op), self.operand(b, a, level + 1)), level
        return code("T.{}({}, {})", word(op), self.operand(a, b), self.operand(b, a)), _ATOM

    def operand(self, expr: PrimExpr, other: PrimExpr, level: int = 0) -> Code:
        """Return the text of an operand, beside which a number has the dtype of ``other``."""
        return self.expr(expr, level) if isinstance(other, IntImm) else self.count(expr, level)

    def count(self, expr: PrimExpr, level: int = 0) -> Code:
        """Return the text of ``expr`` where readers take a number as it stands for an int32."""
        if isinstance(expr, IntImm) and expr.dtype == "int32" and expr.value >= 0:
            return number(expr.value)
        return self.expr(expr, level)

    def call(self, call: Call) -> Code:
        name, args = call.name, call.args
        texts = [self.expr(arg) for arg in args]
        dtype: Code = quoted(check_dtype(call.dtype))
        if call.pointer is not None and self.dialect.today:
            dtype = code("T.handle({}).ty", comma(quoted(part) for part in call.pointer if part))
        if name in DTYPE_FIRST:
            return code("T.{}({})", dotted(name), comma([dtype, *texts]))
        if name in DTYPE_LAST:
            return code("T.{}({})", dotted(name), comma([*texts, dtype]))
        if is_builtin(name):
            return code("T.{}({})", dotted(name), comma(texts))
        if name in self.dialect.no_intrinsics or name not in INTRINSICS:
            raise UnsupportedError(f"TVMScript has no intrinsic {name!r}", kind=tensor_programs.NOT_EXPRESSED)
        spelled = self.dialect.intrinsics.get(name, name)
        return code("T.{}({})", dotted(spelled), comma(texts))

    def indices(self, indices: Sequence[PrimExpr]) -> Code:
        return comma(map(self.count, indices)) if indices else code("()")

    def buffer(self, buffer: Buffer) -> Code:
        found = self.scope.name(buffer)
        if found is None:
            raise TIRError(f"the buffer {buffer.name} is used where it is not declared")
        return found

    def address(self, buffer: Buffer) -> Code:
        """Return the text of where the memory of ``buffer`` begins."""
        return self.buffer(buffer) if buffer in self.addresses else code("{}.data", self.buffer(buffer))

    def reducer(self, reducer: CommReducer) -> Code:
        self.scope.enter()
        names = [self.scope.define(var, var.name) for var in (*reducer.left, *reducer.right)]
        results = comma(map(self.expr, reducer.results))
        self.scope.leave()
        identities = comma(map(self.expr, reducer.identities))
        body = results if len(reducer.results) == 1 else code("({})", results)
        return code("T.comm_reducer(lambda {}: {}, [{}])", comma(names), body, identities)

    def shape(self, shape: Sequence[PrimExpr]) -> Code:
        texts = [self.count(extent) for extent in shape]
        return code("({},)", texts[0]) if len(texts) == 1 else code("({})", comma(texts))

    def attribute(self, value: Any) -> Code:
        match value:
            case None:
                return code("None")
            case Buffer():
                return self.buffer(value)
            case [Buffer(), *_]:
                # Which operands may be laid out anew, of those that are still there.
                return code("[{}]", comma(self.buffer(one) for one in value if self.scope.name(one) is not None))
            case ThreadAxis(var, tag):
                return code("T.iter_var({}, None, 'ThreadIndex', {})", self.expr(var), quoted(tag))
            case Target(told, host):
                own = code("") if host is None else code(", host={}", self.attribute(host))
                return code("T.target({}{})", self.attribute(told), own)
            case bool():
                return self.dialect.true if value else self.dialect.false
            case int():
                return number(value)
            case float():
                return self.expr(FloatImm(value, "float64"))
            case str():
                return quoted(value)
            case PrimExpr():
                return self.expr(value)
            case Mapping():
                return code("{{{}}}", comma(code("{}: {}", quoted(k), self.attribute(v)) for k, v in value.items()))
            case list() | tuple():
                return code("[{}]", comma(self.attribute(v) for v in value))
        raise UnsupportedError(
            f"TVMScript cannot say {value!r} as an attribute of a tensor program", kind=tensor_programs.NOT_EXPRESSED
        )
