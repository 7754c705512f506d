"""Calls of operators without a record that the virtual machine carries out itself.

Some call packed functions (``R.print`` calls ``relax.run.print``), some make and call closures, and
some call PrimFuncs that write into memory: ``R.call_tir_inplace``, where a result may lie in the
memory of an argument.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from relay2relax.core.errors import UnsupportedError
from relay2relax.relax_ir.inference.op_signatures import REQUIRED, Argument, ForeignAttrs, ForeignOp, signature
from relay2relax.relax_ir.ir.expr import (
    Binding,
    Call,
    Constant,
    Expr,
    ExternFunc,
    Function,
    GlobalVar,
    IRModule,
    PrimValue,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
)
from relay2relax.relax_ir.ir.struct_info import StructInfo, TensorStructInfo, TupleStructInfo
from relay2relax.relax_ir.ir.symbols import is_narrower
from relay2relax.relax_ir.ir.visit import all_sequences, bindings
from relay2relax.tir.ir.expr import IntImm
from relay2relax.tir.ir.stmt import PrimFunc

# What the virtual machine does with functions.
_CLOSURES = frozenset({"make_closure", "invoke_closure", "invoke_pure_closure"})
# What says where its first argument lies, and is that argument: there is one device here.
_IDENTITIES = frozenset({"to_vdevice", "hint_on_device"})
# What calls PrimFuncs that write into memory.
_INTO_MEMORY = frozenset({"call_tir_inplace", "call_tir_with_grad"})


@dataclass(frozen=True, slots=True)
class InplaceCall:
    """A call of a PrimFunc whose result ``i`` is the argument ``places[i]``, or has memory of its
    own where that is -1.

    The PrimFunc takes the arguments, then the results that have memory of their own.
    """

    func: GlobalVar
    args: tuple[Expr, ...]
    places: tuple[int, ...]
    out: tuple[TensorStructInfo, ...]

    @property
    def info(self) -> StructInfo:
        """The struct info of the result."""
        return self.out[0] if len(self.out) == 1 else TupleStructInfo(self.out)


def runs_itself(expr: Expr) -> bool:
    """Whether the virtual machine carries out the call ``expr`` of an operator without a record."""
    match expr:
        case Call(ForeignOp() as op, _, attrs):
            named = op.name in _CLOSURES or packed_call(op, attrs) is not None
            return named or read_inplace_call(expr) is not None
    return False


def identity(expr: Expr) -> Expr | None:
    """Return the value that the call ``expr`` passes through, None for anything else."""
    if isinstance(expr, Call) and isinstance(expr.op, ForeignOp) and expr.op.name in _IDENTITIES:
        return expr.args[0]
    return None


def packed_call(op: ForeignOp, attrs: ForeignAttrs) -> tuple[str, tuple[Any, ...]] | None:
    """Return the packed function that a call of ``op`` is, with its arguments.

    None where it is none.
    """
    plain = [value for name, value in attrs.layout if not name]
    named = {name: value for name, value in attrs.layout if name}
    match op.name, plain:
        case "call_pure_packed" | "call_inplace_packed", [str(name), *rest]:
            return name, tuple(rest)
        case "null_value", []:
            return "vm.builtin.null_value", ()
        case "print", _:
            return "relax.run.print", (named.get("format", ""), *plain)
        case "assert_op", [condition, *rest]:
            values = rest[0] if rest else named.get("format_args", ())
            values = values if isinstance(values, tuple) else (values,)
            return "relax.run.assert_op", (condition, named.get("format", rest[1] if rest[1:] else ""), *values)
    return None


def is_unproved(binding: Binding) -> bool:
    """Whether only the variable says what its value is: what packed functions and closures return,
    parts of that.
    """
    if binding.var.info == TupleStructInfo():
        return False  # Nobody looks at it.
    match binding.value:
        case Call(ExternFunc()):
            return True
        case Call(ForeignOp() as op, _, attrs):
            return op.name in _CLOSURES - {"make_closure"} or packed_call(op, attrs) is not None
        case Var(_, info):
            return is_narrower(binding.var.info, info)
        case TupleGetItem(Var(_, TupleStructInfo(fields)), index):
            return is_narrower(binding.var.info, fields[index])
        case TupleGetItem():
            return True
    return False


def read_inplace_call(expr: Expr) -> InplaceCall | None:
    """Return what ``R.call_tir_inplace`` and ``R.call_tir_with_grad`` ask for, None for anything
    else.

    A gradient is nothing that is run. Raises UnsupportedError for results that are not arguments of
    their struct info.
    """
    if not isinstance(expr, Call) or not isinstance(expr.op, ForeignOp) or expr.op.name not in _INTO_MEMORY:
        return None
    match expr.op.name, arguments(expr.op.name, expr.args, expr.attrs):
        case "call_tir_inplace", (GlobalVar() as func, args, places, out):
            pass
        case _, (GlobalVar() as func, args, out, *_):
            places = -1
        case _:
            raise UnsupportedError(f"R.{expr.op.name} calls a PrimFunc of the module")
    infos = out if isinstance(out, tuple) else (out,)
    given = args.fields if isinstance(args, Tuple) else (args,)
    found = places if isinstance(places, tuple) else (places,) * (1 if places != -1 else len(infos))
    call = InplaceCall(func, given, found, infos)
    if len(found) != len(infos) or not all(isinstance(one, int) and -1 <= one < len(given) for one in found):
        raise UnsupportedError(
            f"R.{expr.op.name} of {func.name}: `inplace_indices` says for each of {len(infos)} results which of "
            f"{len(given)} arguments it is, or -1; found {list(found)}"
        )
    for number, (place, info) in enumerate(zip(found, infos, strict=True)):
        held = given[place]
        if place >= 0 and (not isinstance(held, Var) or held.info != info):
            what = "a constant" if isinstance(held, Constant) else "another kind of value"
            raise UnsupportedError(
                f"R.{expr.op.name} of {func.name}: result {number} is to lie in argument {place}, which is {what}"
            )
    return call


def writes_arguments(module: IRModule) -> bool:
    """Whether calls in ``module`` may write into what they are given: those of PrimFuncs by name,
    of functions in place, and of packed functions that are not said to be pure.
    """
    functions = [func for func in module.functions.values() if isinstance(func, Function)]
    values = (one.value for seq in all_sequences(func.body for func in functions) for one in bindings(seq))
    return any(_writes_arguments(value, module) for value in values)


def _writes_arguments(value: Expr, module: IRModule) -> bool:
    match value:
        case Call(GlobalVar() as func):
            return isinstance(module.functions.get(func), PrimFunc)
        case Call(ExternFunc(name)):
            return not name.startswith("vm.builtin.")
        case Call(ForeignOp(name="call_inplace_packed")):
            return True
    call = read_inplace_call(value)
    return call is not None and any(place >= 0 for place in call.places)


def arguments(name: str, args: Sequence[Expr], attrs: ForeignAttrs) -> tuple[Any, ...]:
    """Return the arguments of a call in the order of TVM's signature of the operator ``name``,
    plain values as such.
    """
    form = signature(name)
    assert form is not None
    given = [_plain(args[value.index] if isinstance(value, Argument) else value) for _, value in attrs.layout]
    if len(given) == len(form.params) and not any(keyword for keyword, _ in attrs.layout):
        return tuple(given)
    named = {p: d for p, d in zip(form.params, form.defaults, strict=True) if d is not REQUIRED}
    for place, (keyword, _) in enumerate(attrs.layout):
        named[keyword or form.params[place]] = given[place]
    return tuple(named.get(param) for param in form.params)


def _plain(value: object) -> Any:
    match value:
        case StringImm(text):
            return text
        case PrimValue(IntImm(number)):
            return number
    return value
