"""Models of other frameworks as Relay."""

from relay2relax.relay_ir.frontend.onnx import from_onnx

__all__ = ["from_onnx"]
