"""The Relax virtual machine: a loop over instructions, with a stack of frames of its own.

Before it runs, the machine turns every function into tuples it can step through quickly: constants
become registers behind the function's own, and the arguments of a call a list of register numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from relay2relax.backends.numpy.kernels import in_call_order, numpy_kernel
from relay2relax.backends.runtime.arguments import as_array
from relay2relax.backends.runtime.dlpack import is_bfloat16, shared
from relay2relax.backends.runtime.extern_calls import is_interpreted, outside_names
from relay2relax.backends.runtime.registry import find_func, missing, missing_functions
from relay2relax.backends.runtime.runtime_functions import null_value
from relay2relax.backends.runtime.values import ShapeTuple
from relay2relax.backends.vm import bytecode as bc
from relay2relax.backends.vm.builtins import BUILTINS, INVOKE_CLOSURE, SPECIALISED, Closure, copy
from relay2relax.backends.vm.direct import direct_call
from relay2relax.backends.vm.executable import Executable
from relay2relax.backends.vm.shape_heap import EQUAL
from relay2relax.backends.vm.stateful import StatefulCalls
from relay2relax.core.collection import collection_paused
from relay2relax.core.dtype import Array, numpy_dtype, of_array
from relay2relax.core.errors import ExecutionError, UnsupportedError
from relay2relax.ops.registry.evaluate import kernel_value, with_values
from relay2relax.tir.arith.evaluate import extent_function

if TYPE_CHECKING:
    from relay2relax.backends.tvm import TvmExecutable

_CALL, _ENTER, _RET, _GOTO, _IF, _TAIL = range(6)
# What one step is: (_CALL, callable, argument places, destination), (_ENTER, function, places,
# destination), …
Step = tuple[Any, ...]
# A register, and the shape and dtype of the tensor it must hold.
_Expected = tuple[int, tuple[int, ...], Any]


@dataclass(frozen=True, slots=True)
class _Function:
    """A function ready to run: its steps, and a register file with the constants in place."""

    info: bc.VMFunction
    steps: tuple[Step, ...]
    registers: tuple[Any, ...]
    dtypes: tuple[Any, ...]
    labels: tuple[str, ...]
    expected: tuple[_Expected, ...]
    entry: int

    def start(self, registers: list[Any]) -> int:
        """Return where to begin: past the checks of static parameters where those are what they
        must be.
        """
        for number, shape, dtype in self.expected:
            value = registers[number]
            if type(value) is not np.ndarray or value.shape != shape or value.dtype != dtype:
                return 0
        return self.entry


class VirtualMachine(StatefulCalls):
    """Runs the functions of an executable: ``vm["main"](*args)``.

    An executable of target tvm is run by TVM's own machine; it is looked up here in the same way.
    """

    @collection_paused()
    def __init__(self, executable: Executable | TvmExecutable) -> None:
        """Resolve every function the executable calls.

        Raises ExecutionError for all names that nobody registered.
        """
        super().__init__()
        self._instrument: Callable[..., Any] | None = None
        self._foreign = None if isinstance(executable, Executable) else executable
        if not isinstance(executable, Executable):
            return
        # Weights as they came are what a file needs, not a machine: its kernels have their own,
        # packed where they pack.
        self.executable = replace(executable, weights={}, complete=None)
        if unknown := missing(dict.fromkeys(_names(executable))):
            raise missing_functions(unknown)
        self._callables: list[Callable[..., Any] | None] = [self._resolve(e) for e in executable.functions]
        self._functions = [
            self._prepare(entry) if isinstance(entry, bc.VMFunction) else None for entry in executable.functions
        ]
        self._constants = {_base(c) for c in executable.constants if isinstance(c, np.ndarray)}

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """Return the function ``name``; raises ExecutionError where the executable has none."""
        if name in self._saved:
            return self._saved[name]
        if self._foreign is not None:
            return self._foreign[name]
        for entry, function in zip(self.executable.functions, self._functions, strict=True):
            if entry.name == name and function is not None:
                through = partial(self._invoke, function)
                if self.executable.native is None or self._instrument is not None:
                    return through
                return direct_call(function.info, self.executable.functions, self._callables, function.dtypes, through)
        known = ", ".join(e.name for e in self.executable.functions if isinstance(e, bc.VMFunction)) or "none"
        raise ExecutionError(f"the executable has no function {name!r}; it has: {known}")

    def set_instrument(self, instrument: Callable[..., Any] | None) -> None:
        """Let ``instrument(function, name, before_run, result, *args)`` see every call of a
        function of the table.

        It is called before and after each; where it returns 1 before, the call is left out, with
        None as its result. Calls among the Relax functions themselves are not seen. None takes it
        away. Raises UnsupportedError on target tvm, whose machine has its own.
        """
        if self._foreign is not None:
            raise UnsupportedError("on target tvm the machine of apache-tvm runs; it has a set_instrument of its own")
        self._instrument = instrument
        self._functions = [
            self._prepare(entry) if isinstance(entry, bc.VMFunction) else None for entry in self.executable.functions
        ]

    # Preparing

    def _resolve(self, entry: bc.FunctionEntry) -> Callable[..., Any] | None:
        match entry:
            case bc.Builtin(name):
                return BUILTINS.get(name)
            case bc.Packed(name):
                return _packed(name)
            case bc.Kernel(_, func):
                if self.executable.native is not None and not is_interpreted(func):
                    return in_call_order(func, self.executable.native.kernel(func.name))
                return in_call_order(func, numpy_kernel(func))
            case bc.OperatorCall():
                return _operator(entry)
            case bc.ShapeFunction():
                return _shape_function(entry)
        return None

    def _prepare(self, info: bc.VMFunction) -> _Function:
        registers: list[Any] = [None] * (info.registers + 2)
        void, machine = info.registers, info.registers + 1
        registers[machine] = self
        places: dict[bc.Arg, int] = {bc.Register(-1): void, bc.Register(-2): machine}

        def place(arg: bc.Arg) -> int:
            if isinstance(arg, bc.Register) and arg.number >= 0:
                return arg.number
            if arg not in places:
                places[arg] = len(registers)
                match arg:
                    case bc.Immediate(value):
                        registers.append(value)
                    case bc.ConstantRef(index):
                        registers.append(self.executable.constants[index])
                    case _:
                        registers.append(arg)
            return places[arg]

        steps: list[Step] = []
        for position, instruction in enumerate(info.code):
            match instruction:
                case bc.Call(destination, function, args):
                    target = self._callables[function]
                    where = tuple(place(arg) for arg in args)
                    entry = self.executable.functions[function]
                    if entry.name == INVOKE_CLOSURE:
                        steps.append((_ENTER, None, where[1:], place(destination)))
                    elif isinstance(entry, bc.VMFunction):
                        steps.append((_ENTER, function, where, place(destination)))
                    elif target is None:
                        raise ExecutionError(f"the machine has no function {entry.name}")
                    else:
                        if self._instrument is not None:
                            target = _instrumented(self._instrument, entry.name, target)
                        elif (check := self._specialised(entry.name, args)) is not None:
                            target, where = check, tuple(place(arg) for arg in args if isinstance(arg, bc.Register))
                        steps.append((_CALL, target, where, place(destination)))
                case bc.Ret(register):
                    steps.append((_RET, place(register)))
                case bc.Goto(offset):
                    steps.append((_GOTO, position + offset))
                case bc.If(condition, offset):
                    steps.append((_IF, place(condition), position + offset))
        for position, step in enumerate(steps):
            if step[0] == _ENTER and _returns(steps, position + 1, step[3]):
                steps[position] = (_TAIL, *step[1:])
        labels = tuple(f"{info.name}: argument `{name}`" for name in info.params)
        expected, begin = self._shortcut(info, steps) if self._instrument is None else ((), 0)
        dtypes = self._parameter_dtypes(info)
        return _Function(info, tuple(steps), tuple(registers), dtypes, labels, expected, begin)

    def _shortcut(self, info: bc.VMFunction, steps: list[Step]) -> tuple[tuple[_Expected, ...], int]:
        """Return what static parameters must be, and where to begin if they are: past the checks
        that say so.

        The checks that remain are repeated behind the function's steps, so that jumps within it
        stay what they are.
        """
        dtypes: dict[int, Any] = {}
        shapes: dict[int, tuple[int, ...]] = {}
        checks: dict[int, Step] = {}
        rest: list[Step] = []
        end = 0
        for end, instruction in enumerate(info.code):
            if not isinstance(instruction, bc.Call):
                break
            name = self.executable.functions[instruction.function].name
            match instruction.args:
                case (bc.Register(number), _, bc.ConstantRef(index), _) if name == "vm.builtin.check_tensor_info":
                    dtypes[number] = self.executable.constants[index]
                    checks[number] = steps[end]
                case (bc.Register(number), _, bc.Immediate(rank), *codes) if name == "vm.builtin.match_shape":
                    values = [one.value for one in codes if isinstance(one, bc.Immediate)]
                    if any(code != EQUAL for code in values[::2]):
                        rest.append(steps[end])
                    else:
                        shapes[number] = tuple(values[1 : 2 * rank : 2])
                case _ if name == "vm.builtin.alloc_shape_heap":
                    rest.append(steps[end])
                case _:
                    break
        known = {n: s for n, s in shapes.items() if dtypes.get(n, "void") != "void"}
        expected = tuple((number, shape, numpy_dtype(dtypes[number])) for number, shape in known.items())
        if not expected or len(known) != len(shapes):
            return (), 0
        entry = len(steps)
        steps += [*(step for number, step in checks.items() if number not in known), *rest, (_GOTO, end)]
        return expected, entry

    def _specialised(self, name: str, args: Sequence[bc.Arg]) -> Callable[..., Any] | None:
        """Return a check with its constants put in, where ``name`` is one: a function of registers
        among ``args``.
        """
        if name not in SPECIALISED:
            return None
        known = [
            arg.value if isinstance(arg, bc.Immediate) else self.executable.constants[arg.index]
            for arg in args
            if isinstance(arg, (bc.Immediate, bc.ConstantRef))
        ]
        return SPECIALISED[name](*known)

    def _parameter_dtypes(self, info: bc.VMFunction) -> tuple[Any, ...]:
        """Return what arguments are converted to, read off the checks at the function's start:
        dtypes, and shapes.

        For a tuple that is a tuple of the same.
        """
        known: dict[int, Any] = {}
        fields: dict[int, list[int]] = {}
        for instruction in info.code:
            if not isinstance(instruction, bc.Call):
                break
            name = self.executable.functions[instruction.function].name.removeprefix("vm.builtin.")
            match name, instruction.args:
                case "check_tensor_info", (bc.Register(number), _, bc.ConstantRef(index), _):
                    dtype = self.executable.constants[index]
                    if isinstance(dtype, bc.DataType) and dtype != "void":
                        known.setdefault(number, numpy_dtype(dtype))
                case "check_shape_info", (bc.Register(number), *_):
                    known.setdefault(number, ShapeTuple)
                case "check_tuple_info", (bc.Register(number), *_):
                    fields.setdefault(number, [])
                case "tuple_getitem", (bc.Register(number), bc.Immediate(index)):
                    if len(fields.get(number, ())) == index and number in fields:
                        fields[number].append(instruction.destination.number)

        def wanted(number: int) -> Any:
            return tuple(map(wanted, fields[number])) if number in fields else known.get(number)

        return tuple(map(wanted, range(len(info.params))))

    # Running

    def _invoke(self, function: _Function, /, *args: Any, **named: Any) -> Any:
        """Run a function on its arguments, in order or by name.

        Results share no memory with them.
        """
        info = function.info
        if named or len(args) != len(info.params):
            args = tuple(self._ordered(info, args, named))
        given = [
            value
            if type(value) is np.ndarray and (dtype is None or value.dtype == dtype)
            else _convert(value, dtype, name)
            for value, dtype, name in zip(args, function.dtypes, function.labels, strict=True)
        ]
        result = self._run(function, given)
        taken = set(self._constants)
        for value in given:
            if type(value) is np.ndarray and value.base is None:
                taken.add(id(value))
            else:
                taken.update(_bases(value))
        return _own(result, taken)

    def _ordered(self, info: bc.VMFunction, args: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        rest = info.params[len(args) :]
        names = ", ".join(info.params)
        if len(args) > len(info.params) or any(name not in rest for name in named):
            given = f"{len(args)} by position" + "".join(f", {name!r}" for name in named)
            raise ExecutionError(f"{info.name} takes {len(info.params)} arguments ({names}); given: {given}")
        missing = [name for name in rest if name not in named]
        if missing:
            raise ExecutionError(f"{info.name} ({names}): missing arguments: {', '.join(missing)}")
        return [*args, *(named[name] for name in rest)]

    def _run(self, function: _Function, args: Sequence[Any]) -> Any:
        """Run ``function``; calls among Relax functions push frames here, not on Python's stack."""
        registers = list(function.registers)
        registers[: len(args)] = args
        steps = function.steps
        counter = function.start(registers)
        frames: list[tuple[list[Any], tuple[Step, ...], int, int]] = []
        while True:
            step = steps[counter]
            match step[0]:
                case 0:
                    registers[step[3]] = step[1](*[registers[place] for place in step[2]])
                    counter += 1
                case 1 | 5:
                    given = [registers[place] for place in step[2]]
                    index = step[1]
                    if index is None:
                        index, given = self._callee(given)
                    callee = self._functions[index]
                    if callee is None:
                        target = self._callables[index]
                        assert target is not None
                        registers[step[3]] = target(*given)
                        counter += 1
                        continue
                    if len(given) != len(callee.info.params):
                        raise ExecutionError(
                            f"{callee.info.name} takes {len(callee.info.params)} arguments, {len(given)} were given"
                        )
                    # A call whose result is the caller's needs nothing of the caller any more:
                    # loops run in one frame.
                    if step[0] == 1:
                        frames.append((registers, steps, counter + 1, step[3]))
                    registers = list(callee.registers)
                    registers[: len(given)] = given
                    steps, counter = callee.steps, callee.start(registers)
                case 2:
                    result = registers[step[1]]
                    if not frames:
                        return result
                    registers, steps, counter, destination = frames.pop()
                    registers[destination] = result
                case 3:
                    counter = step[1]
                case _:
                    counter = counter + 1 if registers[step[1]] else step[2]

    def _callee(self, given: list[Any]) -> tuple[int, list[Any]]:
        """Return the function that a closure stands for, and all its arguments."""
        match given[0]:
            case Closure(function, captured):
                return function.index, [*given[1:], *captured]
            case bc.FunctionRef(index, _):
                return index, given[1:]
        raise ExecutionError(f"{type(given[0]).__name__} was called, which is not a function")


