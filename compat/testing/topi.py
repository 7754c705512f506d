"""``tvm.topi.testing``: what operators compute, by TVM's tests."""

from __future__ import annotations


def reference(name: str) -> object:
    """Refuse a reference: they are numpy programs of TVM that are not part of the facade."""
    raise AttributeError(f"tvm.topi.testing.{name} is not provided: give TVM's folder python/tvm/topi/testing")
