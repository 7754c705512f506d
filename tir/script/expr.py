"""Scalar expressions of TVMScript: the ``T.`` namespace, Python's operators, and literals that take
a dtype.

A number without a dtype takes that of the expression that it meets, as in TVM; alone it is of
``int_dtype`` or float32. Nothing is folded, so that what was printed prints alike.
"""

from __future__ import annotations

import ast
import math
import re
import struct
from collections.abc import Callable, Sequence
from typing import Any

from relay2relax.core import dtype as dt
from relay2relax.core.script_source import ScriptSource, counted
from relay2relax.tir.arith.simplify import simplify
from relay2relax.tir.ir import intrinsics
from relay2relax.tir.ir.builtins import DTYPE_FIRST, DTYPE_LAST, FOREIGN, builtin_dtype, is_builtin, takes_keywords
from relay2relax.tir.ir.expr import (
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
    IntImm,
    Keyword,
    LetIn,
    OperandError,
    PrimExpr,
    Ramp,
    Shuffle,
    StringImm,
    Var,
    binary,
    cast,
    const,
    vector_dtype,
)
from relay2relax.tir.script.expr_printer import INTRINSICS
from relay2relax.tir.script.operators import OperatorReader, Value

_DTYPE = re.compile(
    r"(u?int(1|2|4|8|16|32|64)|float(8|16|32|64)|float[468]_e\w+?|bfloat16|bool)(x\d+|xvscalex\d+)?\Z"
    r"|(boolean|handle|void)\Z"
)
_OPERATORS: dict[type[ast.AST], BinaryOp] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.BitAnd: "&",
    ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">",
    ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip


# What TVM until 0.19 called today's dtypes.
_OLDER = {"e4m3_float8": "float8_e4m3fn", "e5m2_float8": "float8_e5m2"}


def is_dtype(name: str) -> bool:
    """Whether ``name`` is a dtype of scripts, e.g. ``float32``."""
    return name in _OLDER or _DTYPE.match(name) is not None


