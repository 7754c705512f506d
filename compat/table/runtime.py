"""``tvm`` itself, arrays, devices, targets, executors, and what tests use."""

from __future__ import annotations

from relay2relax.compat.table.entry import Absent, Module, Names

_CORE = "compat.testing.core"
_ARRAYS = "compat.running.ndarray"
_DEVICES = "cpu cuda rocm opencl metal vulkan vpi ext_dev hexagon webgpu"
_DEVICE_ALIASES = "gpu=cuda cl=opencl mtl=metal"
_NUMPY = "NDArray=numpy.ndarray array=numpy.asarray empty=numpy.empty from_dlpack=numpy.from_dlpack"
_NO_DEVICES = "arrays are numpy's, and programs run on the processor: leave devices out"
_REGISTRY = Names(
    "compat.running.functions",
    "register_func get_global_func register_object register_extension convert Object",
    today="register_func=backends.register_func",
)
_MSC = "compat.running.msc"
_VIZ = (
    "RelayVisualizer DefaultVizParser DotGraph DotPlotter DotVizParser Plotter TermGraph TermPlotter TermVizParser "
    "VizEdge VizGraph VizNode VizParser"
)
_GRAPH = Names(
    "compat.running.graph_executor",
    "GraphModule create",
    by_hand="backends.VirtualMachine runs what backends.build gives: vm['main'](*inputs)",
)
_ERROR = Names(
    "core.errors",
    "TVMError=Relay2RelaxError InternalError=Relay2RelaxError OpError=Relay2RelaxError "
    "OpNotImplemented=UnsupportedError OpAttributeInvalid=Relay2RelaxError OpAttributeRequired=Relay2RelaxError "
    "OpAttributeUnImplemented=UnsupportedError OpNotImplemented=UnsupportedError DiagnosticError=Relay2RelaxError",
    "all errors are those of relay2relax, with a code",
)

_RELAX = (
    Names(
        "compat.running.relax",
        "VirtualMachine build",
        today="VirtualMachine=backends.VirtualMachine build=backends.build",
    ),
    Names("backends", "Executable"),
    Names("compat.running.relax", "TensorStructInfo=TensorInfo", today="TensorStructInfo=relax_ir.TensorStructInfo"),
    Names(
        "relax_ir",
        "BlockBuilder Call Constant DataTypeImm Expr ExprFunctor ExprVisitor ExternFunc FuncStructInfo Function If "
        "GlobalVar MatchCast ObjectStructInfo PrimStructInfo PrimValue SeqExpr ShapeExpr ShapeStructInfo StringImm "
        "StructInfo Tuple TupleGetItem TupleStructInfo Var call_tir",
        "expressions are never changed",
    ),
)
_LOWERED = Names("compat.running.relax", "from_relay", "op_name beside op_attrs", "from_relay=translator.lower_to_tir")
_GRAPHS = "from_relay=graph.msc.from_relay from_relax=graph.from_relax to_relax=graph.msc.to_relax"

NDARRAY = (
    Names(
        _ARRAYS,
        f"NDArray array empty device from_dlpack numpyasarray Device {_DEVICES} {_DEVICE_ALIASES}",
        today=_NUMPY,
        by_hand=_NO_DEVICES,
    ),
    Names(_ARRAYS, "context=device", until="0.7"),
)

_TESTING = Names(
    _CORE,
    "assert_allclose enabled_targets device_enabled requires_package "
    "parametrize_targets exclude_targets known_failing_targets "
    "fixture parameter parameters main xfail_parameterizations "
    "skip_parameterizations enable_span_filling disable_span_filling "
    "skip_if_32bit requires_nvcc_version=requires_version requires_llvm_minimum_version=requires_version",
    today="assert_allclose=numpy.testing.assert_allclose",
)

