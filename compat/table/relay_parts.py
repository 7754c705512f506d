"""Operators, passes, analyses, patterns, frontends and tests of ``tvm.relay``."""

from __future__ import annotations

from relay2relax.compat.table.entry import Absent, Module, Names
from relay2relax.compat.table.relay import COMPOSED, PARAMS

_GENERATED = (
    "to_c_function_style to_c_variable_style to_c_constant_style prefix_name prefix_generated_name sanitize_name "
    "mangle_module_name"
)
_OPERATORS = "compat.relay.operators"
_TRANSFORM = "relay_ir.transform"
_TESTING = "compat.testing.relay"

REGISTERING = Names(
    _OPERATORS,
    "get register_alter_op_layout register_convert_op_layout register_legalize register_gradient register_compute "
    "register_strategy register_external_compiler register_op_attr",
)
REGISTERED = Names(
    "compat.relay.registering",
    "register register_pattern register_stateful OpPattern",
    "operators of scripts have types and cannot be run",
)
QUANTIZING = Names(_TRANSFORM, "register_fake_quantization_to_integer register_optional_fake_quantization_to_integer")
_PASSES = Names(
    "compat.relay.passes",
    "AnnotateSpans AnnotateTarget Defunctionalization MergeComposite "
    "recast EliminateCommonSubexpr FuseOps PartitionGraph FoldConstantExpr ToANormalFormExpr "
    "InferType InferTypeLocal gradient function_pass module_pass build_config "
    "Sequential PassInfo _ffi_api=",
)
_CONTEXT = Names("core.passes", "PassContext Pass")
_PATTERNS = (
    "AltPattern AttrPattern CallPattern ConstantPattern DFPattern DataTypePattern DominatorPattern ExprPattern "
    "FunctionPattern IfPattern LetPattern ShapePattern TupleGetItemPattern TuplePattern TypePattern VarPattern "
    "WildcardPattern dominates has_attr has_dtype has_shape has_type is_constant is_expr is_if is_let is_op is_tuple "
    "is_tuple_get_item is_var match wildcard partition rewrite DFPatternCallback"
)
_IMPORTERS = "from_onnx=relay_ir.frontend.from_onnx from_pytorch=relay_ir.frontend.from_pytorch"
_NETWORKS = (
    "mlp", "resnet", "resnet_3d", "dqn", "dcgan", "mobilenet", "lstm", "inception_v3", "squeezenet", "vgg",
    "densenet", "synthetic",
)  # fmt: skip
_VALUES = Names("backends.relay.values", "ConstructorValue=AdtValue RefValue")
_QUANTIZE = (
    Names(
        "relay_ir.quantize",
        "QAnnotateExpr QAnnotateKind QConfig QPartitionExpr QuantizeContext annotate=QuantizeAnnotate "
        "attach_simulated_quantize current_qconfig collect_stats partition=QuantizePartition "
        "_forward_op=forward_op partition_conversions prerequisite_optimize quantize_context "
        "realize=QuantizeRealize register_annotate_function register_partition_function",
    ),
    Names("compat.relay.quantizing", "calibrate qconfig quantize"),
)

QNN_CONCATENATE = Names("relay_ir.build.composed", "concatenate=qnn_concatenate")