class ExpressionReader(OperatorReader):
    """Reads expressions; ``lookup`` says what a name stands for, None where it is not defined."""

    def __init__(self, source: ScriptSource, lookup: Callable[[str], Any], int_dtype: str) -> None:
        super().__init__(source, int_dtype)
        self.lookup = lookup
        self.known: Callable[[], Sequence[str]] = tuple

    def expr(self, node: ast.AST, dtype: str = "") -> PrimExpr:
        """Return ``node`` as an expression; a bare number is of ``dtype`` where that is given."""
        return self.typed(self.value(node), node, dtype)

    def value(self, node: ast.AST) -> Value:
        """Return ``node`` as an expression, or as a Python number where it says no dtype."""
        match node:
            case ast.Constant(bool() | int() | float() | str() as literal):
                return literal
            case ast.Name(name):
                return self.name(node, name)
            case ast.BinOp(left, ast.Pow(), right):
                return self.function("pow", [self.value(left), self.value(right)], node)
            case ast.BinOp(left, op, right) if type(op) in _OPERATORS:
                return self.binary(_OPERATORS[type(op)], self.value(left), self.value(right), node)
            case ast.UnaryOp(op, operand):
                return self.unary(op, self.value(operand), node)
            case ast.Compare(left, ops, comparators):
                return self.comparison(left, ops, comparators, node)
            case ast.BoolOp(op, values):
                joining: BinaryOp = "and" if isinstance(op, ast.And) else "or"
                result = self.value(values[0])
                for one in values[1:]:
                    result = self.binary(joining, result, self.value(one), node)
                return result
            case ast.IfExp(test, body, orelse):
                return self.function("if_then_else", [self.value(test), self.value(body), self.value(orelse)], node)
            case ast.Subscript(ast.Attribute(target, "shape" | "strides" as of), ast.Constant(int() as place)):
                parts = self.buffer(target).shape if of == "shape" else self.buffer(target).strides
                if not -len(parts) <= place < len(parts):
                    raise self.source.problem(node, f"there are {len(parts)} of them", "expected a smaller number")
                return parts[place]
            case ast.Subscript(
                ast.Subscript(ast.Name("metadata"), ast.Constant(str() as kind)), ast.Constant(int() as n)
            ):
                # Texts of several lines lie beside the script, where it is printed with
                # show_meta=True.
                beside = self.source.metadata.get(kind, ())
                text = beside[n] if 0 <= n < len(beside) else None
                return StringImm(text if isinstance(text, str) else f"{kind} {n}")
            case ast.Subscript(target, index):
                return self.load(target, index)
            case ast.Attribute(target, "data"):
                return BufferData(self.buffer(target))
            case ast.Attribute(target, "elem_offset"):
                return self.buffer(target).offset or IntImm(0, "int32")
            case ast.Call():
                return self.call(node)
        raise self.source.problem(node, "this is no scalar expression", "expected a scalar expression")

    def name(self, node: ast.AST, name: str) -> Value:
        found = self.lookup(name)
        if found is None:
            raise self.source.undefined(node, name, self.known(), "variable")
        if isinstance(found, Buffer):
            raise self.source.problem(node, f"`{name}` is a buffer", "expected a scalar; an element is `buffer[index]`")
        if not isinstance(found, (PrimExpr, bool, int, float)):
            raise self.source.problem(node, f"`{name}` is no scalar", "expected a scalar")
        return found

    # Operators.

    def comparison(self, left: ast.AST, ops: Sequence[ast.cmpop], others: Sequence[ast.AST], node: ast.AST) -> Value:
        result: Value | None = None
        for op, right in zip(ops, others, strict=True):
            if type(op) not in _OPERATORS:
                raise self.source.problem(node, "scalars have no such comparison", "expected < <= > >= == or !=")
            one = self.binary(_OPERATORS[type(op)], self.value(left), self.value(right), node)
            result = one if result is None else self.binary("and", result, one, node)
            left = right
        assert result is not None
        return result

    # Elements of buffers.

    def buffer(self, node: ast.AST) -> Buffer:
        """Return the buffer that ``node`` names."""
        if not isinstance(node, ast.Name):
            raise self.source.problem(node, "this is no buffer", "expected the name of a buffer")
        found = self.lookup(node.id)
        if found is None:
            raise self.source.undefined(node, node.id, self.known(), "buffer")
        if not isinstance(found, Buffer):
            raise self.source.problem(node, f"`{node.id}` is no buffer", "expected the name of a buffer")
        return found

    def load(self, target: ast.AST, index: ast.AST) -> PrimExpr:
        buffer = self.buffer(target)
        return BufferLoad(buffer, self.indices(buffer, index))

    def indices(self, buffer: Buffer, index: ast.AST) -> tuple[PrimExpr, ...]:
        """Return the indices of an element of ``buffer``; a slice stands for the lanes of a
        vector.
        """
        parts = index.elts if isinstance(index, (ast.Tuple, ast.List)) else [index]
        if len(parts) != len(buffer.shape):
            raise self.source.problem(
                index, f"the buffer `{buffer.name}` has {counted(len(buffer.shape), 'dimension')}",
                f"{len(parts)} given, expected {len(buffer.shape)}",
            )  # fmt: skip
        found = tuple(self.ramp(part) if isinstance(part, ast.Slice) else self.expr(part) for part in parts)
        for expr, part in zip(found, parts, strict=True):
            if not dt.is_int(expr.dtype):
                raise self.source.problem(part, f"an index has dtype {expr.dtype}", "expected an integer")
        return found

    def ramp(self, node: ast.Slice) -> PrimExpr:
        """Return ``begin:end:step`` as an index."""
        if node.lower is None or node.upper is None:
            raise self.source.problem(node, "a slice of lanes has a begin and an end", "expected begin:end")
        begin, end = self.value(node.lower), self.value(node.upper)
        dtype = next((part.dtype for part in (begin, end) if isinstance(part, PrimExpr)), self.int_dtype)
        first, last = cast(dtype, self.typed(begin, node, dtype)), cast(dtype, self.typed(end, node, dtype))
        step = self.expr(node.step, dtype) if node.step is not None else const(1, dtype)
        length = simplify(binary("-", last, first))
        if step != IntImm(1, dtype) and not isinstance(length, IntImm):
            return Ramp(first, step, self.lanes(simplify(binary("//", length, step)), node))
        if isinstance(length, IntImm) and isinstance(step, IntImm) and step.value:
            count: PrimExpr = IntImm(length.value // step.value, "int32")
            if length.value // step.value < 1:
                raise self.source.problem(node, "a slice of lanes has at least one lane", "expected begin < end")
            return first if length.value == step.value else Ramp(first, step, count)
        match last:
            case Binary("+", start, count) if start == first and step == IntImm(1, dtype):
                return Ramp(first, step, self.lanes(count, node))
        return Ramp(first, step, self.lanes(length, node))

    def lanes(self, count: PrimExpr, node: ast.AST) -> PrimExpr:
        """Return ``count`` where vectors can have so many lanes."""
        try:
            vector_dtype("int32", count)
        except OperandError:
            raise self.source.problem(node, "how many lanes there are is not known", "expected a number") from None
        return count

    # Calls.

    def call(self, node: ast.Call) -> Value:
        name = self.source.dotted(node.func)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "astype" and len(node.args) == 1:
            return Cast(self.dtype(node.args[0]), self.expr(node.func.value))
        if isinstance(node.func, ast.Name) and name in ("float", "int", "bool"):
            value = self.source.literal(node)
            assert isinstance(value, float)
            return value
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("vload", "access_ptr"):
            return self.method(node, node.func)
        if name is not None and (self.is_function(name) or name in self.source.functions):
            operands = tuple(self.expr(arg) for arg in node.args)
            short = name.rpartition(".")[2]
            return Call(f"Module.{short}", operands, self.returned(short))
        head = (name or "").partition(".")[0]
        if head != name and head not in self.source.aliases and self.lookup(head) is None:
            raise self.source.undefined(node.func, head, [*self.source.aliases, *self.source.modules])
        if name is None or not name.startswith("T."):
            raise self.source.problem(node.func, f"`{name or 'this'}` cannot be called in a tensor program",
                                      "expected a function of T")  # fmt: skip
        short = name[2:]
        if short in FOREIGN:
            raise self.source.problem(node, f"`{name}` has no form here", f"one of the {FOREIGN[short]}")
        if is_dtype(short):
            return self.literal_or_cast("bool" if short == "boolean" else _OLDER.get(short, short), node)
        match short:
            case "Cast" | "cast":
                given = self.source.arguments(node, ("dtype", "value") if short == "Cast" else ("value", "dtype"))
                self.require(node, given, "dtype", "value")
                return Cast(self.dtype(given["dtype"]), self.expr(given["value"]))
            case "Select" | "if_then_else":
                return self.choice(short, node)
            case "Ramp" | "ramp":
                return self.ramp_call(node)
            case "Broadcast" | "broadcast":
                given = self.source.arguments(node, ("value", "lanes"))
                self.require(node, given, "value", "lanes")
                return Broadcast(self.expr(given["value"]), self.lanes(self.expr(given["lanes"]), node))
            case "Shuffle":
                return self.shuffle(node)
            case "Let":
                return self.let(node)
            case "comm_reducer" | "CommReducer":
                return self.reducer(node)
            case _ if short in DTYPE_FIRST or short in DTYPE_LAST:
                return self.typed_call(short, node)
            case _ if is_builtin(short):
                return self.builtin(short, node)
            case "min_value" | "max_value" | "infinity":
                return self.limit(short, node)
            case "llvm_lookup_intrinsic_id" if len(node.args) == 1:
                return self.value(node.args[0])
            case "meta_var" | "bind" if len(node.args) == 1:
                return self.value(node.args[0])
        values = [self.value(arg) for arg in node.args]
        for keyword in node.keywords:
            if keyword.arg not in ("span", "dtype"):
                raise self.source.problem(keyword, f"`T.{short}` has no argument `{keyword.arg}`", "unknown argument")
        return self.function(short, values, node)

    def require(self, node: ast.AST, given: dict[str, ast.expr], *names: str) -> None:
        for name in names:
            if name not in given:
                raise self.source.problem(node, f"the argument `{name}` is missing", f"expected `{name}`")

    def only(self, node: ast.Call, what: str) -> ast.expr:
        """Return the one argument of a call that takes ``what``."""
        if len(node.args) != 1:
            raise self.source.problem(node, f"`{self.source.dotted(node.func)}` takes {what}", f"expected {what}")
        return node.args[0]

    def dtype(self, node: ast.AST) -> str:
        """Return the dtype that ``node`` is: a string, or ``T.float32``, or the type of
        ``T.handle()``.
        """
        if self.pointer(node) is not None or (isinstance(node, ast.Constant) and node.value == ""):
            return "handle" if not isinstance(node, ast.Constant) else "void"
        dotted = self.source.dotted(node)
        name = dotted[2:] if dotted is not None and dotted.startswith("T.") else self.source.string(node, "a dtype")
        if not is_dtype(name):
            raise self.source.problem(node, f"there is no dtype {name!r}", 'expected a dtype such as "float32"')
        return _OLDER.get(name, name)

    def pointer(self, node: ast.AST) -> tuple[str, str] | None:
        """Return the element and the scope of ``T.handle("float32", "shared").ty``; None for other
        nodes.
        """
        if isinstance(node, ast.Attribute) and node.attr == "ty":
            node = node.value
            if isinstance(node, ast.Call) and self.source.called(node) == "T.handle":
                given = [self.source.string(arg, "a part of a type") for arg in node.args]
                element, scope = [*given, *("void", "")[len(given) :]][:2]
                return element, scope
        return None

    def literal_or_cast(self, dtype: str, node: ast.Call) -> PrimExpr:
        value = self.value(self.only(node, "a value"))
        match value:
            case str() if dt.is_float(dtype):
                try:
                    return FloatImm(float(value), dtype)
                except ValueError:
                    raise self.source.problem(node, f"{value!r} is no number", "expected a number") from None
            case PrimExpr() if value.dtype != dtype:
                return Cast(dtype, value)
            case PrimExpr():
                return value
            case bool() | int() | float():
                element = dt.element_dtype(dtype)
                if isinstance(value, int) and dt.is_int(element) and element != "bool":
                    low, high = dt.integer_range(element)
                    if not low <= value <= high:
                        raise self.source.problem(node, f"this number does not fit in {dtype}",
                                                  f"expected {low} to {high}")  # fmt: skip
                if isinstance(value, float) and not dt.is_float(dtype):
                    if not math.isfinite(value):
                        raise self.source.problem(node, f"no {dtype} is {value}", "expected a finite number")
                    return const(int(value), dtype)
                return const(value, dtype)
        raise self.source.problem(node, f"this is no {dtype}", "expected a number")

    def choice(self, name: str, node: ast.Call) -> PrimExpr:
        if len(node.args) != 3:
            raise self.source.problem(node, f"`T.{name}` takes a condition and two values", "expected 3 arguments")
        return self.function(name, [self.value(arg) for arg in node.args], node)

    def typed_call(self, name: str, node: ast.Call) -> PrimExpr:
        keywords = {keyword.arg: keyword.value for keyword in node.keywords}
        args = list(node.args)
        pointer: tuple[str, str] | None = None
        if "dtype" in keywords:
            dtype = self.dtype(keywords["dtype"])
        elif args:
            told = args.pop(-1 if name in DTYPE_LAST else 0)
            dtype, pointer = self.dtype(told), self.pointer(told)
        else:
            raise self.source.problem(node, f"`T.{name}` needs a dtype", "expected a dtype first")
        if name == "call_intrin" and args:
            return self.by_name(dtype, args, node)
        values = tuple(self.operand(name, arg) for arg in args)
        if name in ("call_extern", "call_pure_extern"):
            self.require_name(values, node)
        if name == "reinterpret" and len(values) == 1 and isinstance(values[0], IntImm):
            bits = values[0].value
            if dtype == "uint64":
                return IntImm(bits % 2**64, dtype)
            if dtype == "float64":
                return FloatImm(struct.unpack("<d", struct.pack("<q", bits))[0], dtype)
        return Call(name, values, dtype, pointer if pointer != ("void", "") else None)

    def by_name(self, dtype: str, args: Sequence[ast.expr], node: ast.Call) -> PrimExpr:
        """``T.call_intrin("float32", "tir.exp", x)``: a function by the name that it has within
        TVM.
        """
        name = self.source.string(args[0], "a function").removeprefix("tirx.").removeprefix("tir.")
        values = tuple(self.expr(arg) for arg in args[1:])
        if name not in INTRINSICS and not is_builtin(name):
            raise self.source.undefined(args[0], f"T.{name}", [f"T.{one}" for one in sorted(INTRINSICS)], "function")
        return Call(name, values, dtype)

    def builtin(self, name: str, node: ast.Call) -> PrimExpr:
        """Return a call of the runtime, or of one machine's own, with the arguments that it is
        given.
        """
        values: tuple[PrimExpr, ...] = tuple(self.operand(name, arg) for arg in node.args)
        for keyword in node.keywords:
            if keyword.arg in ("span", "dtype"):
                continue
            if keyword.arg is None or not takes_keywords(name):
                raise self.source.problem(keyword, f"`T.{name}` has no argument `{keyword.arg}`", "unknown argument")
            values = (*values, Keyword(keyword.arg, self.source.literal(keyword.value)))
        if name == "address_of" and not (len(values) == 1 and isinstance(values[0], BufferLoad)):
            raise self.source.problem(node, "T.address_of is of an element", "expected buffer[index]")
        if name in ("call_packed", "call_cpacked"):
            self.require_name(values, node)
        if name == "vscale" and not values:
            return Call(name, (), "int32")
        return Call(name, values, builtin_dtype(name, values))

    def operand(self, name: str, node: ast.expr) -> PrimExpr:
        """Return an argument of ``T.<name>``; of a buffer's name, packed functions get a view of
        all of it.
        """
        found = self.lookup(node.id) if isinstance(node, ast.Name) else None
        if not isinstance(found, Buffer):
            return self.expr(node)
        if "packed" not in name:
            return BufferData(found, bare=True)
        shape = Call("tvm_stack_make_shape", found.shape, "handle")
        strides = Call("tvm_stack_make_shape", found.strides, "handle") if found.strides else IntImm(0, "int32")
        rank, begin = IntImm(len(found.shape), "int32"), found.offset or IntImm(0, "int32")
        parts = (BufferData(found), shape, strides, rank, const(0, found.dtype), begin)
        return Call("tvm_stack_make_array", parts, "handle")

    def returned(self, name: str) -> str:
        """Return the dtype of what the function ``name`` of the text returns."""
        node = self.source.functions.get(name)
        told = "" if node is None or node.returns is None else self.source.dotted(node.returns) or ""
        return told[2:] if told.startswith("T.") and is_dtype(told[2:]) else "int32"

    def is_function(self, name: str) -> bool:
        """Whether ``name`` is that of another function of the module, e.g. ``Module.scale`` or
        ``cls.scale``.
        """
        head, dot, rest = name.partition(".")
        return bool(dot) and "." not in rest and head in self.source.modules and self.lookup(head) is None

    def method(self, node: ast.Call, func: ast.Attribute) -> PrimExpr:
        """``A.vload([i], predicate=mask)`` and ``A.access_ptr("r")``."""
        buffer = self.buffer(func.value)
        if func.attr == "access_ptr":
            mask = self.source.string(node.args[0], "a mask") if len(node.args) == 1 and not node.keywords else ""
            if not mask or set(mask) - {"r", "w"}:
                raise self.source.problem(node, "this address has no form here", 'expected "r", "w" or "rw"')
            count: PrimExpr = IntImm(1, "int32")
            for extent in buffer.shape:
                count = binary("*", count, extent)
            offset = buffer.offset or IntImm(0, "int32")
            bits = ("r" in mask) + 2 * ("w" in mask)
            parts = (Call("type_annotation", (), buffer.dtype), BufferData(buffer), offset, count)
            return Call("tvm_access_ptr", (*parts, IntImm(bits, "int32")), "handle")
        given = self.source.arguments(node, ("begin", "dtype", "predicate"))
        self.require(node, given, "begin")
        predicate = self.expr(given["predicate"]) if "predicate" in given else None
        return BufferLoad(buffer, self.indices(buffer, given["begin"]), predicate)

    def ramp_call(self, node: ast.Call) -> PrimExpr:
        given = self.source.arguments(node, ("base", "stride", "lanes"))
        self.require(node, given, "base", "stride", "lanes")
        base, stride = self.alike(self.value(given["base"]), self.value(given["stride"]), node)
        return Ramp(base, stride, self.lanes(self.expr(given["lanes"]), node))

    def shuffle(self, node: ast.Call) -> PrimExpr:
        given = self.source.arguments(node, ("vectors", "indices"))
        self.require(node, given, "vectors", "indices")
        parts = []
        for part in (given["vectors"], given["indices"]):
            if not isinstance(part, (ast.List, ast.Tuple)) or not part.elts:
                raise self.source.problem(part, "T.Shuffle takes two lists", "expected a list")
            parts.append(tuple(self.expr(one) for one in part.elts))
        return Shuffle(parts[0], parts[1])

    def let(self, node: ast.Call) -> PrimExpr:
        """``T.Let(body, where={x: value})``."""
        given = self.source.arguments(node, ("expr", "where"))
        self.require(node, given, "expr", "where")
        where = given["where"]
        if not isinstance(where, ast.Dict) or not all(isinstance(key, ast.Name) for key in where.keys):
            raise self.source.problem(where, "T.Let says what its names stand for", "expected {x: value}")
        result = self.expr(given["expr"])
        for key, value in reversed(list(zip(where.keys, where.values, strict=True))):
            assert isinstance(key, ast.Name)
            var = self.lookup(key.id)
            if not isinstance(var, Var):
                raise self.source.problem(key, f"`{key.id}` is no variable", "expected a declared name")
            result = LetIn(var, self.expr(value, var.dtype), result)
        return result

    def reducer(self, node: ast.Call) -> PrimExpr:
        """``T.comm_reducer(lambda x, y: x + y, [identity])``."""
        given = self.source.arguments(node, ("combiner", "identity"))
        self.require(node, given, "combiner", "identity")
        match given["combiner"], given["identity"]:
            case ast.Lambda(args, body), ast.List(elements):
                identities = tuple(self.expr(one) for one in elements)
                names = [one.arg for one in args.args]
                count = len(identities)
                if len(names) != 2 * count or not count:
                    raise self.source.problem(node, "a reducer combines two results", f"expected {2 * count} names")
                made = tuple(Var(n, identities[i % count].dtype) for i, n in enumerate(names))
                outer, inside = self.lookup, dict(zip(names, made, strict=True))
                self.lookup = lambda name: inside.get(name) or outer(name)
                try:
                    parts = body.elts if isinstance(body, ast.Tuple) else [body]
                    results = tuple(self.expr(one) for one in parts)
                finally:
                    self.lookup = outer
                return CommReducer(made[:count], made[count:], results, identities)
        raise self.source.problem(
            node, "a reducer is a lambda and a list", "expected T.comm_reducer(lambda x, y: …, [0])"
        )

    def require_name(self, values: Sequence[PrimExpr], node: ast.AST) -> None:
        if not values or not isinstance(values[0], StringImm):
            raise self.source.problem(node, "an external function has a name", "expected a string first")

    def limit(self, name: str, node: ast.Call) -> PrimExpr:
        make = {"min_value": intrinsics.min_value, "max_value": intrinsics.max_value, "infinity": intrinsics.infinity}
        return make[name](self.dtype(self.only(node, "a dtype")))
