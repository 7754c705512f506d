"""Calls in scalar expressions of TVMScript: the functions of the ``T.`` namespace, and those of the
module.
"""

from __future__ import annotations

import ast
import math
import struct
from collections.abc import Callable, Sequence

from relay2relax.core import dtype as dt
from relay2relax.core.errors.table import script
from relay2relax.core.script_source import ScriptProblem
from relay2relax.tir.ir import intrinsics
from relay2relax.tir.ir.builtins import DTYPE_FIRST, DTYPE_LAST, FOREIGN, builtin_dtype, is_builtin, takes_keywords
from relay2relax.tir.ir.expr import (
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
    PrimExpr,
    Ramp,
    Shuffle,
    StringImm,
    Var,
    binary,
    const,
)
from relay2relax.tir.script.context import ReadContext, Scalars, Value
from relay2relax.tir.script.dialect import INTRINSICS
from relay2relax.tir.script.elements import ElementReader
from relay2relax.tir.script.operators import Operators
from relay2relax.tir.script.types import OLDER, is_dtype, read_dtype, read_pointer


class CallReader:
    """Reads calls; ``lookup`` says what a name stands for, None where it is not defined."""

    def __init__(
        self,
        context: ReadContext,
        lookup: Callable[[str], object],
        operators: Operators,
        elements: ElementReader,
        exprs: Scalars,
    ) -> None:
        self.source = context.source
        self.scopes = context.scopes
        self.lookup = lookup
        self.operators = operators
        self.elements = elements
        self.exprs = exprs

    def call(self, node: ast.Call) -> Value:
        """Return what a call is: of the ``T.`` namespace, of a function of the module, a method."""
        name = self.source.dotted(node.func)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "astype" and len(node.args) == 1:
            return Cast(read_dtype(self.source, node.args[0]), self.exprs.expr(node.func.value))
        if isinstance(node.func, ast.Name) and name in ("float", "int", "bool"):
            value = self.source.literal(node)
            assert isinstance(value, float)
            return value
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("vload", "access_ptr"):
            return self.method(node, node.func)
        if name is not None and (self.is_function(name) or name in self.source.functions):
            operands = tuple(self.exprs.expr(arg) for arg in node.args)
            short = name.rpartition(".")[2]
            return FunctionCall(short, operands, self.returned(short))
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
            return self.literal_or_cast("bool" if short == "boolean" else OLDER.get(short, short), node)
        return self.of_namespace(short, node)

    def of_namespace(self, short: str, node: ast.Call) -> Value:
        """Return the call of ``T.<short>``."""
        match short:
            case "Cast" | "cast":
                given = self.source.arguments(node, ("dtype", "value") if short == "Cast" else ("value", "dtype"))
                self.source.require(node, given, "dtype", "value")
                return Cast(read_dtype(self.source, given["dtype"]), self.exprs.expr(given["value"]))
            case "Select" | "if_then_else":
                return self.choice(short, node)
            case "Ramp" | "ramp":
                return self.ramp_call(node)
            case "Broadcast" | "broadcast":
                given = self.source.arguments(node, ("value", "lanes"))
                self.source.require(node, given, "value", "lanes")
                return Broadcast(
                    self.exprs.expr(given["value"]), self.elements.lanes(self.exprs.expr(given["lanes"]), node)
                )
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
                return self.exprs.value(node.args[0])
            case "meta_var" | "bind" if len(node.args) == 1:
                return self.exprs.value(node.args[0])
        values = [self.exprs.value(arg) for arg in node.args]
        for keyword in node.keywords:
            if keyword.arg not in ("span", "dtype"):
                raise self._unknown_argument(keyword, short)
        return self.operators.function(short, values, node)

    def literal_or_cast(self, dtype: str, node: ast.Call) -> PrimExpr:
        value = self.exprs.value(self.source.only(node, "a value"))
        match value:
            case str() if dt.is_float(dtype):
                try:
                    return FloatImm(float(value), dtype)
                except ValueError:
                    raise self.source.problem(
                        node, f"{value!r} cannot be read as {dtype}", "expected a number"
                    ) from None
            case PrimExpr() if value.dtype != dtype:
                return Cast(dtype, value)
            case PrimExpr():
                return value
            case bool() | int() | float():
                element = dt.element_dtype(dtype)
                if isinstance(value, int) and dt.is_int(element) and element != "bool":
                    self.operators.check_fits(value, element, node)
                if isinstance(value, float) and not dt.is_float(dtype):
                    if not math.isfinite(value):
                        raise self.source.problem(node, f"no {dtype} is {value}", "expected a finite number")
                    return const(int(value), dtype)
                return const(value, dtype)
        raise self.source.problem(node, script.MALFORMED.message(what=dtype), "expected a number")

    def choice(self, name: str, node: ast.Call) -> PrimExpr:
        if len(node.args) != 3:
            raise self.source.problem(
                node, f"`T.{name}` takes a condition and two values", "expected 3 arguments", kind=script.ARGUMENTS
            )
        return self.operators.function(name, [self.exprs.value(arg) for arg in node.args], node)

    def typed_call(self, name: str, node: ast.Call) -> PrimExpr:
        keywords = {keyword.arg: keyword.value for keyword in node.keywords}
        args = list(node.args)
        pointer: tuple[str, str] | None = None
        if "dtype" in keywords:
            dtype = read_dtype(self.source, keywords["dtype"])
        elif args:
            told = args.pop(-1 if name in DTYPE_LAST else 0)
            dtype, pointer = read_dtype(self.source, told), read_pointer(self.source, told)
        else:
            raise self.source.problem(node, f"`T.{name}` needs a dtype", "expected a dtype first", kind=script.OPERATOR)
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
        values = tuple(self.exprs.expr(arg) for arg in args[1:])
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
                raise self._unknown_argument(keyword, name)
            values = (*values, Keyword(keyword.arg, self.source.literal(keyword.value)))
        if name == "address_of" and not (len(values) == 1 and isinstance(values[0], BufferLoad)):
            raise self.source.problem(node, "T.address_of is of an element", "expected buffer[index]")
        if name in ("call_packed", "call_cpacked"):
            self.require_name(values, node)
        if name == "vscale" and not values:
            return Call(name, (), "int32")
        return Call(name, values, builtin_dtype(name, values))

    def _unknown_argument(self, keyword: ast.keyword, name: str) -> ScriptProblem:
        title = f"`T.{name}` has no argument `{keyword.arg}`"
        return self.source.problem(keyword, title, "unknown argument", kind=script.ARGUMENTS)

    def operand(self, name: str, node: ast.expr) -> PrimExpr:
        """Return an argument of ``T.<name>``; of a buffer's name, packed functions get a view of
        all of it.
        """
        found = self.lookup(node.id) if isinstance(node, ast.Name) else None
        if not isinstance(found, Buffer):
            return self.exprs.expr(node)
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
        buffer = self.elements.buffer(func.value)
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
        self.source.require(node, given, "begin")
        predicate = self.exprs.expr(given["predicate"]) if "predicate" in given else None
        return BufferLoad(buffer, self.elements.indices(buffer, given["begin"]), predicate)

    def ramp_call(self, node: ast.Call) -> PrimExpr:
        given = self.source.arguments(node, ("base", "stride", "lanes"))
        self.source.require(node, given, "base", "stride", "lanes")
        base, stride = self.operators.alike(self.exprs.value(given["base"]), self.exprs.value(given["stride"]), node)
        return Ramp(base, stride, self.elements.lanes(self.exprs.expr(given["lanes"]), node))

    def shuffle(self, node: ast.Call) -> PrimExpr:
        given = self.source.arguments(node, ("vectors", "indices"))
        self.source.require(node, given, "vectors", "indices")
        parts = []
        for part in (given["vectors"], given["indices"]):
            if not isinstance(part, (ast.List, ast.Tuple)) or not part.elts:
                raise self.source.problem(part, "T.Shuffle takes two lists", "expected a list", kind=script.ARGUMENTS)
            parts.append(tuple(self.exprs.expr(one) for one in part.elts))
        return Shuffle(parts[0], parts[1])

    def let(self, node: ast.Call) -> PrimExpr:
        """``T.Let(body, where={x: value})``."""
        given = self.source.arguments(node, ("expr", "where"))
        self.source.require(node, given, "expr", "where")
        where = given["where"]
        if not isinstance(where, ast.Dict) or not all(isinstance(key, ast.Name) for key in where.keys):
            raise self.source.problem(where, "T.Let says what its names stand for", "expected {x: value}")
        result = self.exprs.expr(given["expr"])
        for key, value in reversed(list(zip(where.keys, where.values, strict=True))):
            assert isinstance(key, ast.Name)
            var = self.lookup(key.id)
            if not isinstance(var, Var):
                raise self.source.problem(
                    key, f"`{key.id}` is no variable", "expected a declared name", kind=script.STRUCT_INFO
                )
            result = LetIn(var, self.exprs.expr(value, var.dtype), result)
        return result

    def reducer(self, node: ast.Call) -> PrimExpr:
        """``T.comm_reducer(lambda x, y: x + y, [identity])``."""
        given = self.source.arguments(node, ("combiner", "identity"))
        self.source.require(node, given, "combiner", "identity")
        match given["combiner"], given["identity"]:
            case ast.Lambda(args, body), ast.List(elements):
                identities = tuple(self.exprs.expr(one) for one in elements)
                names = [one.arg for one in args.args]
                count = len(identities)
                if len(names) != 2 * count or not count:
                    raise self.source.problem(node, "a reducer combines two results", f"expected {2 * count} names")
                made = tuple(Var(n, identities[i % count].dtype) for i, n in enumerate(names))
                parts = body.elts if isinstance(body, ast.Tuple) else [body]
                with self.scopes.inner(dict(zip(names, made, strict=True))):
                    results = tuple(self.exprs.expr(one) for one in parts)
                return CommReducer(made[:count], made[count:], results, identities)
        raise self.source.problem(
            node, "a reducer is a lambda and a list", "expected T.comm_reducer(lambda x, y: …, [0])"
        )

    def require_name(self, values: Sequence[PrimExpr], node: ast.AST) -> None:
        if not values or not isinstance(values[0], StringImm):
            raise self.source.problem(node, "an external function has a name", "expected a string first")

    def limit(self, name: str, node: ast.Call) -> PrimExpr:
        make = {"min_value": intrinsics.min_value, "max_value": intrinsics.max_value, "infinity": intrinsics.infinity}
        return make[name](read_dtype(self.source, self.source.only(node, "a dtype")))
