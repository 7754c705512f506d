"""Models of other frameworks as Relay."""

from relay2relax.relay_ir.frontend.onnx import from_onnx, register_onnx_operator
from relay2relax.relay_ir.frontend.pytorch import from_pytorch

__all__ = ["from_onnx", "from_pytorch", "register_onnx_operator"]
