"""The operators of TVM 0.27's Relax by signature, and those among them that have no record here.

An operator that has a record is what the record says, its signature too: in which order its
arguments come and what TVM takes for one that is left out. An operator without a record is kept as
it was written: it can be printed, its result is what the script says of it, and whoever has to run
it is told what is missing.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NoReturn

from relay2relax.core.errors import UnsupportedError
from relay2relax.ops.common.limits import NOT_LOWERED
from relay2relax.ops.registry.record import OpDef
from relay2relax.ops.registry.script import OLDEST, Script
from relay2relax.ops.registry.table import all_ops, relax_op
from relay2relax.relax_ir.ir.struct_info import ObjectStructInfo, StructInfo, TupleStructInfo

# Those without a record, one per paragraph; ``!`` marks one that may have effects.
_WITHOUT_RECORD = """
!assert_op(condition, format_args=None, format='')
!call_builtin_with_ctx(func, args, *, ty_args=None)
call_dps_packed(func, args, out_ty)
call_inplace_packed(func, *args, inplace_indices, ty_args)
call_pure_packed(func, *args, ty_args)
call_py_func(func_name, args, *, out_ty)
call_tir(gvar, args, out_ty)
call_tir_inplace(gvar, args, inplace_indices, out_ty)
call_tir_with_grad(gvar, args, out_ty, te_grad_name, te_grad_kwargs=None)
ccl.allgather(x, num_workers, in_group=True)
ccl.allreduce(x, op_type='sum', in_group=True)
ccl.broadcast_from_worker0(x)
ccl.scatter_from_worker0(x, num_workers, axis=0)
dist.annotate_sharding(input, device_mesh, placement)
dist.call_tir_local_view(func, args, out_ty)
dist.redistribute(input, device_mesh, placement)
dist.redistribute_replica_to_shard(input, num_workers, axis)
hint_on_device(data, dst_vdevice, memory_scope='global')
!invoke_closure(closure, args, ty_args)
invoke_pure_closure(closure, args, ty_args)
make_closure(func, args)
memory.alloc_storage(size, virtual_device_index, storage_scope, dtype)
memory.alloc_tensor(storage, offset, shape, dtype, runtime_device_ind=0)
memory.ensure_zero_offset(data)
!memory.kill_storage(storage)
!memory.kill_tensor(tensor)
memory.view(data, shape=None, dtype=None, relative_byte_offset=None)
multinomial_from_uniform(prob, uniform_sample, sample_indices, dtype='int64')
nn.attention_var_len(queries, keys, values, seqstart_q, max_seqlen_q, seqstart_k=None, max_seqlen_k=None,
    scale=None, causal_mask=None, window_size=None)
null_value()
!print(*values, format='')
to_vdevice(data, dst_vdevice)
vision.multibox_transform_loc(cls_pred, loc_pred, anchor, clip=False, threshold=0.0, variances=(1.0, 1.0, 1.0,
    1.0), keep_background=True, apply_softmax=True)
