"""Adapters of ``tvm.relay`` and ``tvm.ir``."""
