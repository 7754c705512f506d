"""Reading executables: what ``forms.py`` cannot say is checked here and in ``verify.py``.

Nothing of what is read is run. Kernels of target c are generated and compiled again, for the
processor that the file is read on.
"""

from __future__ import annotations

import os
from dataclasses import replace

from relay2relax.backends.runtime.archive import each_at, read_archive, read_at
from relay2relax.backends.runtime.code_checks import check_array_dtype, check_below
from relay2relax.backends.runtime.values import ShapeTuple
from relay2relax.backends.vm import bytecode as bc
from relay2relax.backends.vm import function_spec as spec
from relay2relax.backends.vm.builtins import BUILTINS, INVOKE_CLOSURE
from relay2relax.backends.vm.file import FORMAT, VERSION
from relay2relax.backends.vm.file import forms as f
from relay2relax.backends.vm.file.values import ValueReader
from relay2relax.backends.vm.file.verify import Verifier
from relay2relax.core.dtype import Array, of_array
from relay2relax.core.errors import LimitError, ParseError, Relay2RelaxError
from relay2relax.core.errors.table import running
from relay2relax.core.schema import read_value
from relay2relax.ops.registry.lower import lower_call
from relay2relax.ops.registry.types import TensorType, TupleType
from relay2relax.relax_ir.script.parser import parse
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import Buffer
from relay2relax.tir.ir.stmt import PrimFunc

# Dtypes of scalars that no array has, and the one that stands for any.
_NO_ARRAYS = ("handle", "void")


def read_program(path: str | os.PathLike[str]) -> bc.Program:
    """Return the program that ``write_program`` wrote.

    Raises FileError where the file cannot be read, ParseError with the place in its header where it
    is damaged or of another version.
    """
    header, tensors = read_archive(path, FORMAT, VERSION)
    form = read_value(header, f.Header, str(path))
    try:
        return _Reader(form, tensors).program()
    except ParseError as problem:
        raise ParseError(f"{path}: {problem.diagnostics[0].title}", kind=running.SAVED_FILE) from problem
    except RecursionError as problem:
        raise ParseError(f"the parts of {path} are nested too deeply", kind=running.SAVED_FILE) from problem


