"""The machine that runs code made of Relay functions.

Calls of user functions need no Python recursion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from typing_extensions import assert_never

from relay2relax.backends.relay.code import (
    CallFunction,
    CallOperator,
    Code,
    Fail,
    Field,
    Instruction,
    Jump,
    JumpUnless,
    JumpUnlessMade,
    MakeClosure,
    MakeRef,
    MakeTuple,
    Move,
    Project,
    ReadRef,
    Return,
    WriteRef,
    compile_function,
    with_inner,
)
from relay2relax.backends.relay.values import AdtValue, RefValue
from relay2relax.core.errors import Diagnostic, ExecutionError, LimitError, OutOfMemoryError, mistake
from relay2relax.core.errors.table import running
from relay2relax.core.limits import Budget, active, out_of_memory
from relay2relax.core.progress import Position, going_on
from relay2relax.ops.registry.record import OpError
from relay2relax.relay_ir.ir.expr import Constructor, Expr
from relay2relax.relay_ir.ir.module import IRModule

Observer = Callable[[Expr, Any], None]


class Kernels(Protocol):
    """How operator calls are computed."""

    def run(self, call: CallOperator, args: Sequence[Any]) -> object:
        """Return the value of ``call`` for the values of its arguments."""


class Closure:
    """A function value: code and what it captured; it can be called like a Python function."""

    __slots__ = ("captured", "code", "machine")

    def __init__(self, machine: Machine, code: Code, captured: list[object]) -> None:
        self.machine = machine
        self.code = code
        self.captured = captured

    def __call__(self, *args: object) -> Any:
        return self.machine.run(self, args)

    def __repr__(self) -> str:
        return f"<function {self.code.name}>"


class _Caller(NamedTuple):
    registers: list[Any]
    code: Code
    resume: int
    target: int
    expr: Expr


class Machine:
    """Runs the functions of one module."""

    def __init__(
        self,
        mod: IRModule,
        kernels: Kernels,
        observe: Observer | None = None,
        codes: Mapping[str, Code] | None = None,
    ) -> None:
        """``codes`` are the module's functions where these were compiled before."""
        self.mod = mod
        self.kernels = kernels
        self.observe = observe
        self._codes = codes
        self._functions = {var.name: function for var, function in mod.functions.items()}
        self._globals: dict[str, Closure] = {}
        # How far the function is that was called from outside.
        self._position: Position = lambda: (0, 0)

    def function(self, name: str) -> Closure:
        """Return the module's function ``name``; its code, and that of the functions it names, is
        made once.
        """
        pending = [name]
        while pending:
            wanted = pending.pop()
            if wanted in self._globals:
                continue
            code = compile_function(self._functions[wanted], wanted) if self._codes is None else self._codes[wanted]
            self._globals[wanted] = Closure(self, code, [])
            pending.extend(callee for one in with_inner(code) for _, callee in one.globals)
        for closure in self._globals.values():
            for code in with_inner(closure.code):
                for register, callee in code.globals:
                    code.template[register] = self._globals[callee]
        return self._globals[name]

    def run(self, closure: Closure, args: Sequence[object]) -> Any:
        """Return the result of calling ``closure``."""
        _called(closure, args)
        try:
            with np.errstate(all="ignore"), going_on("instructions of Relay", lambda: self._position()):
                return self._run(closure, args)
        except MemoryError as problem:
            raise out_of_memory(f"@{closure.code.name}", problem) from problem

    def _run(self, closure: Closure, args: Sequence[object]) -> Any:
        observe, budget, callers = self.observe, active(), list[_Caller]()
        code, registers, at = closure.code, _enter(closure, args), 0
        self._position = lambda: (next((one.resume for one in callers), at), len(closure.code.instructions))
        while True:
            instruction = code.instructions[at] if budget is None else self._counted(budget, code, at)
            match instruction:
                case CallOperator(target, expr=expr):
                    registers[target] = self._operated(instruction, registers)
                    if observe is not None:
                        observe(expr, registers[target])
                case MakeTuple() | Project() | Move() | MakeRef() | ReadRef() | WriteRef():
                    registers[instruction.target] = _computed(instruction, registers)
                    if observe is not None:
                        observe(instruction.expr, registers[instruction.target])
                case CallFunction(target, callee, inputs, expr, tail):
                    function = registers[callee]
                    arguments = [registers[one] for one in inputs]
                    if isinstance(function, Constructor):
                        registers[target] = AdtValue(function, tuple(arguments))
                        if observe is not None:
                            observe(expr, registers[target])
                    else:
                        entered = _enter(_called(function, arguments), arguments)
                        for one in code.released[at]:
                            registers[one] = None
                        # The frame of a call in tail position has nothing left to do.
                        if not tail or observe is not None:
                            callers.append(_Caller(registers, code, at + 1, target, expr))
                        code, registers, at = function.code, entered, 0
                        del arguments, entered
                        continue
                case Return(source):
                    result = registers[source]
                    if not callers:
                        return result
                    registers, code, at, target, called = callers.pop()
                    registers[target] = result
                    if observe is not None:
                        observe(called, result)
                    del result
                    continue
                case JumpUnless(source, to) | JumpUnlessMade(source, _, to):
                    if not _holds(instruction, registers[source]):
                        at = to
                        continue
                case Jump(to):
                    at = to
                    continue
                case MakeClosure(target):
                    registers[target] = self._closure(instruction, registers)
                case Field(target, source, index):
                    registers[target] = _field(registers[source], index)
                case Fail(source, expr):
                    raise self._unmatched(registers[source], expr)
                case _:
                    assert_never(instruction)
            for one in code.released[at]:
                registers[one] = None
            at += 1

    def _closure(self, instruction: MakeClosure, registers: list[Any]) -> Closure:
        made = Closure(self, instruction.code, [registers[one] for one in instruction.captured])
        # A recursive function has captured its own register, before the closure was in it.
        made.captured = [made if one == instruction.target else registers[one] for one in instruction.captured]
        return made

    def _operated(self, call: CallOperator, registers: list[Any]) -> object:
        values = [registers[one] for one in call.args]
        try:
            return self.kernels.run(call, values)
        except OpError as problem:
            raise self._refused(call, values, problem) from problem
        except (LimitError, OutOfMemoryError) as problem:
            raise problem.located(self.mod.locations.get(call.expr), self.mod.source) from problem

    def _counted(self, budget: Budget, code: Code, at: int) -> Instruction:
        """Return the instruction ``at``, counted as a step.

        A limit that is reached is shown there, or at the nearest that the program shows.
        """
        try:
            budget.step()
            return code.instructions[at]
        except LimitError as reached:
            nearest = (*code.instructions[at::-1], *code.instructions[at:])
            places = (self.mod.locations.get(one.expr) for one in nearest if hasattr(one, "expr"))
            where = next((place for place in places if place is not None), None)
            raise reached.located(where, self.mod.source, f"in @{code.name}") from None

    def _unmatched(self, value: object, expr: Expr) -> ExecutionError:
        title = f"no clause of this match fits {value!r}"
        return ExecutionError(Diagnostic(title, self.mod.locations.get(expr)), self.mod.source)

    def _refused(self, call: CallOperator, values: Sequence[object], problem: OpError) -> ExecutionError:
        shapes = ", ".join(str(getattr(value, "shape", "a tuple")) for value in values)
        title = f"{call.op.name} cannot be computed for arguments of shapes {shapes}"
        where = self.mod.locations.get(call.expr)
        return ExecutionError(Diagnostic(title, where, label=problem.message), self.mod.source)


