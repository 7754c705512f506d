"""What graphics processors can do: there are none."""

from __future__ import annotations


def have_fp16(compute_version: object = None) -> bool:
    """Return False: there is no graphics processor."""
    return False


have_int8 = have_tensorcore = have_fp16
