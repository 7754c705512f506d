"""The options that TVM's passes register, which a context may set by name."""

from __future__ import annotations

_NAMES = """
cuda.kernels_output_dir ir.enable_si_builder relax.FuseOps.max_depth relax.backend.use_cuda_graph
relax.ext.tensorrt.options relax.fallback_device_type relax.transform.apply_legalize_ops
relay.FuseOps.link_params relay.FuseOps.max_depth relay.ToMixedPrecision.keep_orig_output_dtype
relay.backend.disable_compile_engine_cache relay.backend.tir_converter
relay.backend.use_auto_scheduler relay.backend.use_meta_schedule
relay.backend.use_meta_schedule_dispatch relay.collage.byoc_fusion_style
relay.collage.byoc_max_depth relay.collage.tvm_max_depth relay.ext.cmsisnn.options
relay.ext.ethos-n.options relay.ext.ethos-u.options relay.ext.mrvl.options
relay.ext.tensorrt.options relay.ext.verilator.options relay.ext.vitis_ai.options
relay.ext.vitis_ai.options.build_dir relay.ext.vitis_ai.options.export_runtime_module
relay.ext.vitis_ai.options.load_runtime_module relay.ext.vitis_ai.options.target
relay.ext.vitis_ai.options.work_dir relay.fallback_device_type relay.frontend.fill_span
relay.remove_standalone_reshapes.enable te.keep_schedule_record testing.immutable_module
tir.HoistExpression tir.HoistIfThenElse tir.InjectDoubleBuffer tir.LoopPartition tir.RemoveNoOp
tir.Simplify tir.UnrollLoop tir.add_lower_pass tir.debug_keep_trivial_loop tir.detect_global_barrier
tir.disable_assert tir.disable_cse_tir tir.disable_storage_rewrite tir.disable_vectorize
tir.enable_buffer_level_predication tir.enable_debug tir.enable_equiv_terms_in_cse_tir
tir.experimental_dma_bypass_cache tir.instr_siblings tir.instrument_bound_checkers
tir.instrument_lwp tir.is_entry_func tir.lwp_disable_func_prof tir.lwp_max_depth tir.lwp_min_height
tir.merge_static_smem tir.noalias tir.ptx_ldg32 tir.reset_start_id tir.usmp.algorithm
tir.usmp.custom_algorithm tir.usmp.enable tir.usmp.use_workspace_io tir.use_async_copy
tir.vtcm_capacity
"""
# What TVM 0.18 registers, and one that it had until 0.7.
OPTIONS = frozenset(_NAMES.split())
# Those that something here looks at, beside what the passes themselves know.
USED = frozenset(["relay.fallback_device_type", "relay.frontend.fill_span", "testing.immutable_module"])
