"""Operators of ``ai.onnx.ml``: features of numbers, and what is learnt of them."""