class _Reader:
    """A program from a header of the right form; every number is checked before it is believed."""

    def __init__(self, header: f.Header, tensors: list[Array]) -> None:
        self.header = header
        self.tensors = tensors
        self.names = [one.name for one in header.functions]
        self.values = read_at("$.variables", ValueReader, header.variables)
        self.weights: dict[Buffer, Array] = {}
        self.programs: dict[str, PrimFunc] = {}
        if header.script:
            module = read_at("$.script", parse, header.script)
            self.programs = {var.name: one for var, one in module.functions.items() if isinstance(one, PrimFunc)}

    def program(self) -> bc.Program:
        constants = tuple(each_at("$.constants", self.constant, self.header.constants))
        functions = tuple(each_at("$.functions", self.entry, self.header.functions))
        if len(set(self.names)) != len(self.names):
            raise ParseError("two functions of the table have one name at $.functions", kind=running.SAVED_FILE)
        verifier = Verifier(functions, constants)
        for number, function in enumerate(functions):
            if isinstance(function, bc.VMFunction):
                read_at(f"$.functions[{number}]", verifier.verify, function)
        return bc.Program(functions, constants, self.header.target, self.weights)

    def constant(self, constant: f.Constant) -> bc.Pooled:
        match constant:
            case f.PooledDType(name):
                return bc.DataType(name if name in _NO_ARRAYS else check_array_dtype(name))
            case f.PooledString(text):
                return text
            case f.PooledShape(extents):
                return ShapeTuple(extents)
            case f.PooledInteger(value):
                return value
            case f.PooledFloat(digits):
                number = self.values.value(f.Float(digits))
                assert isinstance(number, float)
                return number
            case f.PooledTensor(place):
                return self.tensors[check_below(place, len(self.tensors), "a tensor")]

    def entry(self, entry: f.Entry) -> bc.FunctionEntry:
        read = self.values
        match entry:
            case f.Builtin(name):
                if name not in BUILTINS and name != INVOKE_CLOSURE:
                    raise ParseError(f"there is no function {name!r:.60} of the machine", kind=running.SAVED_FILE)
                return bc.Builtin(name)
            case f.Packed(name):
                return bc.Packed(name)
            case f.OperatorCall(name, operator, extents):
                return bc.OperatorCall(name, *read.operator(operator), tuple(map(read.variable, extents)))
            case f.ShapeFunction(name, slots, results):
                places = {read.variable(number): slot for number, slot in slots}
                return bc.ShapeFunction(name, places, tuple((slot, read.expr(expr)) for slot, expr in results))
            case f.OperatorKernel():
                return bc.Kernel(entry.name, self.operator_kernel(entry))
            case f.ScriptKernel():
                return bc.Kernel(entry.name, self.script_kernel(entry))
            case f.Function():
                parameters = tuple(spec.Parameter(one.name, _form(one.form)) for one in entry.parameters)
                known = spec.FunctionSpec(parameters, _checks(entry.checks), _kernel(entry.kernel))
                code = tuple(each_at("$.code", self.instruction, entry.code))
                return bc.VMFunction(entry.name, known, code, entry.registers)

    def operator_kernel(self, entry: f.OperatorKernel) -> PrimFunc:
        op, attrs = self.values.operator(entry.operator)
        args = [self.values.type(one) for one in entry.args]
        try:
            out = op.infer(attrs, *args)
            if not isinstance(out, (TensorType, TupleType)):
                raise ParseError(f"the operator {op.name} returns no tensor", kind=running.SAVED_FILE)
            return lower_call(op, attrs, args, out, entry.name)
        except LimitError:
            raise
        except Relay2RelaxError as problem:
            raise ParseError(problem.diagnostics[0].title) from problem
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as problem:
            # Attributes of a file may be of any type; rules and definitions believe them.
            raise ParseError(
                f"{op.name} does not take these attributes and arguments: {problem}", kind=running.SAVED_FILE
            ) from problem

    def script_kernel(self, entry: f.ScriptKernel) -> PrimFunc:
        func = self.programs.get(entry.script)
        if func is None:
            raise ParseError(f"the script has no kernel {entry.script!r:.60}", kind=running.SAVED_FILE)
        weights = [self.tensors[check_below(place, len(self.tensors), "a tensor")] for place in entry.weights]
        for param, data in zip(func.params, weights, strict=False):
            buffer = func.buffer_map.get(param)
            extents = [static(extent) for extent in buffer.shape] if buffer is not None else None
            if buffer is None or extents != list(data.shape) or buffer.dtype != of_array(data):
                raise ParseError("a constant is not what the kernel's program reads", kind=running.SAVED_FILE)
            self.weights[buffer] = data
        if len(weights) > len(func.params):
            raise ParseError("there are more constants than the kernel's program reads", kind=running.SAVED_FILE)
        params = func.params[len(weights) :]
        buffers = {param: buffer for param, buffer in func.buffer_map.items() if param in params}
        outputs = check_below(entry.outputs, len(buffers) + 1, "a number of results")
        return replace(func, name=entry.function, params=params, buffer_map=buffers, num_outputs=outputs)

    def instruction(self, instruction: f.Instruction) -> bc.Instruction:
        match instruction:
            case f.Call(destination, function, args):
                target = check_below(function, len(self.names), "a function")
                return bc.Call(bc.Register(destination), target, tuple(map(self.argument, args)))
            case f.Ret(register):
                return bc.Ret(bc.Register(register))
            case f.Goto(offset):
                return bc.Goto(offset)
            case f.If(register, offset):
                return bc.If(bc.Register(register), offset)

    def argument(self, arg: f.Arg) -> bc.Arg:
        match arg:
            case f.Register(number):
                return bc.Register(number)
            case f.Immediate(value):
                return bc.Immediate(value)
            case f.ConstantRef(index):
                return bc.ConstantRef(check_below(index, len(self.header.constants), "a constant"))
            case f.FunctionRef(index):
                return bc.FunctionRef(check_below(index, len(self.names), "a function"), self.names[index])


def _form(form: f.ValueForm) -> spec.ValueForm:
    match form:
        case f.TensorForm(dtype):
            return spec.TensorForm(check_array_dtype(dtype) if dtype else "")
        case f.ShapeForm():
            return spec.ShapeForm()
        case f.TupleForm(fields):
            return spec.TupleForm(tuple(map(_form, fields)))
        case f.OtherForm():
            return spec.OtherForm()


def _checks(checks: f.Checks | None) -> spec.Checks | None:
    if checks is None:
        return None
    static_ones = tuple(
        spec.StaticTensor(one.parameter, one.shape, check_array_dtype(one.dtype)) for one in checks.static
    )
    return spec.Checks(checks.count, static_ones, checks.relations)


def _kernel(kernel: f.OnlyKernel | None) -> spec.OnlyKernel | None:
    return None if kernel is None else spec.OnlyKernel(kernel.function, kernel.order)
