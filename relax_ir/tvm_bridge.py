"""Live modules of an installed apache-tvm: ours become TVM's, and TVM's become ours.

    module = to_tvm(rx)             # a tvm.IRModule
    rx = from_tvm(module)

Both ways lead over TVMScript, which is the form that TVM keeps stable; the tensors of constants do
not go through the text but share their memory where DLPack lets them. TVM is imported when one of
these is called, not before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from relay2relax.core.dtype import Array
from relay2relax.core.errors import Diagnostic, Relay2RelaxError
from relay2relax.core.tvm_installation import TvmError, require_tvm
from relay2relax.core.words import Identifier, word
from relay2relax.relax_ir.ir.expr import Constant, IRModule
from relay2relax.relax_ir.script.parser import parse
from relay2relax.relax_ir.script.printer import print_module
from relay2relax.tir.script.dialect import dialect_of_version


def to_tvm(mod: IRModule) -> Any:
    """Return ``mod`` as a ``tvm.IRModule``.

    The script is read by TVM's own parser; tensor constants do not go through the text. Raises
    TvmError where no usable apache-tvm is installed, or it refuses the script.
    """
    require_tvm()
    import tvm
    from tvm import relax
    from tvm.script.parser import ir, tirx
    from tvm.script.parser import relax as relax_script

    names: dict[str, Any] = {"I": ir, "R": relax_script, "T": tirx}
    given: dict[Constant, Identifier] = {}

    def name_constant(constant: Constant) -> Identifier | None:
        if constant.data.ndim == 0:
            return None
        if constant not in given:
            given[constant] = word(f"relay2relax_constant_{len(given)}")
            names[given[constant]] = relax.const(_tensor(constant.data))
        return given[constant]

    text = print_module(mod, dialect_of_version(tvm.__version__), name_constant)
    with tvm_errors("apache-tvm refuses the script"):
        return tvm.script.from_source(text, extra_vars=names)


def from_tvm(module: object, check_well_formed: bool = True) -> IRModule:
    """Return a ``tvm.IRModule`` as a module of ours.

    Raises TvmError where no usable apache-tvm is installed or it cannot print the module,
    ParseError for what has no form here, and WellFormedError where ``check_well_formed`` is set and
    the module is not well formed.
    """
    require_tvm()
    import tvm

    if not isinstance(module, tvm.IRModule):
        raise TvmError(f"a module of apache-tvm was expected, a tvm.IRModule; this is a {type(module).__name__}")
    with tvm_errors("apache-tvm cannot print the module"):
        text = module.script(show_meta=False)
        # Texts of several lines stand in the table that is printed with show_meta=True, as do other
        # objects.
        constants = _constants(module, text) if len(_MENTION.findall(text)) == text.count("metadata[") else None
        if constants is None:
            text = module.script(show_meta=True)
    return parse(text, "<tvm>", constants, check_well_formed)


# How a text refers to constants that stand beside it; TVM 0.27 has another name for them.
_MENTION = re.compile(r'metadata\["(relax\.expr\.Constant|ir\.GenericConst)"\]\[(\d+)\]')
# Scalars of these dtypes stand in the text; those of bool do from some release on.
_WRITTEN_OUT = frozenset({"int8", "int16", "int32", "int64", "float16", "float32", "float64"})


def _constants(module: Any, text: str) -> dict[str, Any] | None:
    """Return the arrays that ``text`` refers to, as ``parse`` takes them, None where that is not
    certain.

    TVM numbers constants as it prints them: function by function as they are ordered there, binding
    by binding, and from left to right.
    """
    import tvm
    from tvm import relax

    mentions = list(dict.fromkeys(_MENTION.findall(text)))
    functions = [(var.name_hint, func) for var, func in module.functions.items() if isinstance(func, relax.Function)]
    constants: dict[Any, None] = {}
    # Since 0.27 class and field have other names.
    constant_class = type(relax.const(0))
    if mentions:
        for _, func in sorted(functions, key=lambda one: (one[0] == "main", one[0].encode())):
            relax.analysis.post_order_visit(
                func, lambda node: constants.setdefault(node) if isinstance(node, constant_class) else None
            )
    values = [constant.data if hasattr(constant, "data") else constant.value for constant in constants]
    tensors = [value for value in values if isinstance(value, tvm.runtime.Tensor)]
    named = [one for one in tensors if len(one.shape) or str(one.dtype) not in _WRITTEN_OUT]
    if len(named) > len(mentions):
        named = [one for one in named if len(one.shape) or str(one.dtype) != "bool"]
    keys = {key for key, _ in mentions}
    if len(named) != len(mentions) or len(keys) > 1 or [int(place) for _, place in mentions] != list(range(len(named))):
        return None
    return {"metadata": {key: [_array(one) for one in named] for key in keys}}


def _tensor(array: Array) -> Any:
    """Return ``array`` as a tensor of TVM, in the same memory where that is aligned as TVM's code
    wants it.
    """
    import tvm

    try:
        return tvm.runtime.from_dlpack(array)
    except (BufferError, RuntimeError, TypeError, ValueError):
        return tvm.runtime.tensor(array)


def _array(tensor: Any) -> Array:
    """Return a tensor of TVM as an array, in the same memory where numpy knows its dtype."""
    try:
        return np.from_dlpack(tensor)
    except (BufferError, RuntimeError, TypeError, ValueError):
        found: Array = tensor.numpy()
        return found


@contextmanager
def tvm_errors(title: str, kind: type[Relay2RelaxError] = TvmError) -> Iterator[None]:
    """Turn whatever TVM raises into ``kind``, with the last lines of TVM's text, where it says what
    is wrong.
    """
    try:
        yield
    except Exception as error:
        lines = [line.rstrip() for line in str(error).splitlines() if line.strip()]
        raise kind(Diagnostic(title, label=f"{type(error).__name__}: " + "\n  ".join(lines[-12:]))) from error
