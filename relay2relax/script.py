"""TVMScript as Python decorators: ``@I.ir_module``, ``@R.function`` and ``@T.prim_func`` on live classes and functions.

    from __future__ import annotations
    from relay2relax.script import I, R, T

    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
            return R.nn.relu(x)

``Module`` is a :class:`relay2relax.relax_ir.IRModule`; a function alone becomes a relax_ir Function or a tir PrimFunc.
The source is found by ``inspect`` and read by ``relax_ir.parse``; the decorated code itself never runs. Numbers,
strings, lists and arrays of the surrounding Python code may be used by name. With
``from __future__ import annotations`` Python does not evaluate annotations; without it the names in them have to
exist.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

import numpy as np

from relay2relax import relax_ir
from relay2relax.core.errors import ParseError
from relay2relax.core.script_source import is_plain
from relay2relax.relax_ir.script_parser import parse
from relay2relax.tir.stmt import PrimFunc


class _Word:
    """A word of TVMScript as Python sees it in an annotation: it can be called, indexed and asked for words inside."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> _Word:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Word(f"{self._name}.{name}")

    def __call__(self, *_: Any, **__: Any) -> _Word:
        return self

    def __getitem__(self, _: Any) -> _Word:
        return self

    def __repr__(self) -> str:
        return self._name


class _Modules(_Word):
    """The namespace ``I``."""

    @staticmethod
    def ir_module(cls: type | None = None, **_: Any) -> Any:
        """Return the module that the decorated class describes; raises ParseError and WellFormedError."""
        return _read_module if cls is None else _read_module(cls)


class _Relax(_Word):
    """The namespace ``R``."""

    @staticmethod
    def function(func: FunctionType | None = None, **_: Any) -> Any:
        """Return the function that the decorated one describes; inside a module's class it waits for that."""
        return _read_function if func is None else _read_function(func)


class _Tensors(_Word):
    """The namespace ``T``."""

    @staticmethod
    def prim_func(func: FunctionType | None = None, **_: Any) -> Any:
        """Return the PrimFunc that the decorated function describes; inside a module's class it waits for that."""
        return _read_function if func is None else _read_function(func)


I = _Modules("I")  # noqa: E741
R = _Relax("R")
T = _Tensors("T")


def _read_module(cls: type) -> relax_ir.IRModule:
    functions = [value for value in vars(cls).values() if isinstance(value, FunctionType)]
    return _read(cls, functions)


def _read_function(func: FunctionType) -> relax_ir.Function | PrimFunc | FunctionType:
    owner, _, _ = func.__qualname__.rpartition(".")
    if owner and not owner.endswith("<locals>"):
        return func
    return _read(func, [func])[func.__name__]


def _read(item: type | Callable[..., Any], functions: list[FunctionType]) -> relax_ir.IRModule:
    try:
        lines, start = inspect.getsourcelines(item)
        name = inspect.getsourcefile(item) or "<script>"
    except (OSError, TypeError) as error:
        raise ParseError(f"the source of {item.__name__} cannot be found: {error}") from error
    # Empty lines before it give every place the line that it has in the file.
    return parse("\n" * (start - 1) + "".join(lines), name, constants=_values(functions))


def _values(functions: list[FunctionType]) -> dict[str, Any]:
    """Return the plain values and arrays that the functions can see around them.

    Those that stand in annotations alone are no part of a function's closure; they are looked up where it is decorated.
    """
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    found = _usable(frame.f_locals)
    for func in functions:
        cells = zip(func.__code__.co_freevars, func.__closure__ or (), strict=True)
        known = {**func.__globals__, **{name: cell.cell_contents for name, cell in cells if _is_filled(cell)}}
        found |= _usable(known)
    return found


def _usable(names: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in names.items()
        if not name.startswith("__") and (is_plain(value) or isinstance(value, (np.ndarray, np.generic)))
    }


def _is_filled(cell: Any) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


__all__ = ["I", "R", "T"]
