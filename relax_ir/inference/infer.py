"""The struct info of Relax expressions.

An operator call is inferred by its record (``OpDef.infer``): tensors and tuples go in as types,
shapes as tuples of extents. A call of a function binds the symbolic extents of the callee's
parameters to those of the arguments.

    inference = Inference(module)         # or Inference() and ``declare`` functions as they come
    info = inference.of(expr)             # StructInfoError says what does not fit

Variables carry their info, so nothing is walked but the expression itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.errors.table import relax
from relay2relax.core.walk import post_order
from relay2relax.ops.registry.record import OpDef, OpError
from relay2relax.ops.registry.script import Spread
from relay2relax.ops.registry.types import TensorType, Type
from relay2relax.relax_ir.inference.memory import memory_info
from relay2relax.relax_ir.inference.op_signatures import ForeignAttrs, ForeignOp
from relay2relax.relax_ir.inference.runtime_calls import arguments, identity, read_inplace_call
from relay2relax.relax_ir.inference.sharding import redistributed, spread_result
from relay2relax.relax_ir.ir import symbols
from relay2relax.relax_ir.ir.expr import (
    Call,
    CallDPSPacked,
    CallTIR,
    Constant,
    Expr,
    ExternFunc,
    Function,
    GlobalVar,
    If,
    IRModule,
    MatchCast,
    PrimValue,
    SeqExpr,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
)
from relay2relax.relax_ir.ir.mesh import MeshError
from relay2relax.relax_ir.ir.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
    from_type,
    to_type,
)
from relay2relax.relax_ir.ir.visit import bindings, operands
from relay2relax.tir.analysis.purity import is_pure
from relay2relax.tir.extent import ANY, Extent, Shape, canonical, is_any
from relay2relax.tir.ir import expr as tir
from relay2relax.tir.ir.stmt import PrimFunc


class StructInfoError(Relay2RelaxError):
    """An expression has no struct info: an operator or function refuses its arguments, say."""

    kind = relax.STRUCT_INFO


def function_info(func: Function | PrimFunc) -> FuncStructInfo:
    """Return the struct info of a function.

    A PrimFunc called directly writes its arguments or returns a scalar.

    Whether it has effects is found out where it is called.
    """
    if isinstance(func, PrimFunc):
        result = TupleStructInfo() if func.result == "void" else PrimStructInfo(func.result)
        return FuncStructInfo(None, result, purity=False)
    return FuncStructInfo(tuple(param.info for param in func.params), func.ret, func.pure)


class Inference:
    """Infers struct info within one module; results of operators are remembered."""

    def __init__(self, module: IRModule | None = None) -> None:
        self._globals: dict[GlobalVar, FuncStructInfo] = {}
        self._programs: dict[GlobalVar, PrimFunc] = {}
        self._known: dict[tuple[OpDef, object, tuple[StructInfo, ...]], StructInfo] = {}
        if module is not None:
            for var, func in module.functions.items():
                self.declare(var, function_info(func))
                if isinstance(func, PrimFunc):
                    self._programs[var] = func

    def declare(self, var: GlobalVar, info: FuncStructInfo) -> None:
        """Let ``var`` be a function of ``info``."""
        self._globals[var] = info

    def of(self, expr: Expr) -> StructInfo:
        """Return the struct info of ``expr``; raises StructInfoError."""
        if isinstance(expr, (Var, Constant)):
            return expr.info
        found: dict[Expr, StructInfo] = {}
        if not all(isinstance(one, (Var, Constant)) for one in operands(expr)):
            for node in post_order(operands(expr), operands):
                found[node] = self._node(node, found)
        return self._node(expr, found)

    def is_pure(self, expr: Expr) -> bool:
        """Whether evaluating ``expr`` itself has no effects.

        Of branches inside it nothing is said.
        """
        match expr:
            case Call(ExternFunc(), _):
                return False
            case Call(GlobalVar() as callee, _) if callee in self._programs:
                return is_pure(self._programs[callee])
            case Call(GlobalVar() as callee, _):
                return callee not in self._globals or self._globals[callee].purity
            case Call(Var(_, FuncStructInfo() as info), _):
                return info.purity
            case Call(ForeignOp() as op, _):
                return op.pure
        return True

    def _node(self, expr: Expr, found: Mapping[Expr, StructInfo]) -> StructInfo:
        def info(operand: Expr) -> StructInfo:
            return operand.info if isinstance(operand, (Var, Constant)) else found[operand]

        match expr:
            case Var() | Constant():
                return expr.info
            case Call(ForeignOp() as op, args, attrs):
                if identity(expr) is not None:
                    destination = arguments("to_vdevice", args, attrs)[1] if op.name == "to_vdevice" else ""
                    return _placed(info(args[0]), destination) if destination else info(args[0])
                if op.name.startswith("dist."):
                    return _spread_by(op, args, attrs, info(args[0]) if args else ObjectStructInfo())
                inplace = read_inplace_call(expr)
                return inplace.info if inplace else memory_info(op.name, args, attrs) or op.result(attrs)
            case Call(OpDef() as op, args, attrs):
                return self._operator(op, attrs, tuple(info(arg) for arg in args))
            case Call(ExternFunc(), _):
                return ObjectStructInfo()
            case Call(callee, args):
                assert not isinstance(callee, (OpDef, ExternFunc))
                name, signature = callee.name, self._node(callee, found)
                if not isinstance(signature, FuncStructInfo):
                    raise StructInfoError(f"{name} is called, but is {symbols.kind(signature)}")
                return _apply(name, signature, tuple(info(arg) for arg in args))
            case CallTIR(_, _, out) | CallDPSPacked(_, _, out):
                return out[0] if len(out) == 1 else TupleStructInfo(out)
            case Tuple(fields):
                return TupleStructInfo(tuple(info(one) for one in fields))
            case TupleGetItem(value, index):
                return _project(info(value), index)
            case ShapeExpr(values):
                return ShapeStructInfo(values)
            case PrimValue(value):
                return PrimStructInfo(value.dtype, value)
            case StringImm() | ExternFunc():
                return ObjectStructInfo()
            case GlobalVar(name):
                if expr not in self._globals:
                    raise StructInfoError(f"no function of the module is called {name!r}")
                return self._globals[expr]
            case If(_, then, otherwise):
                return symbols.join(self._sequence(then), self._sequence(otherwise))
            case Function():
                return function_info(expr)
            case SeqExpr():
                return self._sequence(expr)

    def _sequence(self, seq: SeqExpr) -> StructInfo:
        """The info of the result outside of ``seq``: without extents that a match_cast inside
        introduces.
        """
        info = self.of(seq.body)
        used = symbols.used(info)
        if used:
            casts = [binding.info for binding in bindings(seq) if isinstance(binding, MatchCast)]
            inner = symbols.defined(casts) & used
            if inner:
                return symbols.erase(info, used - inner)
        return info

    def _operator(self, op: OpDef, attrs: object, args: tuple[StructInfo, ...]) -> StructInfo:
        key = (op, attrs, args)
        try:
            known = self._known.get(key)
        except TypeError as error:
            raise StructInfoError(f"{spelled(op)}: an attribute is not a value: {attrs!r}") from error
        if known is None:
            known = self._known[key] = self._inferred(op, attrs, args)
        return known

    def _inferred(self, op: OpDef, attrs: object, args: tuple[StructInfo, ...]) -> StructInfo:
        check_arity(op, len(args))
        result = self._result(op, attrs, args)
        if any(isinstance(info, TensorStructInfo) and info.sharding is not None for info in args):
            try:
                return spread_result(op, attrs, args, result)
            except MeshError as error:
                raise StructInfoError(f"{spelled(op)}: {error.diagnostics[0].title}") from error
        places = {place for info in args for place in _places(info)}
        return _placed(result, places.pop()) if len(places) == 1 else result

    def _result(self, op: OpDef, attrs: object, args: tuple[StructInfo, ...]) -> StructInfo:
        if any(map(_is_vague, args)):
            return self._vague_result(op, attrs, args)
        scalar = len(args) == 2 and all(isinstance(info, PrimStructInfo) for info in args)
        types = tuple(_argument(op, index, info) for index, info in enumerate(args))
        try:
            found = from_type((op.relax_type or op.infer)(attrs, *types))
        except OpError as error:
            raise StructInfoError(f"{spelled(op)}: {error.message}") from error
        if scalar and isinstance(found, TensorStructInfo) and op.script and op.script.spread is Spread.BROADCAST:
            return PrimStructInfo(found.dtype)
        return found

    def _vague_result(self, op: OpDef, attrs: object, args: tuple[StructInfo, ...]) -> StructInfo:
        """Return what the results have in common for every rank and dtype that the vague ``args``
        may have.
        """
        dtypes = {info.dtype: None for info in args if isinstance(info, TensorStructInfo) and info.dtype}
        found: StructInfo | None = None
        error: StructInfoError | None = None
        for dtype in (*dtypes, *_SOME_DTYPES):
            for rank in _SOME_RANKS:
                try:
                    result = self._result(op, attrs, tuple(_settled(info, rank, dtype) for info in args))
                except StructInfoError as refused:
                    error = error or refused
                    continue
                found = result if found is None else symbols.join(found, result)
        if found is None:
            assert error is not None
            raise error
        return found


# What stands for all that a tensor of unknown rank or dtype may be.
_SOME_RANKS = (1, 2, 3, 4, 5, 0)
_SOME_DTYPES = ("float32", "float16", "int32", "int64", "bool")


def _is_vague(info: StructInfo) -> bool:
    """Whether rank or dtype of a tensor in ``info`` is unknown."""
    match info:
        case TensorStructInfo(_, dtype, ndim):
            return ndim < 0 or not dtype
        case TupleStructInfo(fields):
            return any(map(_is_vague, fields))
    return isinstance(info, ShapeStructInfo) and info.ndim < 0


def _settled(info: StructInfo, rank: int, dtype: str) -> StructInfo:
    """Return ``info`` with ``rank`` and ``dtype`` where they are unknown."""
    match info:
        case TensorStructInfo(_, known, ndim):
            return replace(info, dtype=known or dtype, ndim=ndim if ndim >= 0 else rank)
        case ShapeStructInfo(_, ndim) if ndim < 0:
            return ShapeStructInfo(None, rank)
        case TupleStructInfo(fields):
            return TupleStructInfo(tuple(_settled(one, rank, dtype) for one in fields))
    return info


def _places(info: StructInfo) -> Iterator[str]:
    """Yield the devices on which tensors of ``info`` are."""
    match info:
        case TensorStructInfo(vdevice=vdevice) if vdevice:
            yield vdevice
        case TupleStructInfo(fields):
            for one in fields:
                yield from _places(one)


def _spread_by(op: ForeignOp, args: tuple[Expr, ...], attrs: ForeignAttrs, info: StructInfo) -> StructInfo:
    """Return what an operator that spreads a tensor of ``info`` over a mesh makes of it."""
    try:
        found = redistributed(op.name, info, arguments(op.name, args, attrs))
    except MeshError as error:
        raise StructInfoError(f"{spelled(op)}: {error.diagnostics[0].title}") from error
    return found if found is not None else op.result(attrs)


def _placed(info: StructInfo, vdevice: str) -> StructInfo:
    """Return ``info`` with its tensors on ``vdevice``, as what an operator makes of tensors
    there.
    """
    match info:
        case TensorStructInfo():
            return replace(info, vdevice=vdevice)
        case TupleStructInfo(fields):
            return TupleStructInfo(tuple(_placed(one, vdevice) for one in fields))
    return info


def spelled(op: OpDef) -> str:
    """Return the name of ``op`` as scripts have it."""
    return f"R.{op.script.name}" if op.script is not None else op.name


def check_arity(op: OpDef, count: int) -> None:
    """Raise StructInfoError unless ``op`` takes ``count`` arguments."""
    least = len(op.inputs) - op.variadic
    if count < least or (count > least and not op.variadic):
        names = ", ".join(op.inputs) or "none"
        raise _miscounted(spelled(op), count, names)


def _miscounted(callee: str, given: int, takes: object) -> StructInfoError:
    return StructInfoError(f"{callee}: {given} arguments given, it takes {takes}")


def argument_type(info: StructInfo) -> Type | Shape:
    """Return ``info`` as operators take it: a type, or the extents of a shape.

    TypeError for others.

    A scalar is a tensor of rank 0 to them.
    """
    if isinstance(info, ShapeStructInfo) and info.ndim >= 0:
        return info.values if info.values is not None else (ANY,) * info.ndim
    return TensorType((), info.dtype) if isinstance(info, PrimStructInfo) else to_type(info)


# Inputs of operators that are shapes.
_SHAPES = frozenset({"shape", "size"})


def _argument(op: OpDef, index: int, info: StructInfo) -> Type | Shape:
    name = op.inputs[min(index, len(op.inputs) - 1)].lstrip("*")
    if name in _SHAPES and op.script is not None and not isinstance(info, ShapeStructInfo):
        raise StructInfoError(f"{spelled(op)}: argument {name!r} is {symbols.kind(info)}, expected a shape")
    if isinstance(info, PrimStructInfo) and name not in op.scalars:
        raise StructInfoError(f"{spelled(op)}: argument {name!r} is a scalar, expected a tensor")
    try:
        return argument_type(info)
    except TypeError as error:
        problem = symbols.kind(info) if not isinstance(info, TensorStructInfo) else "a tensor of unknown rank"
        raise StructInfoError(f"{spelled(op)}: argument {name!r} is {problem}") from error


def _project(info: StructInfo, index: int) -> StructInfo:
    if isinstance(info, ObjectStructInfo):
        return info
    if not isinstance(info, TupleStructInfo):
        raise StructInfoError(f"field {index} is taken of {symbols.kind(info)}")
    if not 0 <= index < len(info.fields):
        raise StructInfoError(f"field {index} is taken of a tuple with {len(info.fields)} fields")
    return info.fields[index]


def _apply(name: str, signature: FuncStructInfo, args: tuple[StructInfo, ...]) -> StructInfo:
    if signature.params is None:
        return signature.ret
    if len(args) != len(signature.params):
        raise _miscounted(name, len(args), len(signature.params))
    values: dict[tir.Var, Extent] = {}
    for expected, actual in zip(signature.params, args, strict=True):
        unify(expected, actual, values)
    for index, (expected, actual) in enumerate(zip(signature.params, args, strict=True)):
        if reason := symbols.mismatch(symbols.substitute(expected, values), actual):
            raise StructInfoError(f"{name}: argument {index}: {reason}")
    return symbols.substitute(signature.ret, values)


def unify(expected: StructInfo, actual: StructInfo, values: dict[tir.Var, Extent]) -> None:
    """Add to ``values`` what the variables of ``expected`` stand for, given a value of ``actual``.

    The first place where a variable stands alone decides; that other places agree is not checked
    here. A variable about which ``actual`` says nothing stands for ``ANY``.
    """
    match expected, actual:
        case TupleStructInfo(first), TupleStructInfo(second):
            for one, other in zip(first, second, strict=len(first) == len(second)):
                unify(one, other, values)
        case TensorStructInfo(row), TensorStructInfo(given):
            _unify_rows(row, given, values)
        case ShapeStructInfo(row), ShapeStructInfo(given):
            _unify_rows(row, given, values)
        case PrimStructInfo(_, tir.Var() as scalar), PrimStructInfo(_, value) if value is not None:
            values.setdefault(scalar, value)
    for var in symbols.defined((expected,)):
        values.setdefault(var, ANY)


def _unify_rows(row: Shape | None, given: Shape | None, values: dict[tir.Var, Extent]) -> None:
    if row is None or given is None or len(row) != len(given):
        return
    for one, other in zip(row, given, strict=True):
        if isinstance(one, tir.Var) and is_any(values.get(one, ANY)):
            values[one] = canonical(other)
