"""Relay functions as code for a register machine.

    instruction ::= CallOperator | CallFunction | MakeTuple | Project | MakeClosure
                  | MakeRef | ReadRef | WriteRef | Field | Move
                  | JumpUnless | JumpUnlessMade | Jump | Fail | Return

Every node gets a register of its own in its function's frame; constants, constructors and the
module's functions wait in the frame's template. Control flow only jumps forwards, so a register is
free after the last instruction in the text that touches it. What an inner function uses of the
outer ones is captured when the closure is made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias, Union

from typing_extensions import assert_never

from relay2relax.backends.relay.scope import hoisted_nodes
from relay2relax.core.errors import ExecutionError, UnsupportedError, mistake
from relay2relax.core.errors.table import running
from relay2relax.ops.registry.record import OpDef
from relay2relax.ops.registry.table import relay_op
from relay2relax.relay_ir.ir.expr import (
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Op,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
    children,
)


@dataclass(frozen=True, slots=True)
class CallOperator:
    """``target = op(args)``."""

    target: int
    op: OpDef
    attrs: Any
    args: tuple[int, ...]
    expr: Call


@dataclass(frozen=True, slots=True)
class CallFunction:
    """``target = callee(args)``; with ``tail`` the callee's result is the frame's."""

    target: int
    callee: int
    args: tuple[int, ...]
    expr: Call
    tail: bool = False


@dataclass(frozen=True, slots=True)
class MakeTuple:
    """``target = (args)``."""

    target: int
    args: tuple[int, ...]
    expr: Tuple


@dataclass(frozen=True, slots=True)
class Project:
    """``target = source.index``."""

    target: int
    source: int
    index: int
    expr: TupleGetItem


@dataclass(frozen=True, slots=True)
class MakeClosure:
    """``target`` = a closure of ``code`` over the registers ``captured``, itself among them if it
    is recursive.
    """

    target: int
    code: Code
    captured: tuple[int, ...]
    expr: Function


@dataclass(frozen=True, slots=True)
class MakeRef:
    """``target`` = a new cell holding ``source``."""

    target: int
    source: int
    expr: RefCreate


@dataclass(frozen=True, slots=True)
class ReadRef:
    """``target`` = what the cell ``source`` holds."""

    target: int
    source: int
    expr: RefRead


@dataclass(frozen=True, slots=True)
class WriteRef:
    """Put ``value`` into the cell ``source``; ``target = ()``."""

    target: int
    source: int
    value: int
    expr: RefWrite


@dataclass(frozen=True, slots=True)
class Field:
    """``target`` = field ``index`` of the ADT value or tuple ``source``, taken apart by a
    pattern.
    """

    target: int
    source: int
    index: int


@dataclass(frozen=True, slots=True)
class Move:
    """``target = source``: the result of a branch becomes that of ``expr``."""

    target: int
    source: int
    expr: Expr


@dataclass(frozen=True, slots=True)
class JumpUnless:
    """Go to ``to`` if ``source`` is false."""

    source: int
    to: int


@dataclass(frozen=True, slots=True)
class JumpUnlessMade:
    """Go to ``to`` if ``source`` was not made by ``constructor``."""

    source: int
    constructor: Constructor
    to: int


@dataclass(frozen=True, slots=True)
class Jump:
    """Go to ``to``."""

    to: int


@dataclass(frozen=True, slots=True)
class Fail:
    """No clause of a match fits the value."""

    source: int
    expr: Match


@dataclass(frozen=True, slots=True)
class Return:
    """The frame's result is ``source``."""

    source: int


Instruction: TypeAlias = Union[
    CallOperator, CallFunction, MakeTuple, Project, MakeClosure, MakeRef, ReadRef, WriteRef, Field, Move,
    JumpUnless, JumpUnlessMade, Jump, Fail, Return,
]  # fmt: skip


