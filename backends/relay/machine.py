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
from relay2relax.core.errors import Diagnostic, ExecutionError
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
        if len(args) != len(closure.code.params):
            given = f"{len(args)} were given"
            raise ExecutionError(f"{closure.code.name} takes {len(closure.code.params)} arguments, {given}")
        with np.errstate(all="ignore"):
            return self._run(closure, args)

    def _run(self, closure: Closure, args: Sequence[object]) -> Any:
        observe = self.observe
        callers: list[_Caller] = []
        code, registers, at = closure.code, _enter(closure, args), 0
        while True:
            instruction = code.instructions[at]
            match instruction:
                case CallOperator(target, _, _, inputs, expr):
                    values = [registers[one] for one in inputs]
                    try:
                        value = registers[target] = self.kernels.run(instruction, values)
                    except OpError as problem:
                        raise self._refused(instruction, values, problem) from problem
                    if observe is not None:
                        observe(expr, value)
                    # A local name would keep the operands alive past their release.
                    del values, value
                case MakeTuple(target, inputs, expr):
                    registers[target] = tuple([registers[one] for one in inputs])
                    if observe is not None:
                        observe(expr, registers[target])
                case Project(target, source, index, expr):
                    registers[target] = registers[source][index]
                    if observe is not None:
                        observe(expr, registers[target])
                case CallFunction(target, callee, inputs, expr, tail):
                    function = registers[callee]
                    arguments = [registers[one] for one in inputs]
                    if isinstance(function, Constructor):
                        registers[target] = AdtValue(function, tuple(arguments))
                        if observe is not None:
                            observe(expr, registers[target])
                    else:
                        for one in code.released[at]:
                            registers[one] = None
                        # The frame of a call in tail position has nothing left to do.
                        if not tail or observe is not None:
                            callers.append(_Caller(registers, code, at + 1, target, expr))
                        code, registers, at = function.code, _enter(function, arguments), 0
                        del arguments
                        continue
                case Return(source):
                    result = registers[source]
                    if not callers:
                        return result
                    registers, code, at, target, expr = callers.pop()
                    registers[target] = result
                    if observe is not None:
                        observe(expr, result)
                    del result
                    continue
                case Move(target, source, expr):
                    registers[target] = registers[source]
                    if observe is not None:
                        observe(expr, registers[target])
                case JumpUnless(source, to):
                    if not registers[source]:
                        at = to
                        continue
                case Jump(to):
                    at = to
                    continue
                case MakeClosure(target, inner, captured):
                    made = Closure(self, inner, [registers[one] for one in captured])
                    registers[target] = made
                    # A recursive function has captured its own register, before the closure was in
                    # it.
                    made.captured = [made if one == target else registers[one] for one in captured]
                case JumpUnlessMade(source, constructor, to):
                    if not registers[source].constructor.same_as(constructor):
                        at = to
                        continue
                case Field(target, source, index):
                    whole = registers[source]
                    registers[target] = (whole.fields if isinstance(whole, AdtValue) else whole)[index]
                case MakeRef(target, source, expr):
                    registers[target] = RefValue(registers[source])
                    if observe is not None:
                        observe(expr, registers[target])
                case ReadRef(target, source, expr):
                    registers[target] = registers[source].value
                    if observe is not None:
                        observe(expr, registers[target])
                case WriteRef(target, source, written, expr):
                    registers[source].value = registers[written]
                    registers[target] = ()
                    if observe is not None:
                        observe(expr, ())
                case Fail(source, expr):
                    title = f"no clause of this match fits {registers[source]!r}"
                    raise ExecutionError(Diagnostic(title, self.mod.locations.get(expr)), self.mod.source)
                case _:
                    assert_never(instruction)
            for one in code.released[at]:
                registers[one] = None
            at += 1

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
