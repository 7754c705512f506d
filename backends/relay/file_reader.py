"""Reading saved Relay executables: what the forms of ``file_forms.py`` cannot say is checked here,
and nothing of what is read is run.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial

from relay2relax.backends.relay import code as rc
from relay2relax.backends.relay import file_forms as f
from relay2relax.backends.runtime.archive import each_at, read_archive, read_at
from relay2relax.backends.runtime.code_checks import check_below, endless, never_reached, not_written
from relay2relax.core.dtype import Array
from relay2relax.core.errors import LimitError, ParseError, Relay2RelaxError
from relay2relax.core.errors.table import running
from relay2relax.core.schema import read_value
from relay2relax.ops.registry.table import relay_op
from relay2relax.relay_ir.ir.expr import (
    Call,
    Constructor,
    Expr,
    Function,
    Match,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
)
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.json.reader import load_json

FORMAT = "relay2relax relay vm"
VERSION = 1
# What the instructions of a file belong to: nodes are not kept.
_NODE = Tuple(())
_CALL = Call(_NODE, ())


def read_codes(path: str | os.PathLike[str]) -> tuple[IRModule, dict[str, rc.Code]]:
    """Return the interface and the codes of the module's functions from a file.

    Raises FileError where the file cannot be read, ParseError with the place in its header where it
    is damaged or of another version.
    """
    header, tensors = read_archive(path, FORMAT, VERSION)
    form = read_value(header, f.Header, str(path))
    try:
        module = load_json(form.interface)
    except LimitError:
        raise
    except Relay2RelaxError as problem:
        raise ParseError(f"{path}: its interface cannot be read: {problem}", kind=running.SAVED_FILE) from problem
    try:
        return module, _Reader(module, form.codes, tensors).codes()
    except ParseError as problem:
        raise ParseError(f"{path}: {problem.diagnostics[0].title}", kind=running.SAVED_FILE) from problem


class _Reader:
    """Codes from forms; every number is checked before it is believed."""

    def __init__(self, module: IRModule, forms: Sequence[f.Code], tensors: Sequence[Array]) -> None:
        self.module = module
        self.forms = forms
        self.tensors = tensors
        data_types = module.type_definitions.values()
        self.constructors = {(one.belong_to.name, one.name): one for data in data_types for one in data.constructors}
        self.made = [rc.Code(one.name) for one in forms]
        self.functions = {var.name: function for var, function in module.functions.items()}

    def codes(self) -> dict[str, rc.Code]:
        """Return the codes by the names of the module's functions."""
        for name, function in self.functions.items():
            read_at("$.interface", partial(self.check_calls, name), function)
        list(each_at("$.codes", self.fill, range(len(self.forms))))
        tops = {code.name: code for code, form in zip(self.made, self.forms, strict=True) if form.function == code.name}
        if tops.keys() != self.functions.keys():
            raise ParseError("the interface has other functions than the code at $.codes", kind=running.SAVED_FILE)
        for name, code in tops.items():
            params = self.functions[name].params
            if len(code.params) != len(params):
                raise ParseError(f"{name} has other parameters than its interface at $.codes", kind=running.SAVED_FILE)
            if untyped := [param.name for param in params if param not in self.module.types]:
                raise ParseError(
                    f"parameter {untyped[0]} of {name} has no type at $.interface", kind=running.SAVED_FILE
                )
            if code.captured:
                raise ParseError(
                    f"{name} captures values, and nobody makes a closure of it at $.codes", kind=running.SAVED_FILE
                )
        return tops

    def check_calls(self, name: str, function: Function) -> None:
        """See that the calls of operators have their attributes, and types of all or of nothing."""
        for call in function.body.fields if isinstance(function.body, Tuple) else ():
            op = relay_op(call.op.name) if isinstance(call, Call) and isinstance(call.op, Op) else None
            if op is None or not isinstance(call, Call):
                continue
            if not isinstance(call.attrs, op.attrs):
                raise ParseError(f"a call of {op.name} in {name} has the attributes of another operator")
            types = self.module.types
            if call in types and any(arg not in types for arg in call.args):
                raise ParseError(f"a call of {op.name} in {name} has a type, and its arguments have none")

    def fill(self, number: int) -> None:
        """Fill in the code of that number."""
        code, form = self.made[number], self.forms[number]
        found = self.functions.get(form.function)
        if found is None or not isinstance(found.body, Tuple):
            raise ParseError(
                f"the interface has no calls of {form.function!r:.40} at $.function", kind=running.SAVED_FILE
            )
        ahead = [form.params, form.captured, form.globals, form.tensors, form.constructors]
        # Each register is one of those, or the result of some instruction.
        if form.registers > sum(map(len, ahead)) + len(form.code):
            raise ParseError(
                f"{form.registers} registers are more than the code touches at $.registers", kind=running.SAVED_FILE
            )
        code.template = [None] * form.registers
        for at, place in form.tensors:
            code.template[check_below(at, form.registers, "a register")] = self.tensors[
                check_below(place, len(self.tensors), "a tensor")
            ]
        for at, *key in form.constructors:
            code.template[check_below(at, form.registers, "a register")] = self.constructor((key[0], key[1]))
        for at, name in form.globals:
            if name not in self.functions:
                raise ParseError(f"there is no function {name!r:.40} at $.globals", kind=running.SAVED_FILE)
            code.globals.append((check_below(at, form.registers, "a register"), name))
        code.params, code.captured, code.released = form.params, list(form.captured), list(form.released)
        calls = found.body.fields
        for position, one in enumerate(form.code):
            read = partial(self.instruction, number, position, calls)
            code.instructions.append(read_at(f"$.code[{position}]", read, one))
        _Walk(form).run()

    def instruction(self, number: int, position: int, calls: tuple[Expr, ...], form: f.Instruction) -> rc.Instruction:
        """Return the instruction at ``position`` of the code of that number."""
        match form:
            case f.CallOperator(target, op, args):
                return self.operator(calls[check_below(op, len(calls), "a call")], target, args)
            case f.CallFunction(target, callee, args, tail):
                return rc.CallFunction(target, callee, args, _CALL, tail)
            case f.MakeTuple(target, args):
                return rc.MakeTuple(target, args, _NODE)
            case f.Project(target, source, index):
                return rc.Project(target, source, index, TupleGetItem(_NODE, index))
            case f.MakeClosure(target, code, captured):
                return self.closure(number, target, code, captured)
            case f.MakeRef(target, source):
                return rc.MakeRef(target, source, RefCreate(_NODE))
            case f.ReadRef(target, source):
                return rc.ReadRef(target, source, RefRead(_NODE))
            case f.WriteRef(target, source, value):
                return rc.WriteRef(target, source, value, RefWrite(_NODE, _NODE))
            case f.Field(target, source, index):
                return rc.Field(target, source, index)
            case f.Move(target, source):
                return rc.Move(target, source, _NODE)
            case f.JumpUnless(source, to):
                return rc.JumpUnless(source, position + 1 + to)
            case f.JumpUnlessMade(source, key, to):
                return rc.JumpUnlessMade(source, self.constructor(key), position + 1 + to)
            case f.Jump(to):
                return rc.Jump(position + 1 + to)
            case f.Fail(source):
                return rc.Fail(source, Match(_NODE, ()))
            case f.Return(source):
                return rc.Return(source)

    def constructor(self, key: f.Key) -> Constructor:
        """Return the constructor of that name, and of the data type of that name."""
        if key not in self.constructors:
            raise ParseError(f"there is no constructor {key[1]!r:.40} of {key[0]!r:.40}", kind=running.SAVED_FILE)
        return self.constructors[key]

    def operator(self, call: Expr, target: int, args: tuple[int, ...]) -> rc.CallOperator:
        """Return the call of an operator of the interface on other arguments."""
        op = relay_op(call.op.name) if isinstance(call, Call) and isinstance(call.op, Op) else None
        if op is None or not isinstance(call, Call):
            raise ParseError("the interface names no operator there", kind=running.SAVED_FILE)
        if len(args) != len(call.args):
            raise ParseError(
                f"expected {len(call.args)} arguments of {op.name}, found {len(args)}", kind=running.SAVED_FILE
            )
        return rc.CallOperator(target, op, call.attrs, args, call)

    def closure(self, number: int, target: int, code: int, captured: tuple[int, ...]) -> rc.MakeClosure:
        """Return the instruction that makes a closure of the code of number ``code``."""
        # Inner functions come behind the outer one, so no code contains itself.
        if check_below(code, len(self.made), "a code") <= number:
            raise ParseError("a closure is made of a function outside", kind=running.SAVED_FILE)
        if len(captured) != len(self.forms[code].captured):
            raise ParseError(
                "a closure captures another number of values than its function takes", kind=running.SAVED_FILE
            )
        return rc.MakeClosure(target, self.made[code], captured, Function((), _NODE))


