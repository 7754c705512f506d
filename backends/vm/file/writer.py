"""Writing executables.

The file is that of ``runtime/archive.py``: a header, whose form is in ``forms.py``, then the
constants. A kernel that is an operator's own definition is kept as the operator, any other one as
TensorIR in TVMScript. No machine code and no C is in a file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Literal

from relay2relax.backends.runtime.archive import write_archive
from relay2relax.backends.runtime.values import ShapeTuple
from relay2relax.backends.vm import bytecode as bc
from relay2relax.backends.vm import function_spec as spec
from relay2relax.backends.vm.file import FORMAT, VERSION
from relay2relax.backends.vm.file import forms as f
from relay2relax.backends.vm.file.values import ValueWriter
from relay2relax.core.dtype import Array
from relay2relax.core.errors import UnsupportedError
from relay2relax.core.schema import to_plain
from relay2relax.ops.registry.lower import Origin
from relay2relax.relax_ir.ir.expr import GlobalVar, IRModule
from relay2relax.relax_ir.script.printer import global_names, print_module
from relay2relax.tir.ir.expr import Buffer, Var
from relay2relax.tir.ir.stmt import PrimFunc
from relay2relax.tir.ir.visit import all_expressions, loads


def write_program(program: bc.Program, path: str | os.PathLike[str], force: bool = False) -> None:
    """Write a program of target numpy or c, whole or not at all.

    Raises FileError where the file cannot be written, or would be written over another file without
    ``force``, UnsupportedError for what has no form in a file.
    """
    writer = _Writer(program)
    constants = tuple(writer.constant(one) for one in program.constants)
    functions = tuple(writer.entry(one) for one in program.functions)
    target: Literal["numpy", "c"] = "c" if program.target == "c" else "numpy"
    header = f.Header(target, functions, constants, writer.script, writer.values.table())
    write_archive(path, FORMAT, VERSION, to_plain(header), writer.tensors, force)


class _Writer:
    """Entries and constants as forms; ``tensors`` and ``script`` are what they refer to."""

    def __init__(self, program: bc.Program) -> None:
        self.values = ValueWriter()
        self.tensors: list[Array] = []
        self._operators: dict[str, f.OperatorKernel] = {}
        self._weights: dict[str, tuple[int, ...]] = {}
        scripts: dict[GlobalVar, PrimFunc] = {}
        for entry in program.functions:
            if isinstance(entry, bc.Kernel) and not self._is_operator(entry):
                scripts[GlobalVar(entry.func.name)] = self._with_weights(entry, program.weights)
        module = IRModule(scripts)
        self._names = {var.name: name for var, name in global_names(module).items()}
        self.script = print_module(module) if scripts else ""

    def entry(self, entry: bc.FunctionEntry) -> f.Entry:
        """Return an entry of the function table."""
        match entry:
            case bc.VMFunction():
                return self._function(entry)
            case bc.Builtin(name):
                return f.Builtin(name)
            case bc.Packed(name):
                return f.Packed(name)
            case bc.OperatorCall(name, op, attrs, extents):
                variables = tuple(self.values.variable(var) for var in extents)
                return f.OperatorCall(name, self.values.operator(op, attrs), variables)
            case bc.ShapeFunction(name, slots, results):
                places = tuple((self.values.variable(var), slot) for var, slot in slots.items())
                return f.ShapeFunction(name, places, tuple((slot, self.values.expr(expr)) for slot, expr in results))
            case bc.Kernel(name, func):
                if name in self._operators:
                    return self._operators[name]
                script = self._names[func.name]
                return f.ScriptKernel(name, script, func.name, self._weights[name], func.num_outputs)

    def constant(self, value: bc.Pooled) -> f.Constant:
        """Return an entry of the constant pool; tensors go to ``tensors``."""
        match value:
            case bc.DataType():
                return f.PooledDType(str(value))
            case str():
                return f.PooledString(value)
            case ShapeTuple():
                return f.PooledShape(tuple(value))
            case bool() | int():
                return f.PooledInteger(int(value))
            case float():
                return f.PooledFloat(value.hex())
        self.tensors.append(value)
        return f.PooledTensor(len(self.tensors) - 1)

    def _is_operator(self, kernel: bc.Kernel) -> bool:
        """Whether a kernel is kept as the operator that it was made from."""
        origin = kernel.func.origin
        if not isinstance(origin, Origin):
            return False
        try:
            operator = self.values.operator(origin.op, origin.attrs)
            args = tuple(self.values.type(arg) for arg in origin.args)
        except UnsupportedError:
            return False
        self._operators[kernel.name] = f.OperatorKernel(kernel.name, operator, args)
        return True

    def _with_weights(self, kernel: bc.Kernel, weights: Mapping[Buffer, Array]) -> PrimFunc:
        """Return a program whose constants are its first parameters; they go to ``tensors``."""
        func = kernel.func
        used = dict.fromkeys(load.buffer for expr in all_expressions(func.body) for load in loads(expr))
        own = [buffer for buffer in used if buffer in weights]
        handles = {Var(f"{buffer.name}_handle", "handle"): buffer for buffer in own}
        self._weights[kernel.name] = tuple(range(len(self.tensors), len(self.tensors) + len(own)))
        self.tensors += [weights[buffer] for buffer in own]
        return func.with_params((*handles, *func.params), {**handles, **func.buffer_map})

    def _function(self, function: bc.VMFunction) -> f.Function:
        known = function.spec
        parameters = tuple(f.Parameter(one.name, _form(one.form)) for one in known.parameters)
        checks, kernel = None, None
        if known.checks is not None:
            static = tuple(f.StaticTensor(one.parameter, one.shape, one.dtype) for one in known.checks.static)
            checks = f.Checks(known.checks.count, static, known.checks.relations)
        if known.kernel is not None:
            kernel = f.OnlyKernel(known.kernel.function, known.kernel.order)
        code = tuple(map(_instruction, function.code))
        return f.Function(function.name, parameters, checks, kernel, function.registers, code)


def _form(form: spec.ValueForm) -> f.ValueForm:
    match form:
        case spec.TensorForm(dtype):
            return f.TensorForm(dtype)
        case spec.ShapeForm():
            return f.ShapeForm()
        case spec.TupleForm(fields):
            return f.TupleForm(tuple(map(_form, fields)))
        case spec.OtherForm():
            return f.OtherForm()


def _instruction(instruction: bc.Instruction) -> f.Instruction:
    match instruction:
        case bc.Call(destination, function, args):
            return f.Call(destination.number, function, tuple(map(_argument, args)))
        case bc.Ret(register):
            return f.Ret(register.number)
        case bc.Goto(offset):
            return f.Goto(offset)
        case bc.If(condition, offset):
            return f.If(condition.number, offset)


def _argument(arg: bc.Arg) -> f.Arg:
    match arg:
        case bc.Register(number):
            return f.Register(number)
        case bc.Immediate(value):
            return f.Immediate(value)
        case bc.ConstantRef(index):
            return f.ConstantRef(index)
        case bc.FunctionRef(index, _):
            return f.FunctionRef(index)
