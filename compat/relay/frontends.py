"""``tvm.relay.frontend``: models of ONNX and PyTorch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relay2relax.compat import version
from relay2relax.compat.relay.inferring import InferType
from relay2relax.compat.running.ndarray import NDArray
from relay2relax.relay_ir import frontend
from relay2relax.relay_ir.frontend.onnx.importer import UnknownInputError
from relay2relax.relay_ir.frontend.onnx.naming import save_named
from relay2relax.relay_ir.ir.expr import Function
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.transform import DynamicToStatic

_CONFIG: dict[str, object] = {}


def from_onnx(
    model: object,
    shape: Mapping[str, Sequence[int]] | None = None,
    dtype: str | Mapping[str, str] = "float32",
    opset: int | None = None,
    freeze_params: bool | None = None,
    convert_config: Mapping[str, object] | None = None,
    export_node_renamed_model_path: str | None = None,
) -> tuple[IRModule | Function, dict[str, NDArray]]:
    """Return the module of an ONNX model, TVM 0.5 its function, and its parameters.

    Weights are constants where nothing else is said, parameters of the function until TVM 0.8. As
    in TVM, a module of constants has its types, and options last until others are given. Raises
    AssertionError for shapes of inputs that there are not.
    """
    if freeze_params is None:
        freeze_params = not version.until("0.8")
    _CONFIG.update(convert_config or {})
    try:
        mod, params = frontend.from_onnx(model, shape, dtype, opset, freeze_params, convert_config=_CONFIG)
    except UnknownInputError as error:
        raise AssertionError(str(error)) from error
    if export_node_renamed_model_path:
        save_named(model, export_node_renamed_model_path)
    if freeze_params:
        mod = InferType()(DynamicToStatic()(mod))
    return mod["main"] if version.until("0.5") else mod, {name: value.view(NDArray) for name, value in params.items()}


def from_pytorch(
    script_module: object, input_infos: Sequence[object], *args: object, **kwargs: object
) -> tuple[IRModule, dict[str, NDArray]]:
    """Return the module of a TorchScript model, and its parameters."""
    mod, params = frontend.from_pytorch(script_module, input_infos, *args, **kwargs)  # type: ignore[arg-type]
    return mod, {name: value.view(NDArray) for name, value in params.items()}
