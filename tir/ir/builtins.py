"""Functions of TVMScript's ``T.`` namespace that stand for no arithmetic: of TVM's runtime, of
threads, of one machine.

They are kept as calls with the arguments that the script gives them. Most of them cannot be run
here. What a call's dtype is does not stand in the script, but for those that say it first or last;
it follows from the function's name.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay2relax.tir.ir.expr import BufferData, Call, FunctionCall, PrimExpr

# These say their dtype first, this one last.
DTYPE_FIRST = frozenset(
    """
    call_extern call_pure_extern call_intrin call_llvm_intrin call_llvm_pure_intrin reinterpret type_annotation ptx_mma
    ptx_mma_sp ptx_ldmatrix ptx_cp_async ptx_cp_async_bulk mma_store mma_fill vectorlow vectorhigh vectorcombine
    get_active_lane_mask dp4a masked_load
    """.split()  # noqa: SIM905
)
DTYPE_LAST = frozenset({"tvm_struct_get"})
_HANDLES = frozenset(
    """
    address_of tvm_access_ptr tvm_stack_alloca tvm_stack_make_array tvm_stack_make_shape tvm_tuple lookup_param
    TVMBackendAllocWorkspace nd_mem_alloc_with_scope anylist_getitem tvm_static_handle handle_add_byte_offset
    ptr_byte_offset tvm_thread_allreduce
    """.split()  # noqa: SIM905
)
_TRUTHS = frozenset({"isnullptr", "assume", "ignore_loop_partition"})
# Of the dtype of this argument.
_LIKE = {
    "ret": 0, "undef": 0, "ldexp": 0, "nextafter": 0, "q_multiply_shift": 0, "q_multiply_shift_per_axis": 0,
    "tvm_thread_invariant": 0, "tvm_warp_shuffle": 1, "tvm_warp_shuffle_up": 1, "tvm_warp_shuffle_down": 1,
    "tvm_warp_shuffle_xor": 1, "atomic_add": 1,
}  # fmt: skip
_INTEGERS = frozenset(
    """
    call_packed call_cpacked call_packed_lowered call_cpacked_lowered tvm_call_packed tvm_call_packed_lowered
    tvm_call_cpacked tvm_call_cpacked_lowered tvm_call_trace_packed tvm_call_trace_packed_lowered tvm_struct_set
    tvm_check_return tvm_throw_last_error
    TVMBackendFreeWorkspace anylist_resetitem anylist_setitem_call_packed anylist_setitem_call_cpacked
    tvm_storage_sync tvm_warp_activemask tvm_global_barrier_kinit tvm_fill_fragment tvm_load_matrix_sync tvm_mma_sync
    tvm_bmma_sync tvm_store_matrix_sync tvm_context_id vscale start_profile_intrinsic end_profile_intrinsic
    thread_return break_loop continue_loop masked_store mem_copy prefetch create_barriers dma_copy dma_wait
    dma_start_group dma_end_group texture2d_store make_filled_simdgroup_matrix simdgroup_load simdgroup_store
    simdgroup_multiply_accumulate call_spirv_pure_glsl450 call_ffi_kernel cooperative_tensor_fill
    cooperative_tensor_load cooperative_tensor_store cooperative_tensor_multiply_accumulate tvm_kernel_replace_point
    """.split()  # noqa: SIM905
)
# Of the dtype of what the memory holds whose address comes first.
_ELEMENTS = frozenset({"texture2d_load"})
_NAMED = DTYPE_FIRST | _ELEMENTS | DTYPE_LAST | _HANDLES | _TRUTHS | _LIKE.keys() | _INTEGERS
# What only returns a value.
_PURE = frozenset(
    """
    call_pure_extern call_llvm_pure_intrin call_spirv_pure_glsl450 reinterpret type_annotation vectorlow vectorhigh
    vectorcombine get_active_lane_mask dp4a tvm_struct_get address_of tvm_access_ptr tvm_stack_alloca
    tvm_stack_make_array tvm_stack_make_shape tvm_tuple handle_add_byte_offset ptr_byte_offset isnullptr assume
    ignore_loop_partition ret undef ldexp nextafter q_multiply_shift q_multiply_shift_per_axis tvm_thread_invariant
    vscale
    """.split()  # noqa: SIM905
)
_TILES = "words of tirx's tile language, which says what groups of GPU threads do with tiles"
_SCHEDULES = "words of TE's old schedules, which no release since 0.24 has"
# Words that have no form here, and whose they are.
FOREIGN = {
    **dict.fromkeys(
        """
        cluster cluster_id cta cta_id device_entry lane_id scope_id thread thread_id warp warp_id warpgroup warpgroup_id
        Layout TileLayout
        """.split(),  # noqa: SIM905
        _TILES,
    ),
    **dict.fromkeys(("realize", "ProducerRealize", "ProducerStore"), _SCHEDULES),
}
# Families of functions of one machine, which grow with every release.
_FAMILIES = ("ptx_", "ptx.", "cuda.", "metal.", "nvshmem.", "webgpu.", "mma_", "s_tir.")
_THREADS = ("tvm_storage_sync", "tvm_thread_allreduce", "tvm_warp_", "tvm_global_barrier", *_FAMILIES)


def is_builtin(name: str) -> bool:
    """Whether ``T.<name>`` is a function that is kept as it is called."""
    return name in _NAMED or name.startswith(_FAMILIES)


def has_effect(expr: PrimExpr) -> bool:
    """Whether ``expr`` is a call that may do more than return a value."""
    if isinstance(expr, FunctionCall):
        return True
    return isinstance(expr, Call) and is_builtin(expr.name) and expr.name not in _PURE


def takes_keywords(name: str) -> bool:
    """Whether ``T.<name>`` takes arguments by their names."""
    return name == "call_ffi_kernel" or "." in name


def builtin_dtype(name: str, args: Sequence[PrimExpr]) -> str:
    """Return the dtype of a call of ``name`` whose dtype the script does not say."""
    if name in _HANDLES:
        return "handle"
    if name in _TRUTHS:
        return "bool"
    if name == "tvm_warp_activemask":
        return "uint32"
    if name in _ELEMENTS and args and isinstance(args[0], BufferData):
        return args[0].buffer.dtype
    place = _LIKE.get(name)
    return args[place].dtype if place is not None and place < len(args) else "int32"


def needs_threads(call: Call) -> bool:
    """Whether ``call`` is of a function that threads run together: one after the other, they could
    not.
    """
    return call.name.startswith(_THREADS)
