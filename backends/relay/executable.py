"""Relay modules as bytecode: what the executor ``vm`` runs, shows and keeps in files.

The code is that of ``relay_code.py``. In a file, instructions are lists ``[name, number, …]``; the
operators they call, the types of the parameters and the ADT definitions are a Relay JSON document
of their own, the *interface*: a module with the same functions, whose bodies are a tuple of all
operator calls of the function over variables of their own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, TypeAlias, Union

import numpy as np

from relay2relax.backends.relay import code as rc
from relay2relax.backends.relay.kernels import is_static
from relay2relax.backends.runtime.archive import read_archive, write_archive
from relay2relax.core.dtype import Array, of_array
from relay2relax.core.errors import ParseError, Relay2RelaxError
from relay2relax.ops.registry.table import relay_op
from relay2relax.ops.registry.types import Type
from relay2relax.relay_ir.ir.expr import Call, Constructor, Expr, Function, GlobalVar, Op, Tuple, Var
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import attr_operands, with_attr_operands
from relay2relax.relay_ir.json.reader import load_json
from relay2relax.relay_ir.json.writer import save_json

_FORMAT = "relay2relax relay vm"
_VERSION = 1
_KINDS: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        rc.CallOperator,
        rc.CallFunction,
        rc.MakeTuple,
        rc.Project,
        rc.MakeClosure,
        rc.MakeRef,
        rc.ReadRef,
        rc.WriteRef,
        rc.Field,
        rc.Move,
        rc.JumpUnless,
        rc.JumpUnlessMade,
        rc.Jump,
        rc.Fail,
        rc.Return,
    )
}
_NAMES = {
    "CallOperator": "call", "CallFunction": "invoke", "MakeTuple": "tuple", "Project": "item", "MakeClosure": "closure",
    "MakeRef": "ref", "ReadRef": "read", "WriteRef": "write", "Field": "field", "Move": "move", "JumpUnless": "unless",
    "JumpUnlessMade": "unless_made", "Jump": "jump", "Fail": "fail", "Return": "ret",
}  # fmt: skip
# What the instructions of a file belong to: nodes are not kept.
_NODE = Tuple(())
_Key: TypeAlias = tuple[str, str]
_Number: TypeAlias = Union[int, list[int], bool]


@dataclass(frozen=True, slots=True)
class RelayExecutable:
    """The code of every function of a module.

    ``module`` has the parameters, their types and the ADT definitions; for an executable made from
    a module it is that module, for one from a file the interface that was saved.
    """

    module: IRModule
    codes: Mapping[str, rc.Code]

    def as_text(self) -> str:
        """Return the instructions of every function, inner functions behind the outer ones."""
        return "\n".join(_listing(code) for code in self._all())

    def _all(self) -> list[rc.Code]:
        return [inner for code in self.codes.values() for inner in rc.with_inner(code)]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the executable into one file, whole or not at all.

        Nodes and places in the source are not kept.

        Raises FileError where the file cannot be written, UnsupportedError for attributes that JSON
        cannot express.
        """
        codes = self._all()
        numbers = {id(code): number for number, code in enumerate(codes)}
        tensors: dict[int, Array] = {}
        for value in (value for code in codes for value in code.template if isinstance(value, np.ndarray)):
            tensors.setdefault(id(value), value)
        places = {one: number for number, one in enumerate(tensors)}
        calls: dict[str, list[rc.CallOperator]] = {name: [] for name in self.codes}
        listed: list[dict[str, Any]] = []
        for name, top in self.codes.items():
            for code in rc.with_inner(top):
                written = [_written(one, at, numbers, calls[name]) for at, one in enumerate(code.instructions)]
                listed.append(
                    {
                        "name": code.name,
                        "function": name,
                        "params": list(code.params),
                        "captured": list(code.captured),
                        "globals": [list(one) for one in code.globals],
                        "registers": len(code.template),
                        "tensors": [
                            [at, places[id(value)]]
                            for at, value in enumerate(code.template)
                            if isinstance(value, np.ndarray)
                        ],
                        "constructors": [
                            [at, *_key(value)]
                            for at, value in enumerate(code.template)
                            if isinstance(value, Constructor)
                        ],
                        "code": written,
                        "released": [list(one) for one in code.released],
                    }
                )
        header = {"interface": save_json(self._interface(calls)), "codes": listed}
        write_archive(path, _FORMAT, _VERSION, header, list(tensors.values()))

    def _interface(self, calls: Mapping[str, Iterable[rc.CallOperator]]) -> IRModule:
        types: dict[Expr, Type] = {}
        functions: dict[GlobalVar, Function] = {}
        known = self.module.types
        for name, called in calls.items():
            bodies = []
            for one in called:
                args = tuple(Var(f"p{place}") for place in range(len(one.args)))
                attrs = with_attr_operands(one.attrs, attr_operands(one.expr), args)
                call = Call(one.expr.op, args, attrs)
                nodes: tuple[Expr, ...] = (call, *args)
                given = [known.get(arg) for arg in (one.expr, *one.expr.args)]
                if all(ty is not None and is_static(ty) for ty in given):
                    types.update((expr, ty) for expr, ty in zip(nodes, given, strict=True) if ty is not None)
                bodies.append(call)
            params = tuple(replace(param) for param in self.module[name].params)
            types.update(
                (new, known[old]) for new, old in zip(params, self.module[name].params, strict=True) if old in known
            )
            functions[GlobalVar(name)] = Function(params, Tuple(tuple(bodies)))
        return IRModule(functions, self.module.type_definitions, types=types)