def _returns(steps: Sequence[Step], position: int, register: int) -> bool:
    """Return whether what follows ``position`` does nothing but return the value of
    ``register``.
    """
    for _ in range(len(steps)):
        match steps[position]:
            case (2, place):
                return bool(place == register)
            case (3, target):
                position = target
                continue
            case (0, function, (place,), destination) if function is copy and place == register:
                register = destination
            case (0, function, _, destination) if function is null_value and destination != register:
                pass
            case _:
                return False
        position += 1
    return False


def _names(executable: Executable) -> Iterator[str]:
    """Yield the names of the functions that are looked up, by the machine and within kernels."""
    for entry in executable.functions:
        match entry:
            case bc.Packed(name):
                yield name
            case bc.Kernel(_, func):
                yield from sorted(outside_names(func))


def _packed(name: str) -> Callable[..., Any]:
    """Return the function ``name``, whose results become what the machine computes with: arrays,
    tuples, numbers.
    """
    function = find_func(name)

    def run(*args: Any) -> Any:
        return _convert(function(*map(shared, args)), None, f"the result of {name}")

    return run


def _instrumented(instrument: Callable[..., Any], name: str, target: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``target`` with ``instrument`` before and after it."""

    def run(*args: Any) -> Any:
        if instrument(target, name, True, None, *args) == 1:
            return None
        result = target(*args)
        instrument(target, name, False, result, *args)
        return result

    return run


def _operator(entry: bc.OperatorCall) -> Callable[..., Any]:
    """Return the record's kernel with its attributes; shapes reach it as plain tuples.

    Of numbers that are no tensors, as operators of two scalars are given, it makes a number.
    """
    op, attrs, extents = entry.op, entry.attrs, entry.extents

    def run(*args: Any) -> Any:
        given = [tuple(arg) if isinstance(arg, ShapeTuple) else arg for arg in args]
        used = attrs
        if extents:
            used = with_values(attrs, dict(zip(extents, given.pop(), strict=True)))
        if len(given) == 2 and all(isinstance(one, (bool, int, float)) for one in given):
            return kernel_value(op, used, [np.asarray(one) for one in given]).item()
        return kernel_value(op, used, given)

    return run


def _shape_function(entry: bc.ShapeFunction) -> Callable[..., Any]:
    results = [(slot, extent_function(expr, entry.slots)) for slot, expr in entry.results]

    def run(heap: list[int]) -> None:
        for slot, compute in results:
            heap[slot] = compute(heap)

    return run


def _convert(value: Any, dtype: Any, what: str) -> Any:
    """Return an argument as the parameter takes it: a tensor in its dtype, lists as tuples, numbers
    as they are.

    A shape is any row of integers. ``dtype`` of a tuple is a tuple.
    """
    if isinstance(dtype, tuple):
        if isinstance(value, (list, tuple)) and len(value) == len(dtype):
            return tuple(
                _convert(one, field, f"{what}[{n}]") for n, (one, field) in enumerate(zip(value, dtype, strict=True))
            )
        dtype = None
    if dtype is ShapeTuple:
        whole = isinstance(value, Iterable) and all(isinstance(one, (int, np.integer)) for one in value)
        return ShapeTuple(map(int, value)) if whole else value
    if dtype is not None and not isinstance(value, (tuple, Closure, bc.FunctionRef)):
        return as_array(value, "bool" if dtype == np.bool_ else dtype.name, what)
    if type(value) is not np.ndarray and isinstance(value, np.ndarray):
        return value.view(np.ndarray)
    if isinstance(value, (list, tuple)) and not isinstance(value, ShapeTuple):
        return tuple(_convert(one, None, what) for one in value)
    if hasattr(value, "__dlpack__") and not isinstance(value, (np.ndarray, np.generic)):
        return as_array(value, "bfloat16" if is_bfloat16(value) else of_array(np.from_dlpack(value)), what)
    return value.item() if isinstance(value, np.generic) else value


def _base(array: Array) -> int:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return id(array)


def _bases(value: Any) -> set[int]:
    if isinstance(value, np.ndarray):
        return {_base(value)}
    if isinstance(value, tuple):
        return {base for one in value for base in _bases(one)}
    return set()


def _own(value: Any, taken: set[int]) -> Any:
    """Return a result whose arrays share memory with no argument, no constant and not with each
    other.
    """
    match value:
        case np.ndarray():
            base = _base(value)
            if base in taken or not value.flags.writeable or not value.flags.c_contiguous:
                value = value.copy()
            taken.add(_base(value))
            return value
        case np.generic():
            return np.asarray(value)
        case ShapeTuple():
            return value
        case tuple():
            return tuple(_own(one, taken) for one in value)
    return value
