"""Functions of users that rewrite Relax and fail: the error says which one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from relay2relax import relax_ir as rx
from relay2relax.core.errors.extensions import ExtensionError
from relay2relax.relax_ir import transform
from relay2relax.relax_ir.dpl import PatternContext, is_op, rewrite_bindings, rewrite_call, wildcard
from relay2relax.relay_ir import op, visualize
from relay2relax.relay_ir.build.build import var
from relay2relax.relay_ir.ir.module import IRModule

SCRIPT = """
from tvm.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        with R.dataflow():
            lv = R.exp(x)
            gv = R.nn.relu(lv)
            R.output(gv)
        return gv
"""


def raising(*given: object) -> Any:
    raise ValueError("of mine")


FAILING: dict[str, tuple[Callable[..., Any], str]] = {
    "raises": (raising, "raised ValueError: of mine"),
    "takes nothing": (lambda: None, "raised TypeError"),
    "number": (lambda *given: 5, "returned int, expected"),
}


@pytest.mark.parametrize("how", FAILING)
def test_failing_functions_are_named(how: str) -> None:
    function, message = FAILING[how]
    mod = rx.parse(SCRIPT)
    main: Any = mod["main"]
    with pytest.raises(ExtensionError, match=f"the rewriter of a pattern {message}"):
        rewrite_call(is_op("relax.nn.relu")(wildcard()), function, main)
    with PatternContext() as context:
        is_op("relax.nn.relu")(wildcard())
    with pytest.raises(ExtensionError, match=f"the rewriter of a context {message}"):
        rewrite_bindings(context, function, main)
    for decorate in (transform.function_pass, transform.dataflowblock_pass):
        with pytest.raises(ExtensionError, match=f"the pass mine {message}"):
            decorate(opt_level=0, name="mine")(function)(mod)
    x: Any = var("x", shape=(2,))
    plotter = visualize.DotPlotter(get_node_attr=function)
    with pytest.raises(ExtensionError, match=f"get_node_attr {message}"):
        visualize.RelayVisualizer(IRModule.from_expr(op.exp(x)), None, plotter, visualize.DotVizParser())