def compile_executable(mod: IRModule) -> RelayExecutable:
    """Return ``mod``, which has its types, as bytecode.

    Raises UnsupportedError for what cannot be run.
    """
    return RelayExecutable(mod, {var.name: rc.compile_function(mod[var], var.name) for var in mod.functions})


def load_executable(path: str | os.PathLike[str]) -> RelayExecutable:
    """Return the executable that :meth:`RelayExecutable.save` wrote.

    Raises FileError where the file cannot be read, ParseError where it is damaged or of another
    version.
    """
    header, tensors = read_archive(path, _FORMAT, _VERSION)
    interface, listed = header.get("interface"), header.get("codes")
    if not isinstance(interface, str) or not isinstance(listed, list):
        raise ParseError(f"{path}: expected an interface and a list of codes")
    try:
        module = load_json(interface)
    except Relay2RelaxError as problem:
        raise ParseError(f"{path}: its interface cannot be read: {problem}") from problem
    try:
        return _Reader(module, listed, tensors).executable()
    except (LookupError, TypeError, ValueError, AttributeError) as problem:
        raise ParseError(f"{path}: its code is damaged: {problem}") from problem


class _Reader:
    """Code from the lists of a file; every number is checked before it is believed."""

    def __init__(self, module: IRModule, listed: list[Any], tensors: list[Array]) -> None:
        self.module = module
        self.listed = listed
        self.tensors = tensors
        self.constructors = {_key(c): c for data in module.type_definitions.values() for c in data.constructors}
        self.codes = [rc.Code(_text(one["name"])) for one in listed]
        self.functions = {var.name: function for var, function in module.functions.items()}

    def executable(self) -> RelayExecutable:
        for number, (code, one) in enumerate(zip(self.codes, self.listed, strict=True)):
            self.fill(number, code, one)
        tops = {
            code.name: code for code, one in zip(self.codes, self.listed, strict=True) if one["function"] == code.name
        }
        if tops.keys() != self.functions.keys():
            raise ValueError("the interface has other functions than the code")
        for name, code in tops.items():
            if len(code.params) != len(self.functions[name].params):
                raise ValueError(f"{name} has other parameters than its interface")
            for param in self.functions[name].params:
                if param not in self.module.types:
                    raise ValueError(f"parameter {param.name} of {name} has no type")
        return RelayExecutable(self.module, tops)

    def fill(self, number: int, code: rc.Code, one: Mapping[str, Any]) -> None:
        size = _below(one["registers"], 1 << 32)
        # A template is no larger than the code that made it.
        if size > sum(map(len, one["code"])) + len(one["params"]) + len(one["captured"]) + len(
            one["globals"]
        ) + 8 + len(one["tensors"]) + len(one["constructors"]):
            raise ValueError(f"{size} registers are more than the code of {code.name} touches")
        register = partial(_below, limit=size)
        code.template = [None] * size
        for at, place in one["tensors"]:
            code.template[register(at)] = self.tensors[_below(place, len(self.tensors))]
        for at, *key in one["constructors"]:
            code.template[register(at)] = self.constructors[tuple(key)]
        code.params = tuple(map(register, one["params"]))
        code.captured = list(map(register, one["captured"]))
        for at, name in one["globals"]:
            if name not in self.functions:
                raise ValueError(f"there is no function {name!r:.40}")
            code.globals.append((register(at), name))
        calls = self.functions[one["function"]].body
        if not isinstance(calls, Tuple):
            raise ValueError("a body of the interface is no tuple")
        length = len(one["code"])
        for position, words in enumerate(one["code"]):
            code.instructions.append(self.instruction(number, words, register, position, length, calls.fields))
        if not code.instructions or not isinstance(code.instructions[-1], (rc.Return, rc.Jump, rc.Fail)):
            raise ValueError(f"the code of {code.name} has no end")
        code.released = [tuple(map(register, registers)) for registers in one["released"]]
        if len(code.released) != length:
            raise ValueError(f"{len(code.released)} lists of released registers for {length} instructions")

    def instruction(
        self, number: int, words: list[Any], register: Any, position: int, length: int, calls: tuple[Expr, ...]
    ) -> rc.Instruction:
        kind = _KINDS[words[0]]
        given: dict[str, Any] = {}
        rest = iter(words[1:])
        for name in (field.name for field in fields(kind)):
            match name:
                case "target" | "source" | "callee" | "value":
                    given[name] = register(next(rest))
                case "args" | "captured":
                    given[name] = tuple(map(register, next(rest)))
                case "index":
                    given[name] = _below(next(rest), 1 << 31)
                case "to":
                    # Control only goes forwards.
                    given[name] = position + 1 + _below(next(rest), length - position - 1)
                case "tail":
                    given[name] = bool(next(rest))
                case "code":
                    # Inner functions come behind the outer one, so no code contains itself.
                    inner = _below(next(rest), len(self.codes))
                    if inner <= number:
                        raise ValueError("a closure is made of a function outside")
                    given[name] = self.codes[inner]
                case "constructor":
                    given[name] = self.constructors[tuple(next(rest))]
                case "op":
                    call = calls[_below(next(rest), len(calls))]
                    if not isinstance(call, Call) or not isinstance(call.op, Op) or relay_op(call.op.name) is None:
                        raise ValueError("the interface names no operator there")
                    given |= {"op": relay_op(call.op.name), "attrs": call.attrs, "expr": call}
                case "expr" if name not in given:
                    given[name] = _NODE
        if "captured" in given and len(given["captured"]) != len(self.listed[_index(words)]["captured"]):
            raise ValueError("a closure captures another number of values than its function takes")
        made: rc.Instruction = kind(**given)
        return made


