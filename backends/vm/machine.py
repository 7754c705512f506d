"""The machine of targets numpy and c: a loop over steps, with a stack of frames of its own.

``resolve.py`` says what the entries of the function table compute, ``steps.py`` what the loop steps
through; ``direct.py`` calls functions that are one kernel without the loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from relay2relax.backends.runtime.registry import missing, missing_functions
from relay2relax.backends.runtime.virtual_machine import Function, Instrument
from relay2relax.backends.vm import bytecode as bc
from relay2relax.backends.vm.builtins import Closure
from relay2relax.backends.vm.conversion import base, bases, convert, own
from relay2relax.backends.vm.direct import DirectCall
from relay2relax.backends.vm.function_spec import FunctionSpec, TensorForm, ValueForm
from relay2relax.backends.vm.instruction_place import describe_place
from relay2relax.backends.vm.resolve import Callee, kernel_of, names_looked_up, resolve
from relay2relax.backends.vm.steps import CALL, CLOSURE, Step, StepWriter
from relay2relax.core.dtype import numpy_dtype
from relay2relax.core.errors import ExecutionError, LimitError, OutOfMemoryError, mistake
from relay2relax.core.errors.table import running
from relay2relax.core.limits import active, out_of_memory
from relay2relax.core.progress import going_on

if TYPE_CHECKING:
    from relay2relax.backends.c.loaded_module import CompiledModule

# What functions of the machine raise for values of the wrong kind.
_WRONG_KIND = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
# Stands for the dtype of parameters whose arguments are looked at: no array has it.
_NO_TENSOR = np.dtype(np.void)


@dataclass(frozen=True, slots=True)
class _Function:
    """A function ready to run.

    ``registers`` are those of a new frame; ``dtypes`` are those of the arrays that are taken
    as they are; ``expected`` says what static parameters must be for the function to begin at
    the step ``entry``.
    """

    name: str
    spec: FunctionSpec
    steps: tuple[Step, ...]
    registers: tuple[object, ...]
    entry: int
    dtypes: tuple[np.dtype[np.generic], ...]
    labels: tuple[str, ...]
    expected: tuple[tuple[int, tuple[int, ...], np.dtype[np.generic]], ...]

    def start(self, registers: list[object]) -> int:
        """Return where to begin: past the checks of static parameters where those are what they
        must be.
        """
        for number, shape, dtype in self.expected:
            value = registers[number]
            if type(value) is not np.ndarray or value.shape != shape or value.dtype != dtype:
                return 0
        return self.entry


class BytecodeMachine:
    """Runs the functions of a table.

    It does not keep the executable: weights as they came are what a file needs, not a machine,
    whose kernels have their own, packed where they pack.
    """

    def __init__(
        self, functions: Sequence[bc.FunctionEntry], constants: Sequence[bc.Pooled], native: CompiledModule | None
    ) -> None:
        """Resolve every function that is called; ``native`` is the compiled code of target c.

        Raises ExecutionError for all names that nobody registered.
        """
        self._entries = functions
        self._pool = constants
        self._native = native
        if unknown := missing(dict.fromkeys(names_looked_up(self._entries))):
            raise missing_functions(unknown)
        self._callees: list[Callee | None] = [resolve(entry, self._native) for entry in self._entries]
        self._constants = {base(one) for one in self._pool if isinstance(one, np.ndarray)}
        self.set_instrument(None)

    def __getitem__(self, name: str) -> Function:
        """Return the function ``name``; raises ExecutionError where the executable has none."""
        for function in self._functions:
            if function is not None and function.name == name:
                return self._entry_point(function)
        known = ", ".join(one.name for one in self._functions if one is not None) or "none"
        raise ExecutionError(mistake(running.NO_FUNCTION, owner="the executable", name=repr(name), known=known))

    def set_instrument(self, instrument: Instrument | None) -> None:
        """Let ``instrument`` see the calls of functions of the table; None takes it away."""
        self._instrument = instrument
        writer = StepWriter(self, self._entries, self._pool, self._callees, instrument)
        self._functions = [
            _ready(entry, writer) if isinstance(entry, bc.VMFunction) else None for entry in self._entries
        ]

    def _entry_point(self, function: _Function) -> Function:
        through, only = partial(self._invoke, function), function.spec.kernel
        if only is None or self._native is None or self._instrument is not None:
            return through
        entry = self._entries[only.function]
        assert isinstance(entry, bc.Kernel)
        return DirectCall(through, kernel_of(entry, self._native, fitting=True), function.dtypes, only.order)

    def _invoke(self, function: _Function, /, *args: object, **named: object) -> object:
        """Run a function on its arguments, in order or by name.

        Results share no memory with them.
        """
        if named or len(args) != len(function.labels):
            args = _ordered(function, args, named)
        given = [
            value if type(value) is np.ndarray and value.dtype == dtype else convert(value, label, parameter.form)
            for value, dtype, label, parameter in zip(
                args, function.dtypes, function.labels, function.spec.parameters, strict=True
            )
        ]
        result = self._run(function, given)
        taken = set(self._constants)
        for value in given:
            if type(value) is np.ndarray and value.base is None:
                taken.add(id(value))
            else:
                taken.update(bases(value))
        return own(result, taken)

    def _run(self, function: _Function, args: Sequence[object]) -> object:
        """Run ``function``; calls among Relax functions push frames here, not on Python's stack.

        Values of the wrong kind, which files can bring about, end in an ExecutionError.
        """
        registers = list(function.registers)
        registers[: len(args)] = args
        steps = function.steps
        counter = function.start(registers)
        frames: list[tuple[list[object], tuple[Step, ...], int, int]] = []
        number, whole = -1, len(steps)
        budget = active()
        try:
            with going_on("steps of the program", lambda: (next((one[2] for one in frames), counter), whole)):
                while True:
                    kind, target, places, register, number = steps[counter]
                    if budget is not None:
                        budget.step()
                    match kind:
                        case 0:
                            registers[register] = target(*[registers[place] for place in places])
                            counter += 1
                        case 1 | 5:
                            given = [registers[place] for place in places]
                            if number == CLOSURE:
                                number, given = _callee(given)
                            callee = self._functions[number]
                            if callee is None:
                                registers[register] = self._called(number, given)
                                counter += 1
                                continue
                            _check_count(callee, given)
                            # A call whose result is the caller's needs nothing of the caller any
                            # more: loops run in one frame.
                            if kind == 1:
                                frames.append((registers, steps, counter + 1, register))
                            registers = list(callee.registers)
                            registers[: len(given)] = given
                            steps, counter = callee.steps, callee.start(registers)
                        case 2:
                            result = registers[register]
                            if not frames:
                                return result
                            registers, steps, counter, destination = frames.pop()
                            registers[destination] = result
                        case 3:
                            counter = number
                        case _:
                            counter = counter + 1 if registers[register] else number
        except (LimitError, OutOfMemoryError) as problem:
            raise problem.located(None, None, self._place(steps, counter)) from problem
        except MemoryError as problem:
            raise out_of_memory(self._place(steps, counter).removeprefix("in "), problem) from problem
        except _WRONG_KIND as problem:
            if self._is_outside(steps[counter], number):
                raise
            place = self._place(steps, counter)
            raise ExecutionError(f"{place}: a step cannot take its arguments: {problem}") from problem

    def _is_outside(self, step: Step, number: int) -> bool:
        """Whether ``step`` calls a function of the user, whose exceptions are its own."""
        if step[0] == CALL:
            outside = (callee for callee, entry in zip(self._callees, self._entries, strict=True) if _is_packed(entry))
            return self._instrument is not None or step[1] in outside
        return 0 <= number < len(self._entries) and _is_packed(self._entries[number])

    def _place(self, steps: tuple[Step, ...], counter: int) -> str:
        """Return in words where a step is: its function, and what it calls."""
        for ready, entry in zip(self._functions, self._entries, strict=True):
            if ready is not None and ready.steps is steps and isinstance(entry, bc.VMFunction):
                return describe_place(self._entries, entry, counter)
        return "in the program"

    def _called(self, number: int, given: Sequence[object]) -> object:
        """Call an entry of the table that is no Relax function, as a value."""
        target = self._callees[number]
        assert target is not None
        return target(*given)


def _ready(function: bc.VMFunction, writer: StepWriter) -> _Function:
    prepared, spec = writer.prepare(function), function.spec
    static = spec.checks.static if spec.checks is not None else ()
    return _Function(
        function.name,
        spec,
        prepared.steps,
        prepared.registers,
        prepared.entry,
        tuple(_array_dtype(one.form) for one in spec.parameters),
        tuple(f"{function.name}: argument `{one.name}`" for one in spec.parameters),
        tuple((one.parameter, one.shape, numpy_dtype(one.dtype)) for one in static) if prepared.entry else (),
    )


def _is_packed(entry: bc.FunctionEntry) -> bool:
    return isinstance(entry, bc.Packed)


def _array_dtype(form: ValueForm) -> np.dtype[np.generic]:
    """Return the dtype of the arrays that a parameter takes without a look at them.

    Of bool, and where the dtype is open, every argument is looked at.
    """
    match form:
        case TensorForm(dtype) if dtype and dtype != "bool":
            return numpy_dtype(dtype)
    return _NO_TENSOR


def _ordered(function: _Function, args: tuple[object, ...], named: Mapping[str, object]) -> tuple[object, ...]:
    params = [one.name for one in function.spec.parameters]
    rest = params[len(args) :]
    names = ", ".join(params)
    if len(args) > len(params) or any(name not in rest for name in named):
        given = f"{len(args)} by position" + "".join(f", {name!r}" for name in named)
        raise ExecutionError(
            f"{function.name} takes {len(params)} arguments ({names}); given: {given}", kind=running.ARGUMENT
        )
    missing_ones = [name for name in rest if name not in named]
    if missing_ones:
        raise ExecutionError(
            f"{function.name} ({names}): missing arguments: {', '.join(missing_ones)}", kind=running.ARGUMENT
        )
    return (*args, *(named[name] for name in rest))


def _check_count(callee: _Function, given: Sequence[object]) -> None:
    if len(given) != len(callee.labels):
        raise ExecutionError(
            f"{callee.name} takes {len(callee.labels)} arguments, {len(given)} were given", kind=running.ARGUMENT
        )


def _callee(given: list[object]) -> tuple[int, list[object]]:
    """Return the function that a closure stands for, and all its arguments."""
    match given[0]:
        case Closure(function, captured):
            return function.index, [*given[1:], *captured]
        case bc.FunctionRef(index, _):
            return index, given[1:]
    raise ExecutionError(mistake(running.VALUE, expected="a function to call", found=type(given[0]).__name__))
