"""Graphs of MSC's and programs of Relax and TensorIR as TVM prints them."""

from __future__ import annotations

from collections.abc import Callable

from relay2relax import script
from relay2relax.compat import version
from relay2relax.compat.vocabulary.teaching import Lesson, teach_more
from relay2relax.graph import to_text
from relay2relax.graph.model import MSCGraph
from relay2relax.relax_ir.ir.expr import Function
from relay2relax.relax_ir.ir.expr import IRModule as RelaxModule
from relay2relax.relax_ir.script.printer import print_function
from relay2relax.tir.ir.stmt import PrimFunc
from relay2relax.tir.script.printer import print_prim_func


def teach_printing() -> None:
    """Let graphs and modules of Relax be shown so while the facade is installed."""
    shown: dict[type, Callable[..., str]] = {
        MSCGraph: _graph, RelaxModule: _relax, Function: _function, PrimFunc: _prim_func,
    }  # fmt: skip
    teach_more(Lesson(cls, "__str__", show) for cls, show in shown.items())
    teach_more(Lesson(cls, "script", show) for cls, show in shown.items() if cls is not MSCGraph)
    teach_more(Lesson(cls, "show", lambda self, **options: print(self)) for cls in shown)


def __getattr__(name: str) -> object:
    """Return a name of ``tvm.script``, whose functions can be printed."""
    if name.startswith("__"):
        raise AttributeError(name)
    teach_printing()
    return getattr(script, name)


def _graph(graph: MSCGraph) -> str:
    return to_text(graph, msc="2023" if version.until("0.14") else True).rstrip("\n")


def _function(func: Function, **options: object) -> str:
    return print_function(func)


def _prim_func(func: PrimFunc, **options: object) -> str:
    return "\n".join(print_prim_func(func))


_script = RelaxModule.script


def _relax(mod: RelaxModule, dialect: str = "tvm", show_meta: bool = False, **options: object) -> str:
    return _script(mod, dialect, show_meta)
