"""What ``inspect()`` says of PyTorch modules, in the words of MSC's dictionaries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from relay2relax import graph, relax_ir, relay_ir
from relay2relax.graph import msc

torch: Any = pytest.importorskip("torch")


def tensors(*shapes: tuple[int | str, ...]) -> list[list[int | str]]:
    return [list(shape) for shape in shapes]


# What MSC of TVM 0.18 counts for such modules, constants apart.
FUSED: dict[str, tuple[Callable[[], Any], tuple[int, ...], tuple[int, ...], str]] = {
    "conv1d": (lambda: torch.nn.Conv1d(3, 6, 7), (1, 3, 10), (1, 6, 4), "msc.conv1d_bias"),
    "conv1d without bias": (lambda: torch.nn.Conv1d(3, 6, 7, bias=False), (1, 3, 10), (1, 6, 4), "nn.conv1d"),
    "conv2d": (lambda: torch.nn.Conv2d(3, 6, 7), (1, 3, 10, 10), (1, 6, 4, 4), "msc.conv2d_bias"),
    "linear": (lambda: torch.nn.Linear(10, 7), (1, 3, 10, 10), (1, 3, 10, 7), "msc.linear_bias"),
    "linear without bias": (lambda: torch.nn.Linear(10, 7, bias=False), (1, 3, 10, 10), (1, 3, 10, 7), "msc.linear"),
}


@pytest.mark.parametrize("name", FUSED)
def test_layers_of_relay_are_counted_as_msc_does(name: str) -> None:
    make, given, wanted, op = FUSED[name]
    traced = torch.jit.trace(make().eval(), torch.zeros(*given))
    mod, params = relay_ir.frontend.from_pytorch(traced, [("input0", (list(given), "float32"))])
    found, _ = msc.from_relay(mod, params, patterns="msc-2023")
    said = found.inspect()
    assert [one["shape"] for one in said["inputs"]] == tensors(given)
    assert [one["shape"] for one in said["outputs"]] == tensors(wanted)
    counts = {kind: count for kind, count in said["nodes"].items() if kind not in ("total", "constant")}
    assert counts == {"input": 1, op: 1}


class Chunks(torch.nn.Module):  # type: ignore[misc]
    """Halves along the channels, one of which is kept twice over."""

    def forward(self, data: Any) -> Any:
        first, second = torch.chunk(data, 2, dim=1)
        return torch.cat([first, torch.tanh(second), first], dim=1)


RELAX: dict[str, tuple[Callable[[], Any], tuple[Any, ...], tuple[Any, ...], dict[str, int]]] = {
    "pooling": (lambda: torch.nn.MaxPool2d(2, stride=2), ("n", 3, 8, 8), ("n", 3, 4, 4), {"nn.max_pool2d": 1}),
    "activation": (torch.nn.SiLU, ("n", 5), ("n", 5), {"nn.silu": 1}),
    "chunks": (Chunks, ("n", 4, 2), ("n", 6, 2), {"split": 1, "get_item": 2, "tanh": 1, "concat": 1}),
}


@pytest.mark.tvm
@pytest.mark.parametrize("name", RELAX)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_modules_that_tvm_imports_are_counted(name: str) -> None:
    tvm = pytest.importorskip("tvm")
    from tvm.relax.frontend.torch import from_fx

    make, given, wanted, counts = RELAX[name]
    extents = [tvm.tirx.Var(one, "int64") if isinstance(one, str) else one for one in given]
    with torch.no_grad():
        mod = from_fx(torch.fx.symbolic_trace(torch.nn.Sequential(make())), [(extents, "float32")])
    said = graph.from_relax(relax_ir.parse(mod.script()))[0].inspect()
    assert [one["shape"] for one in said["inputs"]] == tensors(given)
    assert [one["shape"] for one in said["outputs"]] == tensors(wanted)
    found = {kind.removeprefix("relax."): count for kind, count in said["nodes"].items() if kind != "total"}
    assert found == {"input": 1, **counts}
    assert said["prims"] == {"total": 1, "shape": 1}
