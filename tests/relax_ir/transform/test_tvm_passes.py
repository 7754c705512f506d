"""What apache-tvm prints after each pass of its lowering is read, and apache-tvm reads our print as
the same program.

Operators are legalised, scheduled for CPUs and (without needing one) GPUs, and lowered until code
is generated.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext, suppress
from typing import Any

import pytest
from sweep import FULL

from relay2relax import relax_ir as rx

pytestmark = pytest.mark.tvm
TARGETS = {"cpu": "llvm", "gpu": "nvidia/geforce-rtx-3090"}
CASES = ("matmul", "softmax", "conv2d", "layer_norm", "max_pool2d", "sum", "argmax", "transpose", "concat")
EVERY = [(name, kind) for name in CASES for kind in TARGETS]
# Programs that speak of functions beside them cannot be read alone, by TVM neither.
BESIDE = ("ConvertSSA", "SplitHostDevice")


def operators() -> dict[str, tuple[list[tuple[Any, ...]], Any]]:
    from tvm import relax, tirx

    op, n = relax.op, tirx.Var("n", "int64")
    return {
        "matmul": ([(n, 16), (16, 32)], op.matmul),
        "softmax": ([(4, 32)], op.nn.softmax),
        "conv2d": ([(1, 4, 8, 8), (8, 4, 3, 3)], lambda x, w: op.nn.conv2d(x, w, padding=1)),
        "layer_norm": ([(4, 32), (32,), (32,)], lambda x, a, b: op.nn.layer_norm(x, a, b, axes=[-1])),
        "max_pool2d": ([(1, 4, 8, 8)], lambda x: op.nn.max_pool2d(x, (2, 2), (2, 2))),
        "sum": ([(8, 64)], lambda x: op.sum(x, axis=1)),
        "argmax": ([(8, 64)], lambda x: op.argmax(x, axis=1)),
        "transpose": ([(16, 8)], op.permute_dims),
        "concat": ([(4, 8), (4, 8)], lambda x, y: op.concat([x, y], axis=0)),
    }


def printed_after_passes(name: str, kind: str) -> Iterator[tuple[str, Any]]:
    """Yield (pass, PrimFunc) for every program that differs from those before it."""
    import tvm
    from tvm import relax, tirx
    from tvm.s_tir import dlight

    shapes, make = operators()[name]
    builder = relax.BlockBuilder()
    params = [relax.Var(f"x{i}", relax.TensorType(shape, "float32")) for i, shape in enumerate(shapes)]
    with builder.function("main", params):
        with builder.dataflow():
            result = builder.emit_output(builder.emit(make(*params)))
        builder.emit_func_output(result)
    found: dict[str, tuple[str, Any]] = {}

    @tvm.ir.instrument.pass_instrument
    class Keep:
        def run_after_pass(self, module: Any, info: Any) -> None:
            for func in module.functions.values():
                if isinstance(func, tirx.PrimFunc):
                    found.setdefault(func.script(), (info.name.split(".")[-1], func))

    target = tvm.target.Target(TARGETS[kind])
    with target, tvm.transform.PassContext(instruments=[Keep()]):
        lowered = relax.transform.LegalizeOps()(builder.get())
        kernels = {v: f for v, f in lowered.functions.items() if isinstance(f, tirx.PrimFunc)}
        module = tvm.IRModule({v: f.with_attr("global_symbol", v.name_hint) for v, f in kernels.items()})
        if kind == "gpu":
            rules = (dlight.gpu.Matmul(), dlight.gpu.GeneralReduction(), dlight.gpu.Fallback())
            module = dlight.ApplyDefaultSchedule(*rules)(module)
        # Code for GPUs needs an apache-tvm that was built for them.
        with suppress(Exception) if kind == "gpu" else nullcontext():
            tvm.compile(module, target=target)
    yield from found.values()


def as_read(func: Any, text: str) -> Any:
    """Return the function that TVM reads out of ``text``, None where it reads nothing.

    With the symbol that it had.
    """
    import tvm

    found = None
    with suppress(Exception):
        found = tvm.script.from_source(text)
    if found is None:
        return None
    if isinstance(found, tvm.IRModule):
        (found,) = found.functions.values()
    symbol = func.attrs["global_symbol"] if func.attrs and "global_symbol" in func.attrs else None
    return found.without_attr("global_symbol") if symbol is None else found.with_attr("global_symbol", symbol)


def is_same(a: Any, b: Any) -> bool:
    import tvm

    try:
        tvm.ir.assert_structural_equal(a, b)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, kind) for name in CASES for kind in TARGETS] if FULL else [("matmul", "cpu")],
)
def test_every_stage_is_read_and_printed(name: str, kind: str) -> None:
    same = 0
    for stage, func in printed_after_passes(name, kind):
        text = func.script()
        if "_kernel(" in text and stage in BESIDE:
            continue
        own = as_read(func, text)
        if own is None and "launch_thread(blockIdx" in text:
            # TVM prints a thread before it says of which kind it is.
            continue
        printed = rx.print_module(rx.parse(text))
        assert rx.print_module(rx.parse(printed)) == printed, stage
        # Some of what TVM prints it cannot read, or reads as something else.
        if own is not None and is_same(own, func):
            again = as_read(func, printed)
            assert again is not None, f"{stage}:\n{printed}"
            assert is_same(again, func), f"{stage}:\n{text}\n{printed}"
            same += 1
    assert same >= 5
