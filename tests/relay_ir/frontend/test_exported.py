"""Programs of ``torch.export`` as Relay: what PyTorch computes, with PyTorch's names."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from relay2relax import backends, relay_ir, translator
from relay2relax.core.errors import UnsupportedError
from relay2relax.core.errors.extensions import ExtensionError
from relay2relax.relay_ir.frontend import from_pytorch

torch = pytest.importorskip("torch")

from torchscript.operator_cases import cases  # noqa: E402

CASES = cases()


class Function(torch.nn.Module):  # type: ignore[misc, name-defined]
    """A function as a module."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


def exported(function: Any, inputs: list[Any], **options: Any) -> Any:
    module = function if isinstance(function, torch.nn.Module) else Function(function)
    with torch.no_grad():
        return torch.export.export(module, tuple(inputs), **options)


def check(program: Any, inputs: list[Any], target: str = "numpy") -> relay_ir.IRModule:
    """Compare our results with PyTorch's: number, dtypes, shapes and values."""
    # A program changes its own buffers.
    wanted = torch.utils._pytree.tree_leaves(program.module()(*(one.clone() for one in inputs)))
    mod, params = from_pytorch(program)
    typed = relay_ir.infer_type(mod)
    names = [one.name for one in typed["main"].params if one.name not in params]
    given = [one.numpy() for one in inputs]
    if target == "numpy":
        found = backends.create_executor("vm", typed).evaluate()(**dict(zip(names, given, strict=True)), **params)
    else:
        found = backends.VirtualMachine(backends.build(translator.via_graph(typed, params), target=target))["main"](
            *given
        )
    results = torch.utils._pytree.tree_leaves(list(found) if isinstance(found, tuple) else [found])
    for got, want in zip(results, wanted, strict=False):
        expected = want.detach().numpy()
        assert np.asarray(got).shape == expected.shape
        assert np.asarray(got).dtype == expected.dtype
        near = np.asarray(got).astype(np.float64)
        np.testing.assert_allclose(near, expected.astype(np.float64), rtol=1e-4, atol=1e-5)
    assert len(results) >= len(wanted)
    return mod