def _enter(closure: Closure, args: Sequence[object]) -> list[Any]:
    """Return the registers of a new frame."""
    code = closure.code
    registers = code.template.copy()
    for register, value in zip(code.captured, closure.captured, strict=True):
        registers[register] = value
    for register, value in zip(code.params, args, strict=True):
        registers[register] = value
    return registers


def _computed(instruction: MakeTuple | Project | Move | MakeRef | ReadRef | WriteRef, registers: list[Any]) -> object:
    """Return the value of an instruction that only moves values about."""
    match instruction:
        case MakeTuple(_, inputs):
            return tuple([registers[one] for one in inputs])
        case Project(_, source, index):
            return _field(registers[source], index)
        case Move(_, source):
            return registers[source]
        case MakeRef(_, source):
            return RefValue(registers[source])
        case ReadRef(_, source):
            return _cell(registers[source]).value
        case WriteRef(_, source, written):
            _cell(registers[source]).value = registers[written]
            return ()


# Code that was compiled has the types it was compiled with; that of a file may be anything.


def _called(function: object, args: Sequence[object]) -> Closure:
    if not isinstance(function, Closure):
        raise ExecutionError(mistake(running.VALUE, expected="a function to call", found=type(function).__name__))
    if len(args) != len(function.code.params):
        given = f"{len(args)} were given"
        raise ExecutionError(
            f"{function.code.name} takes {len(function.code.params)} arguments, {given}", kind=running.ARGUMENT
        )
    return function


def _field(whole: object, index: int) -> object:
    fields = whole.fields if isinstance(whole, AdtValue) else whole
    if not isinstance(fields, (tuple, list)) or index >= len(fields):
        raise ExecutionError(
            mistake(running.VALUE, expected=f"a tuple with a field {index}", found=type(whole).__name__)
        )
    return fields[index]


def _cell(value: object) -> RefValue:
    if not isinstance(value, RefValue):
        raise ExecutionError(mistake(running.VALUE, expected="a reference", found=type(value).__name__))
    return value


def _holds(jump: JumpUnless | JumpUnlessMade, value: object) -> bool:
    """Whether what a jump asks of ``value`` holds, so that it is not taken."""
    if isinstance(jump, JumpUnlessMade):
        if not isinstance(value, AdtValue):
            raise ExecutionError(
                mistake(running.VALUE, expected="a value of an algebraic data type", found=type(value).__name__)
            )
        return value.constructor.same_as(jump.constructor)
    try:
        return bool(value)
    except ValueError as problem:
        raise ExecutionError(
            mistake(
                running.VALUE, expected="a condition without dimensions", found=f"{type(value).__name__}: {problem}"
            )
        ) from problem