class _Walk:
    """One walk over a code: what its registers hold, instruction by instruction.

    Control only goes forwards.
    """

    def __init__(self, form: f.Code) -> None:
        self.form = form
        ahead = [*form.params, *form.captured, *(at for at, _ in form.globals)]
        ahead += [*(at for at, _ in form.tensors), *(at for at, _, _ in form.constructors)]
        # The registers that hold something; None where no control arrives.
        self.holds: set[int] | None = {check_below(at, form.registers, "a register") for at in ahead}
        self.arriving: dict[int, set[int]] = {}

    def run(self) -> None:
        """Raise ParseError for what no compiler writes."""
        form = self.form
        if not form.code or not isinstance(form.code[-1], (f.Return, f.Jump, f.Fail)):
            raise endless()
        if len(form.released) != len(form.code):
            raise ParseError(
                f"{len(form.released)} lists for {len(form.code)} instructions at $.released", kind=running.SAVED_FILE
            )
        for position, instruction in enumerate(form.code):
            arriving = self.arriving.pop(position, None)
            if arriving is not None:
                self.holds = arriving if self.holds is None else self.holds & arriving
            if self.holds is None:
                raise never_reached(position)
            read_at(f"$.code[{position}]", partial(self.step, position, self.holds), instruction)

    def step(self, position: int, holds: set[int], instruction: f.Instruction) -> None:
        """Note what one instruction reads and writes."""
        size = self.form.registers
        written: int = getattr(instruction, "target", -1)
        for register in _read(instruction):
            own = register == written and isinstance(instruction, f.MakeClosure)
            if check_below(register, size, "a register") not in holds and not own:
                raise not_written(register)
        released = {check_below(register, size, "a register") for register in self.form.released[position]}
        if isinstance(instruction, f.CallFunction):
            holds -= released
        if written >= 0:
            holds.add(check_below(written, size, "a register"))
        if isinstance(instruction, (f.Jump, f.JumpUnless, f.JumpUnlessMade)):
            to = (
                position
                + 1
                + check_below(instruction.to, len(self.form.code) - position - 1, "an instruction further on")
            )
            self.arriving[to] = self.arriving[to] & holds if to in self.arriving else set(holds)
        holds -= released - {written} if isinstance(instruction, f.CallFunction) else released
        if isinstance(instruction, (f.Jump, f.Return, f.Fail)):
            self.holds = None


def _read(instruction: f.Instruction) -> tuple[int, ...]:
    """Return the registers that an instruction reads."""
    match instruction:
        case f.CallOperator(args=args) | f.MakeTuple(args=args):
            return args
        case f.CallFunction(_, callee, args):
            return (callee, *args)
        case f.MakeClosure(captured=captured):
            return captured
        case f.WriteRef(_, source, value):
            return (source, value)
        case f.Jump():
            return ()
    return (instruction.source,)