class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
    """Layers, a branch, and a buffer that counts."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4)
        self.heads, self.last = torch.nn.MultiheadAttention(4, 2, batch_first=True), torch.nn.Linear(4, 5)
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x: Any) -> Any:
        y = torch.relu_(self.norm(self.conv(x))).mean((2, 3))[:, None]
        self.seen.add_(1)
        y, _ = self.heads(y, y, y)
        y = self.last(y)
        return torch.cond(y.sum() > 0, lambda one: one + 1, lambda one: one * 2, (y,))


def net(**options: Any) -> Any:
    torch.manual_seed(1)
    return exported(Net().eval(), [torch.rand(2, 3, 8, 8)], **options)


@pytest.mark.parametrize("target", ["numpy", pytest.param("c", marks=pytest.mark.compiler)])
def test_a_network_with_a_branch_and_a_buffer(target: str) -> None:
    mod = check(net(), [torch.rand(2, 3, 8, 8)], target)
    names = [one.name for one in mod["main"].params]
    assert {"x", "conv.weight", "norm.running_mean", "heads.in_proj_weight", "seen"} <= set(names)
    # What a program returns is followed by the new values of what it changes.
    result = relay_ir.infer_type(mod)["main"].ret_type
    assert isinstance(result, relay_ir.TupleType)
    assert len(result.fields) == 2
    assert "span=conv2d:0:0" in str(mod)


@pytest.mark.sweep(every=2)
def test_open_extents_keep_names_and_are_one_where_they_are_one() -> None:
    size = torch.export.Dim("size", min=2, max=64)
    program = net(dynamic_shapes=({0: size},))
    mod = check(program, [torch.rand(5, 3, 8, 8)])
    (name,) = {one for one in mod.dims["x"] if one is not None}
    assert mod.dims["x"] == [name, None, None, None]
    assert f'x: R.Tensor(("{name}", 3, 8, 8), dtype="float32")' in translator.via_graph(mod).script()
    given = torch.export.export(
        Function(torch.matmul), (torch.rand(3, 4), torch.rand(4, 5)), dynamic_shapes=(({1: size}, {0: size}),)
    )
    mod, _ = from_pytorch(given)
    first, second = mod.dims.values()
    assert first[1] == second[0]


def loop(x: Any) -> Any:
    from torch._higher_order_ops import while_loop

    return while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, y * 2 + x), (torch.zeros((), dtype=torch.int64), x * 1))


def scan(x: Any) -> Any:
    from torch._higher_order_ops import scan as scanned

    return scanned(lambda total, one: (total + one, total * one), torch.zeros(3), x)


def quantised(x: Any) -> Any:
    import torch.ao.quantization.fx._decomposed

    ops = torch.ops.quantized_decomposed
    made = ops.quantize_per_tensor(x, 0.05, 3, -128, 127, torch.int8)
    back = ops.dequantize_per_tensor(made, 0.05, 3, -128, 127, torch.int8)
    scales, zeros = torch.tensor([0.1, 0.02, 0.3]), torch.tensor([0, 1, -2])
    rows = ops.quantize_per_channel(back, scales, zeros, 1, -128, 127, torch.int8)
    return ops.dequantize_per_channel(rows, scales, zeros, 1, -128, 127, torch.int8)


def trained(x: Any, mean: Any, variance: Any) -> Any:
    held = (mean * 1, variance * 1)
    made = torch.nn.functional.batch_norm(x, *held, training=True, momentum=0.2)
    return made, *held


PROGRAMS: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "while": (loop, [torch.rand(3)]),
    "scan": (scan, [torch.rand(4, 3)]),
    "quantised": (quantised, [torch.randn(4, 3)]),
    "halves": (torch.round, [torch.tensor([0.5, 1.5, 2.5, -0.5, 3.2])]),
    "places": (lambda x: x.argmax(1), [torch.rand(3, 4)]),
    "index": (lambda x, i: x[:, i, :, i], [torch.rand(2, 3, 4, 3), torch.tensor([0, -1])]),
    "index put": (lambda x, i: x.index_put((i,), x[:2] * 2, True), [torch.rand(4, 3), torch.tensor([1, 1])]),
    "nan": (lambda x: (x.amax(1), x.max(1), x.median(1)), [torch.tensor([[1.0, math.nan, 3], [-math.inf] * 3])]),
    "running": (lambda x: torch.cummax(x, 1), [torch.tensor([[1.0, 3, 3, 2], [2, math.nan, 5, 1]])]),
    "atan2": (torch.atan2, [torch.tensor([0.0, -0.0, 1, -1, math.inf]), torch.tensor([-0.0, -1, 0, -2, -math.inf])]),
    "ceil": (
        lambda x: torch.nn.functional.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False),
        [torch.rand(1, 2, 6, 7)],
    ),
    "scatter": (
        lambda x, i: x.scatter_reduce(1, i, x, "amax", include_self=True),
        [torch.rand(2, 5), torch.tensor([[0, 1, 1, 0, 2], [4, 4, 0, 0, 0]])],
    ),
    "writes": (lambda x: torch.clone(x)[:, 1:3].fill_(7) + x[:, :2], [torch.rand(3, 4)]),
    "unfold": (lambda x: x.unfold(1, 3, 2), [torch.rand(2, 7)]),
    "variance": (lambda x: (torch.var(x, False), torch.var(x, 1, keepdim=True)), [torch.rand(3, 4)]),
    "training": (trained, [torch.rand(2, 3, 4, 5), torch.rand(3), torch.rand(3)]),
    "standardised": (
        lambda x, weight: torch.nn.functional.batch_norm(x, None, None, weight, training=True),
        [torch.rand(1, 3, 9), torch.rand(3)],
    ),
    "small": (lambda x: (torch.log1p(x), torch.expm1(x)), [torch.tensor([1e-7, -1e-6, 0.0, 2.0, -0.6])]),
}


@pytest.mark.sweep(every=5)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_compute_what_pytorch_does(name: str) -> None:
    function, inputs = PROGRAMS[name]
    check(exported(function, inputs), inputs)


@pytest.mark.sweep(every=30)
@pytest.mark.parametrize(("name", "function", "inputs"), CASES, ids=[case[0] for case in CASES])
def test_forms_of_operators_compute_what_pytorch_does(name: str, function: Any, inputs: list[Any]) -> None:
    if isinstance(function, (torch.jit.ScriptModule, torch.jit.ScriptFunction)):
        pytest.skip("is TorchScript already")
    check(exported(function, inputs), inputs)


def test_a_module_is_exported_for_its_inputs() -> None:
    layer = torch.nn.Linear(3, 2)
    mod, params = from_pytorch(layer, [("data", [4, 3])], example_inputs=(torch.rand(4, 3),))
    assert list(params) == ["weight", "bias"]
    assert [one.name for one in mod["main"].params] == ["data", "weight", "bias"]


def test_operators_that_are_missing_are_named() -> None:
    program = exported(lambda x: torch.special.bessel_j0(torch.special.bessel_j1(x)), [torch.rand(4)])
    with pytest.raises(UnsupportedError, match="aten::special_bessel_j0, aten::special_bessel_j1"):
        from_pytorch(program)


def test_inputs_that_are_not_the_programs_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="1 inputs that are tensors, 2 are stated"):
        from_pytorch(exported(torch.neg, [torch.rand(3)]), [("a", [3]), ("b", [3])])


def test_a_conversion_of_ones_own() -> None:
    program = exported(torch.special.bessel_j0, [torch.rand(3)])
    mod, _ = from_pytorch(
        program, custom_convert_map={"aten::special_bessel_j0": lambda args, dtypes: relay_ir.op.tanh(args[0])}
    )
    assert "tanh(%" in str(mod)
    assert "span=special_bessel_j0:0:0" in str(mod)


@pytest.mark.parametrize(
    ("infos", "said"),
    [
        (3, "a list of inputs is expected, found 3"),
        ([("a", [5, 3])], r"has the shape \[3\] in the program, \[5, 3\] is stated"),
        ({"zz": [3]}, "the model has no input 'zz'"),
        ({"input": [4]}, r"has the shape \[3\] in the program, \[4\] is stated"),
    ],
)
def test_what_contradicts_the_program_is_refused(infos: Any, said: str) -> None:
    class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, input: Any) -> Any:
            return input + 1

    with pytest.raises(UnsupportedError, match=said):
        from_pytorch(exported(Net(), [torch.rand(3)]), infos)


def test_a_conversion_that_fails_is_named() -> None:
    def failing(args: Any, dtypes: Any) -> Any:
        raise ZeroDivisionError("by nothing")

    with pytest.raises(ExtensionError, match="the conversion of aten::neg"):
        from_pytorch(exported(torch.neg, [torch.rand(3)]), custom_convert_map={"aten::neg": failing})


def test_nodes_out_of_order_are_refused() -> None:
    program = exported(lambda x: torch.relu(x) + 1, [torch.rand(3)])
    first, second = (node for node in program.graph.nodes if node.op == "call_function")
    first.args = (second,)
    with pytest.raises(UnsupportedError, match="no node before those that take it makes it"):
        from_pytorch(program)
