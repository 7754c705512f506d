"""Products of one input as one product."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from relay2relax.core.passes import Pass, Sequential
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.transform.combine.batch_matmul import CombineParallelBatchMatmul
from relay2relax.relay_ir.transform.combine.conv2d import CombineParallelConv2D
from relay2relax.relay_ir.transform.combine.dense import CombineParallelDense


@dataclass(frozen=True, slots=True)
class BatchingOps(Pass[IRModule]):
    """Combine convolutions, dense layers and batched products of one input, each by its pass."""

    opt_level: ClassVar[int] = 0

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` behind those of the three passes that the context enables."""
        passes = (CombineParallelConv2D(), CombineParallelDense(), CombineParallelBatchMatmul())
        return Sequential(passes).transform(mod)
