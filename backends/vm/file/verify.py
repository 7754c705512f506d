"""What the instructions of a function from a file do: followed once, before anything runs.

Control only goes forwards, so one walk tells of every register what it holds where it is read. A
builtin takes what the annotations of its Python function say.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import get_type_hints

import numpy as np

from relay2relax.backends.runtime.code_checks import endless, never_reached, not_written, unlike
from relay2relax.backends.runtime.values import ShapeTuple
from relay2relax.backends.vm import bytecode as bc
from relay2relax.backends.vm.builtins import BUILTINS, Closure, Heap
from relay2relax.backends.vm.function_spec import FunctionSpec
from relay2relax.backends.vm.shape_heap import EQUAL, EQUAL_SLOT, IGNORE, LOAD, STORE, VALUE
from relay2relax.core.dtype import Array
from relay2relax.core.errors import ParseError
from relay2relax.core.errors.table import running


class Kind(Enum):
    """What is known of a value."""

    ANYTHING = "a value"
    TENSOR = "a tensor"
    SHAPE = "a shape"
    TUPLE = "a tuple"
    NUMBER = "a number"
    TEXT = "a string"
    DTYPE = "a dtype"
    FUNCTION = "a function"
    HEAP = "the shape heap"
    MACHINE = "the machine"
    NOTHING = "nothing"


# What the annotations of builtins mean. What can be anything takes any value, and may return any.
_KINDS: dict[object, Kind] = {
    Array: Kind.TENSOR, ShapeTuple: Kind.SHAPE, tuple[object, ...]: Kind.TUPLE, int: Kind.NUMBER, str: Kind.TEXT,
    bc.DataType: Kind.DTYPE, bc.FunctionRef: Kind.FUNCTION, Closure: Kind.FUNCTION, Heap: Kind.HEAP,
    list[int]: Kind.HEAP,
    type(None): Kind.NOTHING,
}  # fmt: skip


# Builtins whose arguments but the first so many are known before anything runs.
_PREPARED = {
    "alloc_shape_heap": 1, "check_tensor_info": 1, "match_shape": 2, "make_shape": 1, "match_prim_value": 2,
    "make_prim_value": 1,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Signature:
    params: tuple[Kind, ...]
    rest: Kind | None
    result: Kind


@lru_cache(maxsize=None)
def _signature(name: str) -> _Signature:
    """Return what a builtin takes and returns, by the annotations of its function."""
    function = BUILTINS[name]
    hints = get_type_hints(function)
    params: list[Kind] = []
    rest = None
    for one in inspect.signature(function).parameters.values():
        kind = Kind.MACHINE if one.name == "_machine" else _KINDS.get(hints[one.name], Kind.ANYTHING)
        if one.kind is inspect.Parameter.VAR_POSITIONAL:
            rest = kind
        else:
            params.append(kind)
    return _Signature(tuple(params), rest, _KINDS.get(hints["return"], Kind.ANYTHING))


class Verifier:
    """Follows functions of one table; raises ParseError for what no compiler writes."""

    def __init__(self, functions: Sequence[bc.FunctionEntry], constants: Sequence[bc.Pooled]) -> None:
        self.functions = functions
        self.constants = constants

    def verify(self, function: bc.VMFunction) -> None:
        """See that ``function`` does what can be done, and what its spec says."""
        count = len(function.spec.parameters)
        # Each register is a parameter, or the result of some instruction.
        if not count <= function.registers <= count + len(function.code):
            raise ParseError(
                f"{function.registers} registers are not what the code needs at $.registers", kind=running.SAVED_FILE
            )
        if not function.code or not isinstance(function.code[-1], bc.Ret):
            raise endless()
        _Walk(self.functions, self.constants, function).run()
        self._verify_spec(function.spec, function)

    def _verify_spec(self, spec: FunctionSpec, function: bc.VMFunction) -> None:
        checks, kernel = spec.checks, spec.kernel
        if checks is not None:
            called = [one for one in function.code[: checks.count] if isinstance(one, bc.Call)]
            places = sorted({*checks.relations})
            if len(called) != checks.count or checks.count >= len(function.code):
                raise ParseError(
                    "expected so many checks, and something behind them at $.checks.count", kind=running.SAVED_FILE
                )
            if tuple(places) != checks.relations or any(place >= checks.count for place in places):
                raise ParseError(
                    "expected the numbers of checks in order at $.checks.relations", kind=running.SAVED_FILE
                )
            if not checks.static or any(one.parameter >= len(spec.parameters) for one in checks.static):
                raise ParseError("expected parameters of the function at $.checks.static", kind=running.SAVED_FILE)
            allowed = ("check_tensor_info", "match_shape", "alloc_shape_heap")
            if any(self.functions[one.function].name.removeprefix("vm.builtin.") not in allowed for one in called):
                raise ParseError("expected checks of tensors alone at $.checks.count", kind=running.SAVED_FILE)
        if kernel is not None:
            entry = self.functions[kernel.function] if kernel.function < len(self.functions) else None
            if not isinstance(entry, bc.Kernel):
                raise ParseError("expected the number of a kernel at $.kernel.function", kind=running.SAVED_FILE)
            results = list(range(len(entry.func.params) - len(spec.parameters)))
            if sorted(kernel.order if kernel.order is not None else (0,)) != results:
                raise ParseError("expected the results of the kernel at $.kernel.order", kind=running.SAVED_FILE)


class _Walk:
    """One walk over a function: what its registers hold, instruction by instruction."""

    def __init__(
        self, functions: Sequence[bc.FunctionEntry], constants: Sequence[bc.Pooled], function: bc.VMFunction
    ) -> None:
        self.functions = functions
        self.constants = constants
        self.function = function
        self.heap = 0
        parameters = range(len(function.spec.parameters))
        # None where no control arrives.
        self.holds: dict[int, Kind] | None = dict.fromkeys(parameters, Kind.ANYTHING)
        self.arriving: dict[int, dict[int, Kind]] = {}

    def run(self) -> None:
        for position, instruction in enumerate(self.function.code):
            if position in self.arriving:
                self.holds = _common(self.holds, self.arriving.pop(position))
            if self.holds is None:
                raise never_reached(position)
            try:
                self.step(position, instruction, self.holds)
            except ParseError as problem:
                raise ParseError(
                    f"{problem.diagnostics[0].title} at $.code[{position}]", kind=running.SAVED_FILE
                ) from problem

    def step(self, position: int, instruction: bc.Instruction, holds: dict[int, Kind]) -> None:
        match instruction:
            case bc.Call(destination, function, args):
                result = self.call(self.functions[function], args)
                if destination != bc.VOID:
                    holds[self.written(destination)] = result
                self.narrowed(self.functions[function].name, args, holds)
            case bc.Ret(register):
                self.kind(register)
                self.holds = None
            case bc.Goto(offset):
                self.jump(position, offset, holds)
                self.holds = None
            case bc.If(condition, offset):
                self.takes(Kind.NUMBER, condition)
                self.jump(position, offset, holds)

    def jump(self, position: int, offset: int, holds: dict[int, Kind]) -> None:
        target = position + offset
        if offset < 1 or target >= len(self.function.code):
            raise ParseError(
                f"expected an instruction further on, found the one {offset} away", kind=running.SAVED_FILE
            )
        known = self.arriving.get(target)
        self.arriving[target] = dict(holds) if known is None else _common(known, holds)

    def narrowed(self, name: str, args: Sequence[bc.Arg], holds: dict[int, Kind]) -> None:
        """Note what a check has found a parameter to be."""
        found = {"vm.builtin.check_tensor_info": Kind.TENSOR, "vm.builtin.check_shape_info": Kind.SHAPE}.get(name)
        if found is not None and isinstance(args[0], bc.Register):
            holds[args[0].number] = found

    def written(self, register: bc.Register) -> int:
        if not 0 <= register.number < self.function.registers:
            raise ParseError(
                f"expected a register below {self.function.registers}, found {register.number}", kind=running.SAVED_FILE
            )
        return register.number

    def kind(self, arg: bc.Arg) -> Kind:
        """Return what an argument is."""
        match arg:
            case bc.Immediate():
                return Kind.NUMBER
            case bc.FunctionRef():
                return Kind.FUNCTION
            case bc.ConstantRef(index):
                return _constant_kind(self.constants[index])
            case bc.VOID:
                return Kind.NOTHING
            case bc.MACHINE:
                return Kind.MACHINE
        assert self.holds is not None
        found = self.holds.get(self.written(arg))
        if found is None:
            raise not_written(arg.number)
        return found

    def takes(self, wanted: Kind, arg: bc.Arg) -> None:
        found = self.kind(arg)
        if found is wanted or (wanted is Kind.HEAP and found is Kind.NOTHING):
            return
        known = (Kind.HEAP, Kind.MACHINE)
        if wanted in known or found in (*known, Kind.NOTHING) or Kind.ANYTHING not in (wanted, found):
            raise unlike(found.value, wanted.value)

    def call(self, entry: bc.FunctionEntry, args: Sequence[bc.Arg]) -> Kind:
        """See that ``args`` are what ``entry`` takes; return what it returns."""
        match entry:
            case bc.Builtin("vm.builtin.invoke_closure"):
                if len(args) < 2 or args[0] != bc.MACHINE:
                    raise ParseError("expected the machine, a function and its arguments", kind=running.SAVED_FILE)
                self.takes(Kind.FUNCTION, args[1])
                self.all_take(Kind.ANYTHING, args[2:])
            case bc.Builtin(name):
                return self.builtin(name, args)
            case bc.Kernel(_, func):
                self.count(len(func.params), args)
                for param, arg in zip(func.params, args, strict=True):
                    self.takes(Kind.TENSOR if param in func.buffer_map else Kind.NUMBER, arg)
            case bc.VMFunction():
                self.count(len(entry.spec.parameters), args)
                self.all_take(Kind.ANYTHING, args)
            case bc.ShapeFunction():
                self.count(1, args)
                self.slots(args[0], *entry.slots.values(), *(slot for slot, _ in entry.results))
            case bc.OperatorCall(extents=extents):
                self.all_take(Kind.ANYTHING, args)
                if extents:
                    self.takes(Kind.SHAPE, args[-1] if args else bc.VOID)
            case bc.Packed():
                self.all_take(Kind.ANYTHING, args)
        return Kind.ANYTHING

    def builtin(self, name: str, args: Sequence[bc.Arg]) -> Kind:
        signature = _signature(name)
        fixed = len(signature.params)
        if signature.rest is None or len(args) < fixed:
            self.count(fixed, args)
        for wanted, arg in zip(signature.params, args, strict=False):
            self.takes(wanted, arg)
        if signature.rest is not None:
            self.all_take(signature.rest, args[fixed:])
        self.constant(name, args)
        numbers = [arg.value for arg in args if isinstance(arg, bc.Immediate)]
        match name.removeprefix("vm.builtin."):
            case "alloc_shape_heap":
                if self.heap or not 0 < numbers[0] <= len(self.function.code) * 64 + 64:
                    raise ParseError("expected one shape heap, of a sensible size", kind=running.SAVED_FILE)
                self.heap = numbers[0]
            case "match_shape":
                rank = self.codes(args[1:3], numbers[1:], (EQUAL, STORE, IGNORE, EQUAL_SLOT), (STORE, EQUAL_SLOT))
                if len(args) != 4 + 2 * rank:
                    raise ParseError("expected two numbers for each dimension, and a string", kind=running.SAVED_FILE)
                self.takes(Kind.TEXT, args[-1])
            case "make_shape":
                self.codes(args[:2], numbers[1:], (VALUE, LOAD), (LOAD,))
            case "match_prim_value":
                known = (EQUAL, STORE, IGNORE, EQUAL_SLOT)
                self.codes((args[1], bc.Immediate(1)), numbers, known, (STORE, EQUAL_SLOT))
            case "make_prim_value":
                self.codes((args[0], bc.Immediate(1)), numbers, (VALUE, LOAD), (LOAD,))
            case "copy":
                return self.kind(args[0])
        return signature.result

    def constant(self, name: str, args: Sequence[bc.Arg]) -> None:
        """See that what is prepared once stands in the instruction, and not in a register."""
        registers = _PREPARED.get(name.removeprefix("vm.builtin."))
        if registers is None:
            return
        for number, arg in enumerate(args):
            if isinstance(arg, bc.Register) != (number < registers):
                wanted = "a register" if number < registers else "a number or constant"
                raise ParseError(f"expected {wanted} as argument {number} of {name}", kind=running.SAVED_FILE)

    def codes(
        self, heap_and_rank: Sequence[bc.Arg], numbers: Sequence[int], known: Sequence[int], of_heap: Sequence[int]
    ) -> int:
        """See that there are a code and an operand for each dimension, and that slots are on the
        heap; return the number of dimensions.
        """
        heap, rank = heap_and_rank
        if not isinstance(rank, bc.Immediate) or len(numbers) != 2 * rank.value:
            raise ParseError(f"expected two numbers for each dimension, found {len(numbers)}", kind=running.SAVED_FILE)
        for code, operand in zip(numbers[::2], numbers[1::2], strict=True):
            if code not in known:
                raise ParseError(f"there is no code {code}", kind=running.SAVED_FILE)
            if code in of_heap:
                self.slots(heap, operand)
        return rank.value

    def slots(self, heap: bc.Arg, *slots: int) -> None:
        """See that ``slots`` are on the heap that the register ``heap`` holds."""
        if self.kind(heap) is not Kind.HEAP:
            raise ParseError("expected the shape heap, found nothing", kind=running.SAVED_FILE)
        if any(not 0 <= slot < self.heap for slot in slots):
            raise ParseError(
                f"expected slots of the shape heap below {self.heap}, found {max(slots)}", kind=running.SAVED_FILE
            )

    def count(self, wanted: int, args: Sequence[bc.Arg]) -> None:
        if len(args) != wanted:
            raise ParseError(f"expected {wanted} arguments, found {len(args)}", kind=running.SAVED_FILE)

    def all_take(self, wanted: Kind, args: Sequence[bc.Arg]) -> None:
        for arg in args:
            self.takes(wanted, arg)


def _constant_kind(constant: bc.Pooled) -> Kind:
    match constant:
        case bc.DataType():
            return Kind.DTYPE
        case str():
            return Kind.TEXT
        case ShapeTuple():
            return Kind.SHAPE
        case np.ndarray():
            return Kind.TENSOR
    return Kind.NUMBER


def _common(one: dict[int, Kind] | None, other: dict[int, Kind]) -> dict[int, Kind]:
    """Return what is known where control arrives from two places."""
    if one is None:
        return other
    return {number: kind if other[number] is kind else Kind.ANYTHING for number, kind in one.items() if number in other}
