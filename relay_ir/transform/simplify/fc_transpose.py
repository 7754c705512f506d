"""Weights that are transposed before a dense layer, as parameters that are transposed already."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from relay2relax.core.passes import Pass
from relay2relax.relay_ir.analysis.traversal import transposed_weight
from relay2relax.relay_ir.ir.expr import Call, Expr, Function, Tuple, Var, children
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import free_vars, nodes, with_children
from relay2relax.relay_ir.ir.types import TensorType
from relay2relax.relay_ir.transform.infrastructure import left_alone, map_functions


@dataclass(frozen=True, slots=True)
class SimplifyFCTranspose(Pass[IRModule]):
    """Let ``nn.dense(x, transpose(w))`` take a parameter ``w.T`` for each ``w`` of
    ``target_weights``.

    The parameters ``w.T`` stand behind the others; the caller gives them transposed weights.
    """

    target_weights: tuple[str, ...]
    opt_level: ClassVar[int] = 4

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with new parameters where there were such weights."""
        return map_functions(mod, lambda one: one if left_alone(one) else self._simplify(one))

    def _simplify(self, root: Function) -> Function:
        made: dict[Var, Var] = {}
        done: dict[Expr, Expr] = {}
        for node in nodes(root.body):
            done[node] = with_children(node, [done[child] for child in children(node)])
            weight = _matrix(node)
            if weight is not None and weight.name in self.target_weights:
                ty = weight.type_annotation
                assert isinstance(ty, TensorType)
                turned = TensorType((ty.shape[1], ty.shape[0]), ty.dtype)
                given = made.setdefault(weight, Var(f"{weight.name}.T", turned))
                new = done[node]
                assert isinstance(new, Call)
                done[node] = replace(new, args=(new.args[0], given))
        if not made:
            return root
        # What the function had and uses, then what is new.
        used = free_vars(Tuple((done[root.body],)))
        new_vars = tuple(made.values())
        params = (*(var for var in used if var not in new_vars), *new_vars)
        return replace(root, params=params, body=done[root.body])


def _matrix(node: Expr) -> Var | None:
    """Return the variable whose transposition ``node``, a dense layer, takes as its weight, where
    that is declared a matrix.
    """
    var = transposed_weight(node)
    declared = None if var is None else var.type_annotation
    return var if isinstance(declared, TensorType) and len(declared.shape) == 2 else None