vm.alloc_storage(size, dtype, runtime_device_index, storage_scope)
vm.alloc_tensor(storage, offset, shape, dtype, runtime_device_index)
!vm.call_tir_dyn(func, args)
!vm.kill_object(obj)
"""
# Of these, the first release of TVM that has them, and what apache-tvm cannot do with them.
_SINCE = {"call_py_func": "0.22", "vision.multibox_transform_loc": "0.24"}
_LIMITS = dict.fromkeys(("call_tir_with_grad", "hint_on_device", "nn.attention_var_len"), (NOT_LOWERED,))
# Today's names of operators by their old ones.
RENAMED = {"alloc_tensor": "builtin.alloc_tensor", "nn.attention_bias": "nn.attention"}
REQUIRED: Any = object()
# Operators without a result.
_VOID = frozenset(
    {"assert_op", "print", "memory.kill_storage", "memory.kill_tensor", "vm.call_tir_dyn", "vm.kill_object"}
)
# What the result of a call is said with: until 0.25, and since.
RESULT_KEYWORDS = frozenset({"sinfo_args", "ty_args"})


@dataclass(frozen=True, slots=True)
class Signature:
    """What an operator takes: parameter names in order, defaults, and ``star``, the one that takes
    any number.

    ``by_name`` are the parameters that are given by their names only.
    """

    name: str
    params: tuple[str, ...]
    defaults: tuple[Any, ...]
    star: str | None = None
    pure: bool = True
    by_name: tuple[str, ...] = ()

    def default(self, name: str) -> Any:
        """Return what TVM takes for the parameter ``name`` where it is left out."""
        return self.defaults[self.params.index(name)]


@lru_cache(maxsize=1)
def _without_record() -> dict[str, str]:
    joined = _WITHOUT_RECORD.strip("\n").replace("\n    ", " ").splitlines()
    return {line.lstrip("!").partition("(")[0]: line for line in joined}


@lru_cache(maxsize=None)
def signature(name: str) -> Signature | None:
    """Return the signature of ``R.<name>``, None where TVM has no such operator."""
    name = RENAMED.get(name, name)
    record, line = relax_op(name), _without_record().get(name)
    if record is not None and record.script is not None:
        line = f"{name}({record.script.params})"
    if line is None:
        return None
    text = line[line.index("(") :]
    definition = ast.parse(f"def operator{text}: pass").body[0]
    assert isinstance(definition, ast.FunctionDef)
    arguments = definition.args
    plain = [*arguments.args, *arguments.kwonlyargs]
    given = [ast.literal_eval(one) if one is not None else REQUIRED for one in arguments.kw_defaults]
    defaults = [ast.literal_eval(one) for one in arguments.defaults]
    missing = len(arguments.args) - len(defaults)
    return Signature(
        name,
        tuple(one.arg for one in plain),
        (*(REQUIRED,) * missing, *defaults, *given),
        arguments.vararg.arg if arguments.vararg else None,
        not line.startswith("!"),
        tuple(one.arg for one in arguments.kwonlyargs),
    )


@lru_cache(maxsize=1)
def operator_names() -> tuple[str, ...]:
    """Return the names of TVM's operators, without ``R.``."""
    recorded = (op.script.name for op in all_ops() if op.script is not None)
    return tuple(sorted((*recorded, *_without_record())))


@dataclass(frozen=True, slots=True)
class Argument:
    """The place of an argument that is an expression, in the layout of a foreign operator's
    call.
    """

    index: int


@dataclass(frozen=True, slots=True)
class ForeignAttrs:
    """How a call of a foreign operator was written: (keyword or "", value or :class:`Argument`), in
    order.
    """

    layout: tuple[tuple[str, Any], ...] = ()

    @property
    def result(self) -> StructInfo | None:
        """The struct info that the call says its result has, None where it says nothing."""
        for _, value in reversed(self.layout):
            if isinstance(value, StructInfo):
                return value
            if isinstance(value, tuple) and value and all(isinstance(one, StructInfo) for one in value):
                return value[0] if len(value) == 1 else TupleStructInfo(value)
        return None


def without_defaults(name: str, attrs: ForeignAttrs) -> ForeignAttrs:
    """Return ``attrs`` of the operator ``R.<name>`` without the last arguments where TVM takes the
    same for them.
    """
    form, layout = signature(name), list(attrs.layout)
    if form is None or form.star is not None or any(keyword for keyword, _ in layout):
        return attrs
    while layout and layout[-1][1] == form.defaults[len(layout) - 1]:
        layout.pop()
    return ForeignAttrs(tuple(layout))


@dataclass(frozen=True, slots=True, eq=False)
class ForeignOp(OpDef):
    """An operator of TVM without a record here."""

    pure: bool = True

    @property
    def computes(self) -> bool:
        """Whether TVM infers the result from the arguments, of which nothing is known here."""
        return self.name.startswith(("nn.", "vision.", "ccl.", "multinomial_from_uniform"))

    def result(self, attrs: ForeignAttrs) -> StructInfo:
        """Return what is known of the result of a call with ``attrs``."""
        return attrs.result or (TupleStructInfo(()) if self.name in _VOID else ObjectStructInfo())


@lru_cache(maxsize=None)
def foreign_op(name: str) -> ForeignOp | None:
    """Return the operator ``R.<name>`` of TVM as one without a record.

    None where TVM has no such operator.
    """
    found = signature(name)
    if found is None:
        return None

    why = "the operator has no record"
    if relax_op(found.name) is not None:
        why = "its record has no place for one of these arguments"

    def refuse(*_: Any) -> NoReturn:
        raise UnsupportedError(f"R.{found.name} cannot be run or lowered here: {why}")

    inputs = (*found.params, f"*{found.star}") if found.star else found.params
    return ForeignOp(
        doc=f"R.{found.name} of TVM.",
        source="TVM 0.27",
        inputs=inputs,
        infer=refuse,
        numpy=refuse,
        compute=refuse,
        attrs=ForeignAttrs,
        script=Script(
            found.name,
            ", ".join(found.params),
            since=_SINCE.get(found.name, OLDEST),
            limits=_LIMITS.get(found.name, ()),
        ),
        pure=found.pure,
    )