@dataclass(slots=True, eq=False)
class Code:
    """The code of a function.

    ``template`` are the registers of a new frame, constants in place; ``captured`` and ``params``
    are where captured values and arguments go, ``globals`` where the module's functions belong;
    ``released[i]`` are the registers that nobody reads after instruction ``i``.
    """

    name: str
    params: tuple[int, ...] = ()
    captured: list[int] = field(default_factory=list)
    globals: list[tuple[int, str]] = field(default_factory=list)
    template: list[Any] = field(default_factory=list)
    instructions: list[Instruction] = field(default_factory=list)
    released: list[tuple[int, ...]] = field(default_factory=list)


def compile_function(function: Function, name: str) -> Code:
    """Return the code of a function of the module.

    Raises ExecutionError for an unbound variable and UnsupportedError for what cannot be run.
    """
    return _Compiler(function, name).compile()


class _Frame:
    """A function while its code is being written: which node is in which register."""

    def __init__(self, code: Code, parent: _Frame | None) -> None:
        self.code = code
        self.parent = parent
        self.registers: dict[Expr, int] = {}
        # Outer registers that become captured ones, in the order of ``code.captured``.
        self.outer: list[int] = []
        self.kept: set[int] = set()

    def new(self, value: object = None) -> int:
        self.code.template.append(value)
        return len(self.code.template) - 1

    def emit(self, instruction: Instruction) -> int:
        self.code.instructions.append(instruction)
        return len(self.code.instructions) - 1

    def preload(self, expr: Expr, value: object) -> int:
        """Let ``expr`` wait in the template, where it is there for every branch."""
        register = self.registers[expr] = self.new(value)
        self.kept.add(register)
        return register

    def patch(self, index: int) -> None:
        """Let the jump at ``index`` go to the next instruction."""
        jump = self.code.instructions[index]
        assert isinstance(jump, (Jump, JumpUnless, JumpUnlessMade))
        self.code.instructions[index] = replace(jump, to=len(self.code.instructions))

    def find(self, expr: Expr) -> int | None:
        """Return the register of ``expr``, captured from an outer function if need be."""
        chain: list[_Frame] = []
        frame: _Frame | None = self
        while frame is not None and expr not in frame.registers:
            chain.append(frame)
            frame = frame.parent
        if frame is None:
            return None
        register = frame.registers[expr]
        for inner in reversed(chain):
            inner.outer.append(register)
            register = inner.registers[expr] = inner.new()
            inner.code.captured.append(register)
        return register

    def result(self, expr: Expr) -> int:
        """Return the register of an expression that was evaluated."""
        register = self.find(expr)
        assert register is not None
        return register

    def finish(self) -> None:
        """Mark tail calls, and work out where registers become free."""
        instructions = self.code.instructions
        for index, instruction in enumerate(instructions):
            if isinstance(instruction, CallFunction) and self._returns(index + 1, instruction.target):
                instructions[index] = replace(instruction, tail=True)
        last: dict[int, int] = {}
        for index, instruction in enumerate(instructions):
            for register in _registers(instruction):
                last[register] = index
        released: list[list[int]] = [[] for _ in instructions]
        for register, index in last.items():
            if register not in self.kept:
                released[index].append(register)
        self.code.released = [tuple(one) for one in released]

    def _returns(self, index: int, register: int) -> bool:
        instructions = self.code.instructions
        while True:
            match instructions[index]:
                case Move(target, source) if source == register:
                    register, index = target, index + 1
                case Jump(to):
                    index = to
                case Return(source):
                    return source == register
                case _:
                    return False


def _registers(instruction: Instruction) -> list[int]:
    """Return the registers that an instruction touches."""
    one = (getattr(instruction, name, None) for name in ("target", "source", "callee", "value"))
    found = [register for register in one if register is not None]
    for name in ("args", "captured"):
        found += getattr(instruction, name, ())
    return found


