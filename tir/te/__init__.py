"""Tensor expressions, and the PrimFuncs that are made of them.

``tensor.py`` says what a tensor is, element by element; ``create_prim_func.py`` makes TensorIR of
it. ``inline.py`` puts the body of one PrimFunc into another.
"""

from relay2relax.tir.te.create_prim_func import create_prim_func
from relay2relax.tir.te.tensor import (
    Compute,
    Extern,
    Operation,
    Placeholder,
    ProducerLoad,
    Reduce,
    ReduceAxis,
    Tensor,
    compute,
    compute_several,
    extern,
    max,
    min,
    placeholder,
    prod,
    reduce_axis,
    sum,
)  # fmt: skip

__all__ = [
    "Compute", "Extern", "Operation", "Placeholder", "ProducerLoad", "Reduce", "ReduceAxis", "Tensor", "compute",
    "compute_several", "create_prim_func", "extern", "max", "min", "placeholder", "prod", "reduce_axis", "sum",
]  # fmt: skip
