"""Operators over quantised tensors: of exported programs (``scales``), of quantised TorchScript
(``modules``), and its packed weights (``packed``).
"""