MODULES = (
    Module(
        "tvm",
        (
            Names("relay_ir.ir.module", "IRModule"),
            Names("core.errors", "TVMError=Relay2RelaxError"),
            Names(_ARRAYS, f"nd= Device device {_DEVICES} {_DEVICE_ALIASES}", by_hand=_NO_DEVICES),
            Names(_ARRAYS, "context=device TVMContext=Device", until="0.7"),
            Names("compat.relay.passes", "build_config", until="0.6"),
            _REGISTRY,
            Names("compat.vocabulary.numbers", "var const min_value max_value", until="0.6"),
            Names("compat.running.functions", "__version__=tvm_version support="),
        ),
    ),
    Module("tvm.nd", NDARRAY),
    Module("tvm.ndarray", NDARRAY, until="0.6"),
    Module("tvm.module", (Names("compat.running.loading", "load=load_module"),), until="0.6"),
    Module(
        "tvm.runtime",
        (
            *NDARRAY,
            _REGISTRY,
            Names("compat.running.functions", "DataType String"),
            Names(_CORE, "enabled=device_enabled"),
            Names("compat.running.graph_executor", "Module"),
            Names("compat.running.loading", "load_module"),
            Names("compat.relay.building", "save_param_dict load_param_dict"),
        ),
    ),
    Module("tvm.runtime.ndarray", NDARRAY),
    Module("tvm.runtime.module", (Names("compat.running.graph_executor", "BenchmarkResult Module"),)),
    Module("tvm.runtime.object", (_REGISTRY,)),
    Module("tvm.runtime.container", (Names("compat.running.results", "ADT=Fields tuple_object=tuple_object"),)),
    Module("tvm.runtime.vm", (Names("compat.running.virtual_machine", "Executable VirtualMachine"),)),
    Module("tvm.relax", _RELAX),
    Module("tvm.relax.vm", _RELAX),
    Module("tvm.relax.testing.relay_translator", (_LOWERED,)),
    Module("tvm.relax.op", fallback="compat.running.relax:operator"),
    Module("tvm.relax.op.nn", fallback="compat.running.relax:nn_operator"),
    Module("tvm.relax.transform", fallback="compat.running.relax:transform", today="relax_ir.transform"),
    Module("tvm.relax.frontend.torch", (Names("compat.running.beside", "from_fx", "apache-tvm runs it"),)),
    Module("tvm.contrib.msc.core.ir", (Names("graph", "MSCGraph MSCTensor"),)),
    Module("tvm.contrib.msc.core.ir.translate", (Names(_MSC, "from_relay from_relax", today=_GRAPHS),)),
    Module("tvm.contrib.msc.core.frontend", (Names(_MSC, "from_relay from_relax normalize_inputs", today=_GRAPHS),)),
    Module(
        "tvm.contrib.msc.core.frontend.translate",
        (Names(_MSC, "from_relay from_relax normalize_inputs", today=_GRAPHS),),
    ),
    Module("tvm.contrib.msc.core.utils", (Names(_MSC, "dict_equal"),)),
    Module("tvm.contrib.msc.framework.tvm.codegen", (Names(_MSC, "to_relax", today=_GRAPHS),)),
    Module("tvm.error", (_ERROR,)),
    Module("tvm._ffi", (_REGISTRY,)),
    Module(
        "tvm._ffi.base",
        (Names("core.errors", "TVMError=Relay2RelaxError"), Names("compat.running.functions", "py_str")),
    ),
    Module(
        "tvm.target",
        (
            Names("compat.running.targets", "Target create=Target hexagon cuda rocm arm_cpu mali"),
            Names("compat.vocabulary.objects", "VirtualDevice"),
            Names("compat.relay.devices", "make_compilation_config"),
        ),
    ),
    Module("tvm.target.codegen", (Names("compat.running.targets", "llvm_version_major"),)),
    Module("tvm.target.target", (Names("compat.running.targets", "Target"),)),
    Module(
        "tvm.driver.tvmc",
        (
            Names("compat.running.tvmc", "load compile run TVMCModel=Model TVMCPackage=Package TVMCResult=Result"),
            Names("cli.tvmc", "main"),
            Absent("tune", "programs are not tuned here"),
        ),
    ),
    Module("tvm.support", (Names("compat.running.functions", "libinfo"),)),
    Module("tvm.contrib.graph_executor", (_GRAPH,)),
    Module("tvm.runtime.executor", (Names("compat.running.graph_executor", "AotModule=GraphModule"),)),
    *(
        Module(f"tvm.contrib.relay_viz{part}", (Names("relay_ir.visualize", _VIZ),))
        for part in ("", ".interface", ".terminal", ".dot")
    ),
    Module("tvm.contrib.graph_runtime", (_GRAPH,)),
    Module("tvm.contrib.debugger.debug_executor", (_GRAPH,)),
    Module("tvm.contrib.debugger.debug_runtime", (_GRAPH,)),
    Module(
        "tvm.contrib.cc",
        (
            Names(
                "backends.c.export.linking", "create_shared cross_compiler create_executable get_cc", "objects are of C"
            ),
        ),
    ),
    Module("tvm.contrib.utils", (Names("relay_ir.testing.folders", "tempdir TempDirectory"),)),
    Module("tvm.contrib.util", (Names("relay_ir.testing.folders", "tempdir TempDirectory"),), until="0.7"),
    Module("tvm.contrib.nvcc", (Names(_CORE, "have_fp16=no_gpu have_int8=no_gpu have_tensorcore=no_gpu"),)),
    Module("tvm.contrib.cudnn", (Names(_CORE, "exists=no_gpu"),)),
    Module("tvm.testing", (_TESTING,), "compat.testing.core:required"),
    Module("tvm.testing.aot", (Names(_CORE, "generate_ref_data"),)),
    Module("tvm.testing.plugin", (Names("compat.testing.plugin", "pytest_configure pytest_generate_tests dev"),)),
    Module("tvm.testing.utils", (_TESTING,), "compat.testing.core:required"),
)
