"""Relay modules as bytecode: what the executor ``vm`` runs, shows and keeps in files.

The code is that of ``code.py``. In a file, instructions are lists ``[name, number, …]``; the
operators they call, the types of the parameters and the ADT definitions are a Relay JSON document
of their own, the *interface*: a module with the same functions, whose bodies are a tuple of all
operator calls of the function over variables of their own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace

import numpy as np

from relay2relax.backends.relay import code as rc
from relay2relax.backends.relay.file_reader import FORMAT, VERSION, read_codes
from relay2relax.backends.relay.kernels import is_static
from relay2relax.backends.runtime.archive import write_archive
from relay2relax.core.dtype import Array, of_array
from relay2relax.ops.registry.types import Type
from relay2relax.relay_ir.ir.expr import Call, Constructor, Expr, Function, GlobalVar, Tuple, Var
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import attr_operands, with_attr_operands
from relay2relax.relay_ir.json.writer import save_json

_NAMES = {
    "CallOperator": "call", "CallFunction": "invoke", "MakeTuple": "tuple", "Project": "item", "MakeClosure": "closure",
    "MakeRef": "ref", "ReadRef": "read", "WriteRef": "write", "Field": "field", "Move": "move", "JumpUnless": "unless",
    "JumpUnlessMade": "unless_made", "Jump": "jump", "Fail": "fail", "Return": "ret",
}  # fmt: skip


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

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the executable into one file, whole or not at all.

        A file that is no executable is written over only with ``force``. Nodes and places in the
        source are not kept.

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
        listed: list[dict[str, object]] = []
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
        write_archive(path, FORMAT, VERSION, header, list(tensors.values()), force)

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
    return RelayExecutable(*read_codes(path))


def _key(constructor: Constructor) -> tuple[str, str]:
    return (constructor.belong_to.name, constructor.name)


def _written(one: rc.Instruction, at: int, numbers: Mapping[int, int], calls: list[rc.CallOperator]) -> list[object]:
    """Return an instruction as a list; operator calls are added to ``calls``."""
    words: list[object] = [type(one).__name__]
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