def _index(words: list[Any]) -> int:
    return next(word for word in words[2:] if isinstance(word, int))


def _below(number: Any, limit: int) -> int:
    if type(number) is not int or not 0 <= number < limit:
        raise ValueError(f"expected a number below {limit}, found {number!r:.40}")
    return number


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a name, found {value!r:.40}")
    return value


def _key(constructor: Constructor) -> _Key:
    return (constructor.belong_to.name, constructor.name)


def _written(one: rc.Instruction, at: int, numbers: Mapping[int, int], calls: list[rc.CallOperator]) -> list[Any]:
    """Return an instruction as a list; operator calls are added to ``calls``."""
    words: list[Any] = [type(one).__name__]
    for name in (field.name for field in fields(one)):
        value = getattr(one, name)
        match name:
            case "op":
                words.append(len(calls))
                assert isinstance(one, rc.CallOperator)
                calls.append(one)
            case "code":
                words.append(numbers[id(value)])
            case "constructor":
                words.append(list(_key(value)))
            case "to":
                words.append(value - at - 1)
            case "expr" | "attrs":
                continue
            case _:
                words.append(list(value) if isinstance(value, tuple) else value)
    return words


def _listing(code: rc.Code) -> str:
    def value(at: int) -> str | None:
        found = code.template[at]
        if isinstance(found, np.ndarray):
            shape = ", ".join(map(str, found.shape))
            return f"const {of_array(found)}[{shape}]"
        return f"constructor {found.name}" if isinstance(found, Constructor) else None

    params = ", ".join(f"%{one}" for one in code.params)
    captured = f" captured: {', '.join(f'%{one}' for one in code.captured)}" if code.captured else ""
    lines = [f"@{code.name}({params}){captured}:"]
    lines += [f"  %{at} = {what}" for at in range(len(code.template)) if (what := value(at)) is not None]
    lines += [f"  %{at} = @{name}" for at, name in code.globals]
    lines += [f"  {at:>4}  {' '.join(_words(one, at))}" for at, one in enumerate(code.instructions)]
    return "\n".join(lines) + "\n"


def _words(one: rc.Instruction, at: int) -> Iterator[str]:
    yield f"{_NAMES[type(one).__name__]:<11}"
    for name in (field.name for field in fields(one)):
        value = getattr(one, name)
        match name:
            case "target":
                yield f"%{value} ="
            case "source" | "callee" | "value":
                yield f"%{value}"
            case "args" | "captured":
                yield f"({', '.join(f'%{each}' for each in value)})"
            case "op" | "constructor":
                yield value.name
            case "code":
                yield f"@{value.name}"
            case "index":
                yield f".{value}"
            case "to":
                yield f"-> {value}"
            case "tail" if value:
                yield "tail"
