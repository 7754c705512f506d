"""The standard library of Relay programs, itself in Relay text (``std/*.relay``), read when it is asked for.

    p = Prelude()
    xs = p.Cons(relay_ir.const(1), p.Nil())
    mod = p.mod.with_function(GlobalVar("main"), Function([], p.length(xs)))

The semantics are those of TVM's prelude; the text is our own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib import resources

from relay2relax.core.errors import Relay2RelaxError
from relay2relax.relay_ir.expr import Constructor, GlobalVar
from relay2relax.relay_ir.module import IRModule
from relay2relax.relay_ir.parser import VERSION, parse
from relay2relax.relay_ir.types import GlobalTypeVar

_PARTS = ("prelude", "nat", "gradient", "core")
_RANKS = range(1, 7)
_DTYPES = ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16")


def library_text(parts: Sequence[str] = ("prelude",), tensor_arrays: Sequence[str] = ()) -> str:
    """Return Relay text of the library, version line included; a program's definitions may follow it.

    ``parts`` are among ``prelude`` (lists, options, trees), ``nat`` and ``gradient`` (which need it for lists) and
    ``core``; ``tensor_arrays`` are the dtypes to define lists of tensors for. Raises Relay2RelaxError for others.
    """
    for part in parts:
        if part not in _PARTS:
            raise Relay2RelaxError(f"the library has no part {part!r}; it has: {', '.join(_PARTS)}")
    texts = [_read(part) for part in parts]
    for dtype in tensor_arrays:
        if dtype not in _DTYPES:
            raise Relay2RelaxError(f"tensor arrays hold {', '.join(_DTYPES)}, not {dtype!r}")
        texts.append(_read("tensor_array").replace("DTYPE", dtype))
        unstack = _read("tensor_array_unstack").replace("DTYPE", dtype)
        for rank in _RANKS:
            shape = ", ".join("?" * rank)
            texts.append(unstack.replace("RANK", str(rank)).replace("LESS", str(rank - 1)).replace("SHAPE", shape))
    return f'#[version = "{VERSION}"]\n' + "\n".join(texts)


def _read(part: str) -> str:
    return (resources.files("relay2relax.relay_ir") / "std" / f"{part}.relay").read_text(encoding="utf-8")


def _defined(mod: IRModule) -> set[str]:
    """Return the names of functions and types that a module defines."""
    return {var.name for var in mod.functions} | {header.name for header in mod.type_definitions}


class Prelude:
    """The library beside the functions of a module: ``mod`` has both, attributes are the library's names.

    ``p.length`` is a global function, ``p.Cons`` a constructor, ``p.List`` a type. Raises Relay2RelaxError where the
    module already defines one of these names.
    """

    def __init__(
        self,
        mod: IRModule | None = None,
        parts: Sequence[str] = ("prelude",),
        tensor_arrays: Sequence[str] = (),
    ) -> None:
        library = parse(library_text(parts, tensor_arrays), "<prelude>")
        given = mod if mod is not None else IRModule()
        both = _defined(library) & _defined(given)
        if both:
            raise Relay2RelaxError(f"the module already defines {', '.join(sorted(both))}")
        self.mod: IRModule = replace(
            given,
            functions={**library.functions, **given.functions},
            type_definitions={**library.type_definitions, **given.type_definitions},
            types={},
        )
        self._names: dict[str, GlobalVar | Constructor | GlobalTypeVar] = {
            **{var.name: var for var in library.functions},
            **{header.name: header for header in library.type_definitions},
            **{made.name: made for data in library.type_definitions.values() for made in data.constructors},
        }

    def __getattr__(self, name: str) -> GlobalVar | Constructor | GlobalTypeVar:
        if name.startswith("__") or name not in self._names:
            raise AttributeError(f"the library has no {name!r}")
        return self._names[name]

    def __dir__(self) -> list[str]:
        return sorted(self._names)
