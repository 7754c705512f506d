"""Live modules of an installed apache-tvm: ours become TVM's, and TVM's become ours.

    module = to_tvm(rx)             # a tvm.IRModule
    rx = from_tvm(module)

Both ways lead over TVMScript, which is the form that TVM keeps stable; the tensors of constants do not go through the
text on the way to TVM. TVM is imported when one of these is called, not before.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from relay2relax.core.dtype import of_array
from relay2relax.core.errors import Diagnostic, Relay2RelaxError
from relay2relax.core.tvm_installation import TvmError, require_tvm
from relay2relax.relax_ir.expr import Constant, IRModule
from relay2relax.relax_ir.printer import print_module
from relay2relax.relax_ir.script_dialect import dialect_of_version
from relay2relax.relax_ir.script_parser import parse


def to_tvm(mod: IRModule) -> Any:
    """Return ``mod`` as a ``tvm.IRModule``.

    The script is read by TVM's own parser; tensor constants do not go through the text. Raises TvmError where no
    usable apache-tvm is installed, or it refuses the script.
    """
    require_tvm()
    import tvm
    from tvm import relax
    from tvm.script import ir, tirx
    from tvm.script import relax as relax_script

    names: dict[str, Any] = {"I": ir, "R": relax_script, "T": tirx}
    given: dict[Constant, str] = {}

    def name_constant(constant: Constant) -> str | None:
        if constant.data.ndim == 0:
            return None
        if constant not in given:
            given[constant] = f"relay2relax_constant_{len(given)}"
            names[given[constant]] = relax.const(constant.data, of_array(constant.data))
        return given[constant]

    text = print_module(mod, dialect_of_version(tvm.__version__), name_constant)
    with tvm_errors("apache-tvm refuses the script"):
        return tvm.script.from_source(text, extra_vars=names)


def from_tvm(module: Any, check_well_formed: bool = True) -> IRModule:
    """Return a ``tvm.IRModule`` as a module of ours.

    Raises TvmError where no usable apache-tvm is installed or it cannot print the module, ParseError for what has no
    form here, and WellFormedError where ``check_well_formed`` is set and the module is not well formed.
    """
    require_tvm()
    with tvm_errors("apache-tvm cannot print the module"):
        text = module.script(show_meta=True)
    return parse(text, "<tvm>", check_well_formed=check_well_formed)


@contextmanager
def tvm_errors(title: str, kind: type[Relay2RelaxError] = TvmError) -> Iterator[None]:
    """Turn whatever TVM raises into ``kind``, with the last lines of TVM's text, where it says what is wrong."""
    try:
        yield
    except Exception as error:
        lines = [line.rstrip() for line in str(error).splitlines() if line.strip()]
        raise kind(Diagnostic(title, label=f"{type(error).__name__}: " + "\n  ".join(lines[-12:]))) from error
