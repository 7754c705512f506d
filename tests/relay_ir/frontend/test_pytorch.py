"""TorchScript modules as Relay: names and spans of TVM's importer, results of PyTorch's."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from relay2relax import relay_ir
from relay2relax.core.errors import UnsupportedError
from relay2relax.relay_ir.frontend import from_pytorch

torch = pytest.importorskip("torch")

# What the page about MSC prints of torch.nn.Linear(10, 7) over 1x3x10x10.
LINEAR = """\
fn (%input0: Tensor[(1, 3, 10, 10), float32] /* span=aten::linear_0.input0:0:0 */, %aten::linear_0.weight: Tensor[(7, 10), float32] /* span=aten::linear_0.weight:0:0 */, %aten::linear_0.bias: Tensor[(7), float32] /* span=aten::linear_0.bias:0:0 */) {
  %0 = broadcast_to(%input0, shape=[1, 3, 10, 10]) /* span=aten::linear_0:0:0 */;
  %1 = transpose(%aten::linear_0.weight, axes=[1, 0]) /* span=aten::linear_0:0:0 */;
  %2 = broadcast_to(%1, shape=[1, 3, 10, 7]) /* span=aten::linear_0:0:0 */;
  %3 = reshape(%0, newshape=[-1, 10, 10]) /* span=aten::linear_0:0:0 */;
  %4 = reshape(%2, newshape=[-1, 10, 7]) /* span=aten::linear_0:0:0 */;
  %5 = nn.batch_matmul(%3, %4) /* span=aten::linear_0:0:0 */;
  %6 = reshape(%5, newshape=[1, 3, 10, 7]) /* span=aten::linear_0:0:0 */;
  %7 = squeeze(%6, axis=[]) /* span=aten::linear_0:0:0 */;
  nn.bias_add(%7, %aten::linear_0.bias, axis=-1) /* span=aten::linear_0:0:0 */
}"""  # noqa: E501


class Two(torch.nn.Module):  # type: ignore[misc, name-defined]
    """Two layers, one of them used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(4, 4)
        self.parts = torch.nn.ParameterList([torch.nn.Parameter(torch.rand(4, 3))])

    def forward(self, x: object) -> object:
        return torch.matmul(self.first(self.first(x)), self.parts[0])


def traced(module: object, *shapes: tuple[int, ...]) -> object:
    """Return the TorchScript of a module."""
    return torch.jit.trace(module, tuple(torch.rand(*shape) for shape in shapes))


def test_a_linear_layer_prints_as_the_page_about_msc_says() -> None:
    module = traced(torch.nn.Linear(10, 7), (1, 3, 10, 10))
    mod, params = from_pytorch(module, [("input0", ([1, 3, 10, 10], "float32"))])
    assert str(mod["main"]) == LINEAR
    assert {name: one.shape for name, one in params.items()} == {
        "aten::linear_0.weight": (7, 10),
        "aten::linear_0.bias": (7,),
    }


def test_weights_are_pytorchs_own_memory() -> None:
    layer = torch.nn.Linear(3, 2)
    _, params = from_pytorch(traced(layer, (1, 3)), [("x", [1, 3])])
    assert np.shares_memory(params["aten::linear_0.weight"], layer.weight.detach().numpy())


@pytest.mark.parametrize("friendly", [False, True])
def test_a_weight_is_called_after_its_first_user(friendly: bool) -> None:
    mod, params = from_pytorch(traced(Two(), (2, 4)), [("x", [2, 4])], use_parser_friendly_name=friendly)
    layers = [f"aten::linear_{place}.{part}" for place in (0, 1) for part in ("weight", "bias")]
    names = [*layers, "aten::matmul_0.parts.0"]
    wanted = [name.replace("::", "__").replace(".", "_") if friendly else name for name in names]
    assert list(params) == wanted
    assert [one.name for one in mod["main"].params] == ["x", *wanted]


def test_scopes_of_pytorch_name_nodes() -> None:
    mod, _ = from_pytorch(traced(Two(), (2, 4)), [("x", [2, 4])], preserve_pytorch_scopes=True)
    assert "span=__module.first:0:0" in str(mod["main"])


def test_functions_are_read_like_modules() -> None:
    function = torch.jit.trace(torch.matmul, (torch.rand(2, 3), torch.rand(3)))
    mod, params = from_pytorch(function, [("a", [2, 3]), ("b", [3])])
    assert not params
    assert relay_ir.infer_type(mod)["main"].ret_type == relay_ir.TensorType((2,), "float32")


def test_the_graph_is_written_with_the_names_of_spans(tmp_path: Path) -> None:
    from_pytorch(traced(torch.nn.Linear(3, 2), (1, 3)), [("x", [1, 3])], export_renamed_c_graph_path=tmp_path)
    (path,) = tmp_path.iterdir()
    assert path.name.startswith("tvm_exported_c_graph_")
    assert "%aten::linear_0_0" in path.read_text()


def test_a_users_conversion_comes_first_and_gets_the_span() -> None:
    function = torch.jit.trace(lambda x: torch.special.bessel_j0(x) @ x, (torch.rand(3, 3),))
    mod, _ = from_pytorch(
        function,
        [("x", [3, 3])],
        custom_convert_map={"aten::special_bessel_j0": lambda args, dtypes: relay_ir.op.tanh(args[0]) + args[0]},
    )
    assert "%1 = add(%0, %x) /* span=aten::special_bessel_j0_0:0:0 */" in str(mod["main"])


def unread(x: object) -> object:
    """Return what two operators make that are not read."""
    return torch.special.bessel_j0(torch.special.bessel_j1(x))


def test_all_operators_that_are_missing_are_named() -> None:
    with pytest.raises(UnsupportedError, match="aten::special_bessel_j0, aten::special_bessel_j1") as found:
        from_pytorch(torch.jit.trace(unread, (torch.rand(4),)), [("x", [4])])
    assert found.value.code == "R2R-0560"


@pytest.mark.parametrize(
    "infos",
    [
        pytest.param([], id="too few"),
        pytest.param([("x", [1, 3]), ("y", [1, 3])], id="too many"),
        pytest.param([("x", [1, 3, 1])], id="another rank, said by the script"),
        pytest.param([("x", ([1, 3], "complex64"))], id="an unknown dtype"),
        pytest.param(["x"], id="no shape"),
        pytest.param([("x", 3)], id="a number as shape"),
    ],
)
def test_inputs_that_are_not_the_models_are_refused(infos: list[tuple[str, list[int]]]) -> None:
    module = traced(torch.nn.Linear(3, 2), (1, 3))
    with pytest.raises(UnsupportedError) as found:
        from_pytorch(module, infos)
    assert found.value.code in ("R2R-0562", "R2R-0563")


@pytest.mark.parametrize(
    ("given", "code"),
    [(lambda: torch.nn.Linear(3, 2), "R2R-0561"), (lambda: 3, "R2R-0561")],
)
def test_what_is_not_torchscript_is_refused(given: Callable[[], object], code: str) -> None:
    with pytest.raises(UnsupportedError, match="TorchScript") as found:
        from_pytorch(given(), [])
    assert found.value.code == code


def test_without_pytorch_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(UnsupportedError, match=r"PyTorch.*is not installed") as found:
        from_pytorch(object(), [])
    assert found.value.code == "R2R-0821"
