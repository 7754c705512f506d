"""The registry of functions, and small things that stand in ``tvm`` itself."""

from __future__ import annotations

from collections.abc import Callable

from relay2relax.backends import register_func as lend
from relay2relax.compat import version
from relay2relax.compat.running.results import legacy
from relay2relax.compat.vocabulary.teaching import face

_functions: dict[str, Callable[..., object]] = {}
DataType = str
String = str
Object = face("Object", object)


def register_func(
    func_name: object, f: Callable[..., object] | None = None, override: bool = False
) -> Callable[..., object]:
    """Register a function under a name, its own by default; without ``f`` return a decorator.

    Raises ValueError where the name is taken, unless ``override``.
    """
    if callable(func_name):
        return register_func(getattr(func_name, "__name__", ""), func_name, override)
    name = str(func_name)

    def register(function: Callable[..., object]) -> Callable[..., object]:
        if name in _functions and not override:
            raise ValueError(f"Global PackedFunc {name} is already registered")
        _functions[name] = function
        lend(name, override=True)(lambda *args: function(*map(legacy, args)))
        return function

    return register if f is None else register(f)


def get_global_func(name: str, allow_missing: bool = False) -> Callable[..., object] | None:
    """Return a function that scripts registered, or one of the few of TVM's that are here.

    Raises ValueError where there is none.
    """
    if name == "relay.transform.RecoverVirtualDeviceMap":
        from relay2relax.relay_ir.analysis import virtual_devices

        return lambda mod, expr: virtual_devices(expr)
    if name not in _functions and not allow_missing:
        raise ValueError(f"Cannot find global function {name}")
    return _functions.get(name)


def _unchanged(type_key: object = None, *_: object) -> object:
    """Return a class as it is, or a decorator that does."""
    return type_key if isinstance(type_key, type) else lambda cls: cls


register_object = register_extension = _unchanged


def convert(value: object, span: object = None) -> object:
    """Return what TVM makes of a value: sequences as tuples."""
    return tuple(map(convert, value)) if isinstance(value, (list, tuple)) else value


class Compiler:
    """What keeps lowered functions in TVM; here nothing is kept."""

    def clear(self) -> None:
        """Do nothing."""


def te_compiler() -> Compiler:
    """Return the compiler of operators."""
    return Compiler()


def py_str(value: bytes | str) -> str:
    """Return bytes as text."""
    return value.decode() if isinstance(value, bytes) else value


def __getattr__(name: str) -> object:
    if name == "tvm_version":
        return version.text()
    raise AttributeError(name)


def libinfo() -> dict[str, str]:
    """Return the options that a TVM was built with: none of them is on."""
    return {}
