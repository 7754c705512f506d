"""PyTorch's tensors as numpy arrays."""

from __future__ import annotations

from typing import Any

from relay2relax.core.dtype import Array, numpy_dtype


def array_of(tensor: Any, short: Any) -> Array:
    """Return the elements of a tensor, in its own memory where numpy has the dtype.

    ``short`` is int16 as PyTorch has it, in which bfloat16 is handed over. Raises TypeError or
    RuntimeError, PyTorch's own, for what numpy has no array of.
    """
    held = tensor.detach()
    narrow = str(held.dtype) == "torch.bfloat16"
    found: Array = (held.contiguous().view(short) if narrow else held).numpy()
    return found.view(numpy_dtype("bfloat16")) if narrow else found
