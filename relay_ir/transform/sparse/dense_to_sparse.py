"""Dense layers with sparse weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from relay2relax.core.passes import Pass
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.ir.expr import Call, Op, Var
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.transform.infrastructure import declared, left_alone, map_functions
from relay2relax.relay_ir.transform.sparse.block_sparse import sizes_by_name, with_sparse_parameters


@dataclass(frozen=True, slots=True)
class DenseToSparse(Pass[IRModule]):
    """Let ``nn.dense`` take the parameters ``weight_name`` as block-sparse matrices.

    ``weight_shape`` has the sizes of each: those of its data (three), of its indices, and of its
    indptr (``block_sparse(weight, height, width).sizes``). The parameter ``w`` becomes ``w.data``,
    ``w.indices`` and ``w.indptr``, which stand behind all others.
    """

    weight_name: Sequence[str]
    weight_shape: Sequence[Sequence[int]]
    opt_level: ClassVar[int] = 4

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with sparse weights; infers types where parameters do not declare theirs.

        Raises UnsupportedError for shapes that do not say what is needed.
        """
        sizes = sizes_by_name(self.weight_name, self.weight_shape, least=5)
        mod = declared(mod)
        return map_functions(
            mod, lambda one: one if left_alone(one) else with_sparse_parameters(one, sizes, _fits, _sparse)
        )


def _fits(call: Call) -> bool:
    return call.op == Op("nn.dense") and call.attrs.out_dtype in ("", "float32")


def _sparse(call: Call, weight: tuple[Var, Var, Var]) -> Call:
    made: Call = op.nn.sparse_dense(call.args[0], *weight)
    return made