class _Compiler:
    """Writes the code of a function and of those inside it.

    A stack of tasks stands for recursion.
    """

    def __init__(self, function: Function, name: str) -> None:
        self.function = function
        self.name = name
        self.hoisted = hoisted_nodes(function)
        self.tasks: list[Callable[[], object]] = []
        # Where the closure of a function goes that a `let` binds: known before, because it may
        # capture itself.
        self.reserved: dict[Expr, int] = {}

    def compile(self) -> Code:
        frame = self._open(self.function, None, self.name)
        self._next(partial(self._evaluate, frame, self.function.body), partial(self._close, frame, self.function))
        while self.tasks:
            self.tasks.pop()()
        return frame.code

    def _next(self, *steps: Callable[[], object]) -> None:
        """Do ``steps`` next, the first one first."""
        self.tasks.extend(reversed(steps))

    def _open(self, function: Function, parent: _Frame | None, name: str) -> _Frame:
        frame = _Frame(Code(name), parent)
        for param in function.params:
            frame.registers[param] = frame.new()
        frame.code.params = tuple(frame.registers[param] for param in function.params)
        return frame

    def _close(self, frame: _Frame, function: Function) -> None:
        frame.emit(Return(frame.result(function.body)))
        frame.finish()

    def _evaluate(self, frame: _Frame, expr: Expr) -> None:
        """Write the code that puts ``expr`` into a register, if it is in none yet."""
        self._continue(frame, [expr])

    def _continue(self, frame: _Frame, stack: list[Expr]) -> None:
        """Evaluate what is on ``stack``, the top first.

        What needs steps of its own interrupts this and resumes it.
        """
        find = frame.find
        while stack:
            expr = stack[-1]
            if find(expr) is not None:
                stack.pop()
                continue
            missing = [one for one in self._needed(expr) if find(one) is None]
            if missing:
                missing.reverse()
                stack += missing
                continue
            match expr:
                case Call() | Tuple() | TupleGetItem() | RefCreate() | RefRead() | RefWrite():
                    self._write(frame, expr)
                case Constant(data):
                    frame.preload(expr, data)
                case Constructor():
                    frame.preload(expr, expr)
                case GlobalVar(name):
                    frame.code.globals.append((frame.preload(expr, None), name))
                case Let() | If() | Match() | Function():
                    self.tasks.append(partial(self._continue, frame, stack))
                    self._construct(frame, expr)
                    return
                case Var(name):
                    raise ExecutionError(f"variable `%{name}` is not bound where @{self.name} uses it")
                case Op(name):
                    raise UnsupportedError(
                        f"the operator {name} is used as a value; wrap it in a function", kind=running.NOT_ON_BACKEND
                    )
                case _:
                    assert_never(expr)

    def _needed(self, expr: Expr) -> Sequence[Expr]:
        """Return what has to be evaluated before ``expr``: its parts, and what its branches share
        with the outside.
        """
        match expr:
            case Call(Op(), args):
                return args
            case Call(op, args):
                return (*args, op)
            case Function() | Let():
                return self.hoisted.get(expr, ())
            case If(condition):
                return (condition, *self.hoisted.get(expr, ()))
            case Match(data):
                return (data, *self.hoisted.get(expr, ()))
        return children(expr)

    def _construct(self, frame: _Frame, expr: Let | If | Match | Function) -> None:
        match expr:
            case Let():
                self._let(frame, expr)
            case If():
                self._if(frame, expr)
            case Match():
                self._match(frame, expr)
            case Function():
                self._closure(frame, expr)

    def _write(self, frame: _Frame, expr: Expr) -> None:
        """Write the instruction of a node whose parts are in registers."""
        read, target = frame.result, frame.new()
        frame.registers[expr] = target
        match expr:
            case Call(Op(name), args, attrs):
                op = relay_op(name)
                if op is None:
                    raise UnsupportedError(
                        mistake(running.NOT_ON_BACKEND, what=f"the operator {name}", backend="the Relay executors")
                    )
                frame.emit(CallOperator(target, op, attrs, tuple(map(read, args)), expr))
            case Call(callee, args):
                frame.emit(CallFunction(target, read(callee), tuple(map(read, args)), expr))
            case Tuple(items):
                frame.emit(MakeTuple(target, tuple(map(read, items)), expr))
            case TupleGetItem(value, index):
                frame.emit(Project(target, read(value), index, expr))
            case RefCreate(value):
                frame.emit(MakeRef(target, read(value), expr))
            case RefRead(ref):
                frame.emit(ReadRef(target, read(ref), expr))
            case RefWrite(ref, value):
                frame.emit(WriteRef(target, read(ref), read(value), expr))

    def _let(self, frame: _Frame, let: Let) -> None:
        if isinstance(let.value, Function) and frame.find(let.value) is None:
            frame.registers[let.var] = self.reserved[let.value] = frame.new()
        self._next(
            partial(self._evaluate, frame, let.value),
            partial(self._alias, frame, let.var, let.value),
            partial(self._evaluate, frame, let.body),
            partial(self._alias, frame, let, let.body),
        )

    def _alias(self, frame: _Frame, expr: Expr, same_as: Expr) -> None:
        frame.registers[expr] = frame.result(same_as)

    def _closure(self, frame: _Frame, function: Function) -> None:
        inner = self._open(function, frame, f"{frame.code.name}.fn")
        self._next(
            partial(self._evaluate, inner, function.body),
            partial(self._close, inner, function),
            partial(self._make_closure, frame, inner, function),
        )

    def _make_closure(self, frame: _Frame, inner: _Frame, function: Function) -> None:
        target = self.reserved.pop(function, None)
        if target is None:
            target = frame.new()
        frame.registers[function] = target
        frame.emit(MakeClosure(target, inner.code, tuple(inner.outer), function))

    def _if(self, frame: _Frame, expr: If) -> None:
        target = frame.new()
        jump = frame.emit(JumpUnless(frame.result(expr.condition), 0))
        ends: list[int] = []
        self._next(
            partial(self._evaluate, frame, expr.true_branch),
            partial(self._end_branch, frame, expr, expr.true_branch, target, [jump], ends),
            partial(self._evaluate, frame, expr.false_branch),
            partial(self._end_branch, frame, expr, expr.false_branch, target, ends, None),
            partial(frame.registers.__setitem__, expr, target),
        )

    def _end_branch(
        self, frame: _Frame, expr: If | Match, branch: Expr, target: int, arriving: list[int], ends: list[int] | None
    ) -> None:
        """Hand over the result of a branch.

        ``ends`` collects the jumps past the others, None after the last one.
        """
        frame.emit(Move(target, frame.result(branch), expr))
        if ends is not None:
            ends.append(frame.emit(Jump(0)))
        for jump in arriving:
            frame.patch(jump)

    def _match(self, frame: _Frame, expr: Match) -> None:
        target, data = frame.new(), frame.result(expr.data)
        ends: list[int] = []
        steps: list[Callable[[], object]] = []
        for clause in expr.clauses:
            misses: list[int] = []
            steps += (
                partial(self._take_apart, frame, clause.lhs, data, misses),
                partial(self._evaluate, frame, clause.rhs),
                partial(self._end_branch, frame, expr, clause.rhs, target, misses, ends),
            )
        self._next(*steps, partial(self._end_match, frame, expr, target, data, ends))

    def _end_match(self, frame: _Frame, expr: Match, target: int, data: int, ends: list[int]) -> None:
        frame.emit(Fail(data, expr))
        for jump in ends:
            frame.patch(jump)
        frame.registers[expr] = target

    def _take_apart(self, frame: _Frame, root: Pattern, data: int, misses: list[int]) -> None:
        """Write the tests of a pattern.

        ``misses`` collects the jumps taken where it does not fit.
        """
        work = [(root, data)]
        while work:
            pattern, register = work.pop()
            if isinstance(pattern, PatternVar):
                frame.registers[pattern.var] = register
            elif isinstance(pattern, (PatternConstructor, PatternTuple)):
                if isinstance(pattern, PatternConstructor):
                    misses.append(frame.emit(JumpUnlessMade(register, pattern.constructor, 0)))
                below: list[tuple[Pattern, int]] = []
                for index, part in enumerate(pattern.patterns):
                    if not isinstance(part, PatternWildcard):
                        below.append((part, frame.new()))
                        frame.emit(Field(below[-1][1], register, index))
                work.extend(reversed(below))


def with_inner(code: Code) -> list[Code]:
    """Return ``code`` and the codes of all functions inside it."""
    found = [code]
    for one in found:
        found.extend(made.code for made in one.instructions if isinstance(made, MakeClosure))
    return found
