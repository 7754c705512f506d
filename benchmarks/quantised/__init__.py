"""Quantised models beside ONNX Runtime."""
