"""``tvm.relay.backend.name_transforms``: names of generated code, as TVM writes them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from relay2relax.core.errors import Relay2RelaxError


def to_c_function_style(name: str) -> str:
    """Return ``TVM_some_name`` as ``TVMSomeName``; raises Relay2RelaxError without the prefix."""
    words = _prefixed(name, "Function")[3:].split("_")
    return "TVM" + "".join(re.sub("[^A-Za-z]", "", one).capitalize() for one in words)


def to_c_variable_style(name: str) -> str:
    """Return ``TVM_some_name`` as ``tvm_some_name``; raises Relay2RelaxError without the prefix."""
    return _prefixed(name, "Variable").lower()


def to_c_constant_style(name: str) -> str:
    """Return ``TVM_some_name`` as ``TVM_SOME_NAME``; raises Relay2RelaxError without the prefix."""
    return _prefixed(name, "Constant").upper()


def _prefixed(name: str, what: str) -> str:
    if not name:
        raise Relay2RelaxError(f"{what} name is empty")
    if not name.startswith("TVM"):
        raise Relay2RelaxError(f"{what} not TVM prefixed")
    return name


def prefix_name(names: str | Sequence[str]) -> str:
    """Return names behind ``TVM``; raises Relay2RelaxError where there are none, or empty ones."""
    return f"TVM_{_combined(names)}"


def prefix_generated_name(names: str | Sequence[str]) -> str:
    """Return names behind ``TVMGen``; raises Relay2RelaxError as :func:`prefix_name`."""
    return f"TVMGen_{_combined(names)}"


def _combined(names: str | Sequence[str]) -> str:
    if isinstance(names, str):
        return sanitize_name(names)
    if not names:
        raise Relay2RelaxError("Name segments empty")
    if not all(names):
        raise Relay2RelaxError("Name segment is empty")
    return "_".join(names)


def sanitize_name(name: str) -> str:
    """Return a name of letters and digits of ASCII, others as ``_``.

    Raises Relay2RelaxError for an empty name.
    """
    if not name:
        raise Relay2RelaxError("Name is empty")
    return re.sub("[^A-Za-z0-9]", "_", name)


def mangle_module_name(mod_name: str | None) -> str:
    """Return what names of a module's code begin with; raises ValueError for odd characters."""
    if mod_name and not mod_name.isascii():
        raise ValueError(f"{mod_name} contains invalid characters")
    return f"tvmgen_{mod_name}" if mod_name else "tvmgen"
