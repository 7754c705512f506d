"""Type inference as a pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from relay2relax.core.passes import Pass
from relay2relax.relay_ir.inference.infer import infer_type
from relay2relax.relay_ir.ir.module import IRModule


@dataclass(frozen=True, slots=True)
class InferType(Pass[IRModule]):
    """Find the type of every expression; they stand in ``types`` of the module."""

    opt_level: ClassVar[int] = 0

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with its types; raises TypeInferenceError with every mistake."""
        return infer_type(mod)
