"""``tvm.relay.frontend``: models of ONNX and PyTorch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relay2relax.compat import version
from relay2relax.compat.running.ndarray import NDArray
from relay2relax.relay_ir import frontend
from relay2relax.relay_ir.ir.expr import Function
from relay2relax.relay_ir.ir.module import IRModule


def from_onnx(
    model: object,
    shape: Mapping[str, Sequence[int]] | None = None,
    dtype: object = "float32",
    opset: int | None = None,
    freeze_params: bool | None = None,
    convert_config: object = None,
    export_node_renamed_model_path: str | None = None,
) -> tuple[IRModule | Function, dict[str, NDArray]]:
    """Return the module of an ONNX model, TVM 0.5 its function, and its parameters.

    Weights are constants where nothing else is said, parameters of the function until TVM 0.8.
    """
    if freeze_params is None:
        freeze_params = not version.until("0.8")
    mod, params = frontend.from_onnx(model, shape=shape, freeze_params=freeze_params)
    return mod["main"] if version.until("0.5") else mod, {name: value.view(NDArray) for name, value in params.items()}


def from_pytorch(
    script_module: object, input_infos: Sequence[object], *args: object, **kwargs: object
) -> tuple[IRModule, dict[str, NDArray]]:
    """Return the module of a TorchScript model, and its parameters."""
    mod, params = frontend.from_pytorch(script_module, input_infos, *args, **kwargs)  # type: ignore[arg-type]
    return mod, {name: value.view(NDArray) for name, value in params.items()}