MODULES = (
    Module(
        "tvm.relay.op", (REGISTERING, REGISTERED, QUANTIZING, COMPOSED), f"{_OPERATORS}:operator", today="relay_ir.op"
    ),
    Module("tvm.relay.op.op", (REGISTERING, REGISTERED), f"{_OPERATORS}:operator"),
    *(
        Module(f"tvm.relay.op.{one}", (COMPOSED,), f"{_OPERATORS}:operator")
        for one in ("tensor", "transform", "reduce", "algorithm", "_make", "_tensor", "_transform")
    ),
    *(
        Module(f"tvm.relay.op.{one}", (), f"{_OPERATORS}:{one}", today=f"relay_ir.op.{one}")
        for one in ("image", "vision", "memory", "vm", "dyn", "contrib")
    ),
    Module(
        "tvm.relay.op.annotation",
        (Names("compat.relay.annotations", "on_device compiler_begin compiler_end stop_fusion"),),
        f"{_OPERATORS}:annotation",
    ),
    Module(
        "tvm.relay.op.contrib.register",
        (Names("compat.relay.annotations", "register_pattern_table get_pattern_table"),),
    ),
    *(
        Module(
            one,
            (
                Names("relay_ir.build.composed", "sparse_dense sparse_transpose sparse_add dropout_raw"),
                Names("compat.relay.building", "const"),
                Names("relay_ir.ir.expr", "Constant"),
            ),
            f"{_OPERATORS}:nn",
            today="relay_ir.op.nn",
        )
        for one in ("tvm.relay.nn", "tvm.relay.op.nn")
    ),
    *(
        Module(f"tvm.relay.{one}", (Names("relay_ir.build.composed", "threefry_key"),), f"{_OPERATORS}:random")
        for one in ("random", "op.random")
    ),
    Module("tvm.relay.qnn", (), f"{_OPERATORS}:qnn"),
    Module(
        "tvm.relay.qnn.op",
        (
            Names("compat.relay.operators", "register_qnn_legalize register_qnn_canonicalize"),
            QNN_CONCATENATE,
        ),
        f"{_OPERATORS}:qnn",
    ),
    Module("tvm.relay.qnn.op.qnn", (QNN_CONCATENATE,), f"{_OPERATORS}:qnn"),
    Module(
        "tvm.relay.transform",
        (
            _PASSES,
            _CONTEXT,
            QUANTIZING,
            Names("compat.relay.devices", "PlanDevices"),
            Names(_TRANSFORM, "LayoutConfig FunctionPass"),
            Absent("CollagePartition", "graphs are not partitioned by measured times"),
        ),
        "compat.relay.passes:as_values",
        today="relay_ir.transform",
    ),
    Module("tvm.relay.transform.transform", (_PASSES, _CONTEXT), "compat.relay.passes:as_values"),
    Module(
        "tvm.relay.transform.mixed_precision",
        (Names(_TRANSFORM, "register_mixed_precision_conversion"),),
    ),
    Module("tvm.relay.transform.fake_quantization_to_integer", (QUANTIZING,)),
    Module(
        "tvm.relay.analysis",
        (
            Names(
                "compat.relay.analyses",
                "check_kind well_formed unmatched_cases detect_feature extract_fused_functions get_calibration_data "
                "_ffi_api=InternalFunctions",
            ),
        ),
        "compat.relay.analyses:analysis",
        today="relay_ir.analysis",
    ),
    Module("tvm.relay.analysis.call_graph", (Names("relay_ir.analysis", "CallGraph"),)),
    Module("tvm.relay.analysis.annotated_regions", (Names("relay_ir.analysis", "AnnotatedRegionSet"),)),
    Module("tvm.relay.analysis.feature", (Names("relay_ir.analysis", "Feature"),)),
    Module("tvm.relay.dataflow_pattern", (Names("relay_ir.dataflow_pattern", _PATTERNS),)),
    Module(
        "tvm.relay.frontend",
        (
            Names(
                "compat.relay.frontends",
                "from_onnx from_pytorch",
                today=_IMPORTERS,
            ),
            Names(
                "relay_ir.frontend",
                "from_tensorflow from_keras from_mxnet from_tflite from_coreml "
                "from_caffe from_caffe2 from_darknet from_paddle from_oneflow",
                by_hand="write the model as ONNX (the importer says how), then relay_ir.frontend.from_onnx",
            ),
        ),
    ),
    Module("tvm.relay.frontend.pytorch", (Names("compat.relay.frontends", "from_pytorch", today=_IMPORTERS),)),
    Module("tvm.relay.frontend.onnx", (Names("compat.relay.frontends", "from_onnx", today=_IMPORTERS),)),
    Module("tvm.relay.frontend.common", (Names("compat.testing.relay", "infer_type=run_infer_type"),)),
    Module(
        "tvm.relay.backend.interpreter",
        (_VALUES, Names("compat.running.executors", "Executor Interpreter=create_executor")),
    ),
    Module("tvm.relay.backend.vm", (Names("compat.running.virtual_machine", "compile VMCompiler VMExecutor"),)),
    Module(
        "tvm.relay.vm",
        (
            Names("compat.running.virtual_machine", "compile VMCompiler VMExecutor"),
            Names("compat.running.virtual_machine", "VirtualMachine", until="0.6"),
        ),
    ),
    Module("tvm.relay.backend", (Names("relay_ir.build.build_options", "Executor Runtime"),)),
    Module("tvm.relay.backend.executor_factory", (Names("compat.running.factory", "GraphExecutorFactoryModule"),)),
    Module(
        "tvm.relay.testing",
        (
            Names(
                _TESTING,
                "run_opt_pass run_infer_type create_workload rand "
                "_np_randn_from_type=np_randn_from_type count_ops count "
                "make_nat_value make_nat_expr run_as_python",
            ),
            Names("compat.testing.gradients", "check_grad"),
            Names("compat.testing.core", "enabled_targets"),
            Names("compat.relay.passes", "gradient"),
            Names("relay_ir.build.module_prelude", "Prelude"),
            Absent("to_python", "programs are run by the executors, not written as Python"),
        ),
    ),
    *(
        Module(one, (Names("relay_ir.build.generated_names", _GENERATED),))
        for one in ("tvm.relay.backend.name_transforms", "tvm.relay.backend.utils", "tvm.runtime.name_transforms")
    ),
    Module("tvm.relay.backend.runtime", (Names("relay_ir.build.build_options", "Runtime"),)),
    Module("tvm.relay.backend.executor", (Names("relay_ir.build.build_options", "Executor"),)),
    Module(
        "tvm.relay.qnn.transform",
        (Names(_TRANSFORM, "CanonicalizeOps=QnnCanonicalize"), Names("compat.relay.passes", "Legalize=QnnLegalize")),
    ),
    Module("tvm.relay.testing.temp_op_attr", (Names(_TRANSFORM, "TempOpAttr"),)),
    Module("tvm.relay.testing.init", (Names(_TESTING, "create_workload"),)),
    *(
        Module(f"tvm.relay.testing.{one}", (), f"compat.testing.networks:{one}", today=f"relay_ir.testing.{one}")
        for one in _NETWORKS
    ),
    *(Module(f"nnvm.testing.{one}", (), f"compat.testing.networks:{one}", until="0.6") for one in _NETWORKS),
    Module("nnvm", until="0.6"),
    Module("nnvm.testing", until="0.6"),
    Module("nnvm.frontend", (Names("compat.relay.frontends", "from_onnx"),), until="0.6"),
    Module(
        "nnvm.compiler",
        (Names("compat.relay.older", "build"), Names("compat.relay.passes", "build_config"), PARAMS),
        until="0.6",
    ),
    Module(
        "tvm.relay.data_dep_optimization.simplify_fc_transpose",
        (Names("compat.relay.analyses", "convert=simplify_fc_transpose"),),
    ),
    Module("tvm.relay.quantize", _QUANTIZE),
    Module("tvm.relay.quantize.quantize", _QUANTIZE),
    Module("tvm.relay.quantize._annotate", _QUANTIZE),
    Module("tvm.relay.quantize._partition", _QUANTIZE),
    Module("tvm.relay.quantize._calibrate", _QUANTIZE),
    Module("tvm.relay.quantize.kl_divergence", (Names("relay_ir.quantize", "_find_scale_by_kl=threshold_by_kl"),)),
    Module("tvm.relay.debug"),
    Module(
        "tvm.relay.annotation",
        (Names("compat.relay.annotations", "on_device compiler_begin compiler_end stop_fusion"),),
        f"{_OPERATORS}:annotation",
    ),
    Module("tvm.relay.backend.te_compiler", (Names("compat.running.functions", "get=te_compiler"),)),
)
