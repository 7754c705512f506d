"""Executables of the Relax machine in files.

The format is that of ``archive.py``: a header with the instructions and the kernels, then the
constants. A kernel that is an operator's own definition is kept as the operator, any other one as
TensorIR in TVMScript. No machine code and no C is in a file: an executable of target c is generated
and compiled again when it is loaded, for the processor that it is loaded on, or found in the cache
of compiled objects. Loading runs nothing of what is read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from relay2relax.backends.runtime.archive import read_archive, write_archive
from relay2relax.backends.runtime.values import ShapeTuple
from relay2relax.backends.vm import bytecode as bc
from relay2relax.backends.vm.builtins import BUILTINS, INVOKE_CLOSURE
from relay2relax.backends.vm.value_codec import Reader, Writer
from relay2relax.core.dtype import Array, of_array
from relay2relax.core.errors import ParseError, Relay2RelaxError, UnsupportedError
from relay2relax.ops.registry.lower import Origin, lower_call
from relay2relax.ops.registry.types import TensorType, TupleType
from relay2relax.relax_ir.ir.expr import GlobalVar, IRModule
from relay2relax.relax_ir.script.parser import parse
from relay2relax.relax_ir.script.printer import global_names, print_module
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import Buffer, Var
from relay2relax.tir.ir.stmt import PrimFunc
from relay2relax.tir.ir.visit import all_expressions, loads

_FORMAT = "relay2relax relax vm"
_VERSION = 1


def write_program(program: bc.Program, path: str | os.PathLike[str]) -> None:
    """Write a program of target numpy or c, whole or not at all.

    Raises FileError where the file cannot be written, UnsupportedError for what has no form in a
    file.
    """
    writer = Writer()
    tensors: list[Array] = []
    scripts: dict[GlobalVar, PrimFunc] = {}
    functions = [_entry(one, writer, program.weights, tensors, scripts) for one in program.functions]
    module = IRModule(scripts)
    names = {var.name: name for var, name in global_names(module).items()}
    for one in functions:
        if "script" in one:
            one["script"] = names[one["script"]]
    header = {
        "target": program.target,
        "functions": functions,
        "constants": [_pooled(one, tensors) for one in program.constants],
        "script": print_module(module) if scripts else "",
        "variables": writer.table(),
    }
    write_archive(path, _FORMAT, _VERSION, header, tensors)


def read_program(path: str | os.PathLike[str]) -> bc.Program:
    """Return the program that :func:`write_program` wrote.

    Raises FileError where the file cannot be read, ParseError where it is damaged or of another
    version.
    """
    header, tensors = read_archive(path, _FORMAT, _VERSION)
    try:
        return _Loader(header, tensors).program()
    except ParseError as problem:
        raise ParseError(f"{path}: {problem.diagnostics[0].title}") from problem
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as problem:
        raise ParseError(f"{path} is damaged: {type(problem).__name__}: {problem}") from problem


# Writing


def _entry(
    entry: bc.FunctionEntry,
    writer: Writer,
    weights: Mapping[Buffer, Array],
    tensors: list[Array],
    scripts: dict[GlobalVar, PrimFunc],
) -> dict[str, Any]:
    match entry:
        case bc.VMFunction(name, params, code, registers):
            written = [_instruction(one) for one in code]
            return {"kind": "function", "name": name, "params": params, "registers": registers, "code": written}
        case bc.Builtin(name):
            return {"kind": "builtin", "name": name}
        case bc.Packed(name):
            return {"kind": "packed", "name": name}
        case bc.OperatorCall(name, op, attrs, extents):
            what = {"operator": writer.operator(op, attrs), "extents": [writer.expr(var) for var in extents]}
            return {"kind": "operator", "name": name, **what}
        case bc.ShapeFunction(name, slots, results):
            where = [[writer.expr(var), slot] for var, slot in slots.items()]
            computed = [[slot, writer.expr(expr)] for slot, expr in results]
            return {"kind": "shapes", "name": name, "slots": where, "results": computed}
        case bc.Kernel(name, func):
            return {"kind": "kernel", "name": name, **_kernel(func, writer, weights, tensors, scripts)}


def _kernel(
    func: PrimFunc,
    writer: Writer,
    weights: Mapping[Buffer, Array],
    tensors: list[Array],
    scripts: dict[GlobalVar, PrimFunc],
) -> dict[str, Any]:
    operator = _operator(func.origin, writer) if isinstance(func.origin, Origin) else None
    if operator is not None:
        return operator
    used = dict.fromkeys(load.buffer for expr in all_expressions(func.body) for load in loads(expr))
    own = [buffer for buffer in used if buffer in weights]
    handles = {Var(f"{buffer.name}_handle", "handle"): buffer for buffer in own}
    scripts[GlobalVar(func.name)] = func.with_params((*handles, *func.params), {**handles, **func.buffer_map})
    places = []
    for buffer in own:
        places.append(len(tensors))
        tensors.append(weights[buffer])
    return {"script": func.name, "function": func.name, "weights": places, "outputs": func.num_outputs}


def _operator(origin: Origin, writer: Writer) -> dict[str, Any] | None:
    """Return the operator that a kernel was made from, None for one that is kept as the program
    that it is.
    """
    try:
        operator = writer.operator(origin.op, origin.attrs)
        return {"operator": operator, "args": [writer.type(arg) for arg in origin.args]}
    except UnsupportedError:
        return None


def _instruction(instruction: bc.Instruction) -> list[Any]:
    match instruction:
        case bc.Call(destination, function, args):
            return ["call", destination.number, function, [_argument(arg) for arg in args]]
        case bc.Ret(register):
            return ["ret", register.number]
        case bc.Goto(offset):
            return ["goto", offset]
        case bc.If(condition, offset):
            return ["if", condition.number, offset]


def _argument(arg: bc.Arg) -> list[Any]:
    match arg:
        case bc.Register(number):
            return ["r", number]
        case bc.Immediate(value):
            return ["i", value]
        case bc.ConstantRef(index):
            return ["c", index]
        case bc.FunctionRef(index, _):
            return ["f", index]


def _pooled(value: bc.Pooled, tensors: list[Array]) -> list[Any]:
    match value:
        case bc.DataType():
            return ["dtype", str(value)]
        case str():
            return ["string", value]
        case ShapeTuple():
            return ["shape", list(value)]
        case bool() | int():
            return ["int", int(value)]
        case float():
            return ["float", value.hex()]
    tensors.append(value)
    return ["tensor", len(tensors) - 1]


# Reading


class _Loader:
    """A program from a header; every number is checked before it is believed."""

    def __init__(self, header: Mapping[str, Any], tensors: list[Array]) -> None:
        self.header = header
        self.tensors = tensors
        self.reader = Reader(header["variables"])
        self.weights: dict[Buffer, Array] = {}
        script = header["script"]
        self.kernels: dict[str, PrimFunc] = {}
        if script:
            module = parse(_text(script), "the kernels")
            self.kernels = {var.name: f for var, f in module.functions.items() if isinstance(f, PrimFunc)}

    def program(self) -> bc.Program:
        target = self.header["target"]
        if target not in ("numpy", "c"):
            raise ParseError(f"expected an executable of target numpy or c, found {target!r:.40}")
        names = [_text(one["name"]) for one in self.header["functions"]]
        constants = tuple(self.constant(one) for one in self.header["constants"])
        functions = tuple(self.entry(one, names, len(constants)) for one in self.header["functions"])
        return bc.Program(functions, constants, target, self.weights)

    def constant(self, constant: Any) -> bc.Pooled:
        match constant:
            case ["dtype", str(name)]:
                return bc.DataType(name)
            case ["string", str(text)]:
                return text
            case ["shape", list(extents)]:
                return ShapeTuple(_below(one, 1 << 63) for one in extents)
            case ["int", int(value)]:
                return value
            case ["float", str(value)]:
                return float.fromhex(value)
            case ["tensor", place]:
                return self.tensors[_below(place, len(self.tensors))]
        raise ParseError(f"expected a constant, found {constant!r:.60}")

    def entry(self, entry: Mapping[str, Any], names: list[str], constants: int) -> bc.FunctionEntry:
        name, read = _text(entry["name"]), self.reader
        match entry["kind"]:
            case "builtin" if name in BUILTINS or name == INVOKE_CLOSURE:
                return bc.Builtin(name)
            case "packed":
                return bc.Packed(name)
            case "operator":
                op, attrs = read.operator(entry["operator"])
                return bc.OperatorCall(name, op, attrs, tuple(self.variable(one) for one in entry["extents"]))
            case "shapes":
                slots = {self.variable(one): _below(slot, 1 << 31) for one, slot in entry["slots"]}
                results = tuple((_below(slot, 1 << 31), read.expr(expr)) for slot, expr in entry["results"])
                return bc.ShapeFunction(name, slots, results)
            case "kernel":
                return bc.Kernel(name, self.kernel(name, entry))
            case "function":
                params = tuple(_text(one) for one in entry["params"])
                code = tuple(self.code(entry, names, constants))
                return bc.VMFunction(name, params, code, entry["registers"])
        raise ParseError(f"expected a function, found {name!r:.60} of kind {entry['kind']!r:.40}")

    def variable(self, expr: Any) -> Var:
        found = self.reader.expr(expr)
        if not isinstance(found, Var):
            raise ParseError(f"expected a variable, found {expr!r:.60}")
        return found

    def kernel(self, name: str, entry: Mapping[str, Any]) -> PrimFunc:
        if "operator" in entry:
            op, attrs = self.reader.operator(entry["operator"])
            args = [self.reader.type(one) for one in entry["args"]]
            try:
                out = op.infer(attrs, *args)
                if not isinstance(out, (TensorType, TupleType)):
                    raise ParseError(f"the operator of kernel {name!r:.60} returns no tensor")
                return lower_call(op, attrs, args, out, name)
            except Relay2RelaxError as problem:
                raise ParseError(f"kernel {name!r:.60}: {problem.diagnostics[0].title}") from problem
        func = self.kernels[entry["script"]]
        weights = [self.tensors[_below(place, len(self.tensors))] for place in entry["weights"]]
        for param, data in zip(func.params, weights, strict=False):
            buffer = func.buffer_map[param]
            if [static(extent) for extent in buffer.shape] != list(data.shape) or buffer.dtype != of_array(data):
                raise ParseError(f"a constant of kernel {name!r:.60} is not what its program reads")
            self.weights[buffer] = data
        params = func.params[len(weights) :]
        buffers = {param: buffer for param, buffer in func.buffer_map.items() if param in params}
        outputs = _below(entry["outputs"], len(buffers) + 1)
        return replace(func, name=_text(entry["function"]), params=params, buffer_map=buffers, num_outputs=outputs)

    def code(self, entry: Mapping[str, Any], names: list[str], constants: int) -> Iterator[bc.Instruction]:
        size = _below(entry["registers"], 1 << 31)
        # Each register is a parameter, or the result of some instruction.
        if not len(entry["params"]) <= size <= len(entry["params"]) + len(entry["code"]):
            raise ParseError(f"{size} registers are not what the code of {entry['name']!r:.60} needs")
        length = len(entry["code"])

        def register(number: Any) -> bc.Register:
            if type(number) is not int or not -2 <= number < size:
                raise ParseError(f"expected a register below {size}, found {number!r:.40}")
            return bc.Register(number)

        def argument(arg: Any) -> bc.Arg:
            match arg:
                case ["r", number]:
                    return register(number)
                case ["i", int(value)]:
                    return bc.Immediate(value)
                case ["c", index]:
                    return bc.ConstantRef(_below(index, constants))
                case ["f", index]:
                    return bc.FunctionRef(_below(index, len(names)), names[index])
            raise ParseError(f"expected an argument, found {arg!r:.60}")

        for position, words in enumerate(entry["code"]):
            match words:
                case ["call", destination, function, list(args)]:
                    target = _below(function, len(names))
                    yield bc.Call(register(destination), target, tuple(map(argument, args)))
                case ["ret", number]:
                    yield bc.Ret(register(number))
                case ["goto", offset]:
                    # Control only goes forwards.
                    yield bc.Goto(1 + _below(_int(offset) - 1, length - position - 1))
                case ["if", number, offset]:
                    yield bc.If(register(number), 1 + _below(_int(offset) - 1, length - position - 1))
                case _:
                    raise ParseError(f"expected an instruction, found {words!r:.60}")
        if not length or entry["code"][-1][0] != "ret":
            raise ParseError(f"the code of {entry['name']!r:.60} has no end")


def _below(number: Any, limit: int) -> int:
    if type(number) is not int or not 0 <= number < limit:
        raise ParseError(f"expected a number below {limit}, found {number!r:.40}")
    return number


def _int(value: Any) -> int:
    if type(value) is not int:
        raise ParseError(f"expected a number, found {value!r:.40}")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ParseError(f"expected a name, found {value!r:.40}")
    return value
