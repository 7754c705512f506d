"""How Relay's fusion may treat an operator: what TVM 0.18 registers for it.

TVM decided it by hand, and it does not follow from what an operator computes: ``copy`` is
elementwise and ``arange`` opaque, softmax counts as something that elementwise work may follow.
"""

from __future__ import annotations

from dataclasses import dataclass

from relay2relax.tir.analysis.pattern import OpPattern


@dataclass(frozen=True, slots=True)
class Fusion:
    """What FuseOps asks of an operator; the names of TVM's attributes are in brackets.

    ``pattern``  how it may be fused (``TOpPattern``).
    ``reshapes``  whether it only gives the same elements another shape (``TReshapeOp``).
    ``reads_shape``  whether values of arguments decide the shape of its result
        (``TShapeDataDependent``). It is opaque where that shape is open.
    ``computes``  False where it says how a program is run, and is nothing that kernels compute
        (``TNonComputational``).
    """

    pattern: OpPattern = OpPattern.OPAQUE
    reshapes: bool = False
    reads_shape: bool = False
    computes: bool = True


OPAQUE = Fusion()
