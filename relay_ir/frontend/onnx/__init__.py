"""ONNX models as Relay.

``importer.py`` walks a graph, ``conversion.py`` is what the conversion of an operator may ask, and
``operators/`` has a table of operators for every family. ``protos.py`` alone imports ``onnx``.
"""

from relay2relax.relay_ir.frontend.onnx.importer import from_onnx
from relay2relax.relay_ir.frontend.onnx.operators import register_onnx_operator

__all__ = ["from_onnx", "register_onnx_operator"]
