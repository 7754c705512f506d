"""Functions as the steps that the machine's loop takes.

Constants become registers behind the function's own, the arguments of a call the numbers of
registers, offsets the numbers of steps. A call whose result is the function's is a tail call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from relay2relax.backends.runtime.runtime_functions import null_value
from relay2relax.backends.runtime.virtual_machine import Instrument
from relay2relax.backends.vm import bytecode as bc
from relay2relax.backends.vm.builtins import INVOKE_CLOSURE, SPECIALISED, copy
from relay2relax.backends.vm.resolve import Callee
from relay2relax.core.errors import ExecutionError
from relay2relax.core.errors.table import running

CALL, ENTER, RETURN, GOTO, IF, TAIL = range(6)
# The kind, what a CALL calls, the registers of its arguments, the register that is written or read,
# and a number: the step to go on at, or the function that is entered (CLOSURE: the one that the
# first argument is).
Step: TypeAlias = tuple[int, Callee, tuple[int, ...], int, int]
CLOSURE = -1


@dataclass(frozen=True, slots=True)
class Prepared:
    """A function's steps, the registers of a new frame, and the step to begin at where the
    parameters are what its checks ask for.
    """

    steps: tuple[Step, ...]
    registers: tuple[object, ...]
    entry: int


class StepWriter:
    """Writes the steps of the functions of one table, for one machine."""

    def __init__(
        self,
        machine: object,
        functions: Sequence[bc.FunctionEntry],
        constants: Sequence[bc.Pooled],
        callees: Sequence[Callee | None],
        instrument: Instrument | None,
    ) -> None:
        """``callees`` are what the entries compute; ``instrument`` sees their calls."""
        self._machine = machine
        self._functions = functions
        self._constants = constants
        self._callees = callees
        self._instrument = instrument

    def prepare(self, function: bc.VMFunction) -> Prepared:
        """Return the steps of ``function``.

        Raises ExecutionError where it calls what this machine does not have.
        """
        places = _Places(function.registers, self._machine, self._constants)
        steps = [self._step(position, one, places) for position, one in enumerate(function.code)]
        for position, step in enumerate(steps):
            if step[0] == ENTER and _returns(steps, position + 1, step[3]):
                steps[position] = (TAIL, *step[1:])
        checks = function.spec.checks
        entry = 0
        if checks is not None and self._instrument is None:
            # Those that remain are repeated behind the function's steps, so that jumps within it
            # stay what they are.
            entry = len(steps)
            steps += [steps[position] for position in checks.relations]
            steps.append((GOTO, null_value, (), 0, checks.count))
        return Prepared(tuple(steps), tuple(places.values), entry)

    def _step(self, position: int, instruction: bc.Instruction, places: _Places) -> Step:
        match instruction:
            case bc.Call():
                return self._call(instruction, places)
            case bc.Ret(register):
                return RETURN, null_value, (), places.of(register), 0
            case bc.Goto(offset):
                return GOTO, null_value, (), 0, position + offset
            case bc.If(condition, offset):
                return IF, null_value, (), places.of(condition), position + offset

    def _call(self, call: bc.Call, places: _Places) -> Step:
        entry, target = self._functions[call.function], self._callees[call.function]
        where = tuple(places.of(arg) for arg in call.args)
        destination = places.of(call.destination)
        if entry.name == INVOKE_CLOSURE:
            return ENTER, null_value, where[1:], destination, CLOSURE
        if isinstance(entry, bc.VMFunction):
            return ENTER, null_value, where, destination, call.function
        if target is None:
            raise ExecutionError(f"the machine has no function {entry.name}", kind=running.NO_FUNCTION)
        if self._instrument is not None:
            return CALL, _instrumented(self._instrument, entry.name, target), where, destination, 0
        if entry.name in SPECIALISED:
            target = self._specialised(entry.name, call.args)
            where = tuple(places.of(arg) for arg in call.args if isinstance(arg, bc.Register))
        return CALL, target, where, destination, 0

    def _specialised(self, name: str, args: Sequence[bc.Arg]) -> Callee:
        """Return the check ``name`` with its constants put in: a function of registers among
        ``args``.
        """
        known = [
            arg.value if isinstance(arg, bc.Immediate) else self._constants[arg.index]
            for arg in args
            if isinstance(arg, (bc.Immediate, bc.ConstantRef))
        ]
        return SPECIALISED[name](*known)


class _Places:
    """The registers of a function, those for constants among them."""

    def __init__(self, count: int, machine: object, constants: Sequence[bc.Pooled]) -> None:
        self.values: list[object] = [None] * (count + 1) + [machine]
        self._constants = constants
        self._known: dict[bc.Arg, int] = {bc.VOID: count, bc.MACHINE: count + 1}

    def of(self, arg: bc.Arg) -> int:
        """Return the register of an argument; a constant gets one when it is met first."""
        if isinstance(arg, bc.Register) and arg.number >= 0:
            return arg.number
        if arg not in self._known:
            self._known[arg] = len(self.values)
            match arg:
                case bc.Immediate(value):
                    self.values.append(value)
                case bc.ConstantRef(index):
                    self.values.append(self._constants[index])
                case _:
                    self.values.append(arg)
        return self._known[arg]


def _returns(steps: Sequence[Step], position: int, register: int) -> bool:
    """Return whether what follows ``position`` does nothing but return the value of
    ``register``.
    """
    for _ in range(len(steps)):
        kind, function, args, place, target = steps[position]
        if kind == RETURN:
            return place == register
        if kind == GOTO:
            position = target
            continue
        if kind == CALL and function is copy and args == (register,):
            register = place
        elif kind != CALL or function is not null_value or place == register:
            return False
        position += 1
    return False


def _instrumented(instrument: Instrument, name: str, target: Callee) -> Callee:
    """Return ``target`` with ``instrument`` before and after it."""

    def run(*args: object) -> object:
        if instrument(target, name, True, None, *args) == 1:
            return None
        result = target(*args)
        instrument(target, name, False, result, *args)
        return result

    return run
