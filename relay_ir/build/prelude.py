"""The standard library of Relay programs, itself in Relay text (``std/*.relay``), read when it is
asked for.

    p = Prelude()
    xs = p.Cons(relay_ir.const(1), p.Nil())
    mod = p.mod.with_function(GlobalVar("main"), Function([], p.length(xs)))

The semantics are those of TVM's prelude; the text is our own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib import resources
from typing import Optional, TypeAlias

from relay2relax.core.errors import Relay2RelaxError, mistake
from relay2relax.core.errors.table import translating
from relay2relax.relay_ir.ir.expr import Constructor, GlobalVar
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.types import GlobalTypeVar
from relay2relax.relay_ir.text.parser import VERSION, parse

_PARTS = ("prelude", "nat", "gradient", "core")
_RANKS = range(1, 7)
# Extents, None for one that is not known.
Shape: TypeAlias = tuple[Optional[int], ...]
# Lists of tensors are defined for these.
DTYPES = ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16")


def library_text(
    parts: Sequence[str] = ("prelude",),
    tensor_arrays: Sequence[str] = (),
    static_tensor_arrays: Sequence[tuple[str, Shape]] = (),
) -> str:
    """Return Relay text of the library, version line included.

    A program's definitions may follow it.

    ``parts`` are among ``prelude`` (lists, options, trees), ``nat`` and ``gradient`` (which need it
    for lists) and ``core``; ``tensor_arrays`` are the dtypes to define lists of tensors of any rank
    for, ``static_tensor_arrays`` the dtypes and shapes to define lists of equal tensors for (an
    extent that is not known is None). Raises Relay2RelaxError for others.
    """
    for part in parts:
        if part not in _PARTS:
            raise Relay2RelaxError(
                mistake(translating.CHOICE, what="part of the library", name=repr(part), known=", ".join(_PARTS))
            )
    texts = [_read(part) for part in parts]
    for dtype in tensor_arrays:
        _check_dtype(dtype)
        texts.append(_read("tensor_array").replace("DTYPE", dtype))
        unstack = _read("tensor_array_unstack").replace("DTYPE", dtype)
        for rank in _RANKS:
            extents = ", ".join("?" * rank)
            texts.append(unstack.replace("RANK", str(rank)).replace("LESS", str(rank - 1)).replace("SHAPE", extents))
    definitions: dict[str, str] = {}
    for dtype, shape in static_tensor_arrays:
        _check_dtype(dtype)
        definitions.update(_static_tensor_array(dtype, tuple(shape)))
    return f'#[version = "{VERSION}"]\n' + "\n".join([*texts, *definitions.values()])


def _check_dtype(dtype: str) -> None:
    if dtype not in DTYPES:
        raise Relay2RelaxError(
            mistake(translating.CHOICE, what="tensor array of", name=repr(dtype), known=", ".join(DTYPES))
        )


def _static_tensor_array(dtype: str, shape: Shape) -> dict[str, str]:
    """Return the types and functions of lists of tensors of one shape, by what tells them from
    those of others.
    """
    stacked: Shape = (None, *shape)
    part, opened = shape[1:], (None, *shape[1:])
    words = {"DTYPE": dtype, "NAME": _name(shape), "SHAPED": _shaped(shape, dtype), "STACKED": _name(stacked)}
    found: dict[str, str] = {}
    for one in (shape, stacked, *((part, opened) if shape else ())):
        name = f"{dtype}_{_name(one)}"
        found[f"type {name}"] = (
            f"type static_tensor_{name}_t {{ tensor_nil_{name}, tensor_constructor_{name}({_shaped(one, dtype)}) }}\n"
        )
    text = _read("static_tensor_array")
    if shape:
        text += _read("static_tensor_array_axis")
        words.update(PART=_name(part), OPEN=_name(opened))
    for word, meaning in words.items():
        text = text.replace(word, meaning)
    found[f"functions {dtype}_{_name(shape)}"] = text
    return found


def _name(shape: Shape) -> str:
    return "_".join("any" if extent is None else str(extent) for extent in shape) or "scalar"


def _shaped(shape: Shape, dtype: str) -> str:
    extents = ", ".join("?" if extent is None else str(extent) for extent in shape)
    return f"Tensor[({extents}), {dtype}]" if shape else dtype


def _read(part: str) -> str:
    return (resources.files("relay2relax.relay_ir.build") / "std" / f"{part}.relay").read_text(encoding="utf-8")


def _defined(mod: IRModule) -> set[str]:
    """Return the names of functions and types that a module defines."""
    functions = {var.name for var in (*mod.functions, *mod.opaque_functions)}
    return functions | {header.name for header in mod.type_definitions}


class Prelude:
    """The library beside the functions of a module: ``mod`` has both, attributes are the library's
    names.

    ``p.length`` is a global function, ``p.Cons`` a constructor, ``p.List`` a type. Raises
    Relay2RelaxError where the module already defines one of these names.
    """

    def __init__(
        self,
        mod: IRModule | None = None,
        parts: Sequence[str] = ("prelude",),
        tensor_arrays: Sequence[str] = (),
        static_tensor_arrays: Sequence[tuple[str, Shape]] = (),
    ) -> None:
        library = parse(library_text(parts, tensor_arrays, static_tensor_arrays), "<prelude>")
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
