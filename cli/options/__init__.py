"""The options and choices that commands share."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated, Optional

import typer

from relay2relax.cli import outcome


class Via(str, Enum):
    """A way into Relax."""

    TIR = "tir"
    GRAPH = "graph"


class Schedule(str, Enum):
    """What the loops of the script are made for."""

    CPU = "cpu"
    CUDA = "cuda"
    CUDA_MISSING = "cuda-missing"


class Partitions(str, Enum):
    """What becomes of functions for external compilers."""

    KEEP = "keep"
    INLINE = "inline"


class Quantised(str, Enum):
    """What becomes of quantised operators."""

    INTEGER = "integer"
    QDQ = "qdq"


class RunVia(str, Enum):
    """Which program runs: the Relay module itself, or what a translator made of it."""

    RELAY = "relay"
    TIR = "tir"
    GRAPH = "graph"


class Backend(str, Enum):
    """What runs the program."""

    NUMPY = "numpy"
    C = "c"
    TVM = "tvm"


class Device(str, Enum):
    """Where apache-tvm runs."""

    CPU = "cpu"
    CUDA = "cuda"


class Over(str, Enum):
    """What is searched."""

    NODES = "nodes"
    PASSES = "passes"
    RELAX_PASSES = "relax-passes"
    RULES = "rules"


class Draw(str, Enum):
    """How inputs are drawn."""

    NORMAL = "normal"
    UNIFORM = "uniform"
    ZEROS = "zeros"
    ONES = "ones"
    EXTREMES = "extremes"


class Library(str, Enum):
    """What computes products and convolutions in place of our own kernels."""

    OPENBLAS = "openblas"
    TORCH = "torch"


class FailOn(str, Enum):
    """From which verdict on a command fails."""

    TENSORIR = "tensorir"
    LOSSY = "lossy"
    REFUSED = "refused"


class MigrationFailOn(str, Enum):
    """From which verdict on a migration fails, or whether where one became worse."""

    TENSORIR = "tensorir"
    LOSSY = "lossy"
    UNCHECKED = "unchecked"
    DIFFERENCE = "difference"
    REFUSED = "refused"
    WORSE = "worse"


class GraphFormat(str, Enum):
    """How a graph is shown."""

    TREE = "tree"
    TEXT = "text"
    MSC = "msc"
    JSON = "json"
    DOT = "dot"
    MODEL_EXPLORER = "model-explorer"


class ModernNames(str, Enum):
    """Whose names a rewritten script has, where both have one."""

    RELAY2RELAX = "relay2relax"
    TVM = "tvm"


class CacheAction(str, Enum):
    """What is done with the cache of builds."""

    INFO = "info"
    CLEAR = "clear"


class ExportFormat(str, Enum):
    """What a model is exported as."""

    C = "c"
    ONNX = "onnx"
    TVM = "tvm"


DeviceOption = Annotated[Device, typer.Option("--device", help="Where --backend tvm runs: on a GPU it needs one.")]
TargetOption = Annotated[
    Optional[str],
    typer.Option(
        "--target",
        help="Another machine that a C library is for: aarch64, riscv64, x86_64, wasm32, or a triple such as "
        "aarch64-linux-gnu. With --format tvm llvm, which is this processor, or cuda, which is GPUs.",
    ),
]
StrictNan = Annotated[
    bool,
    typer.Option(
        "--strict-nan",
        help="Let a NaN or an infinity reach those results alone that it has a part in: no convolution by Winograd.",
    ),
]
CpuOption = Annotated[
    Optional[str],
    typer.Option("--cpu", help="The processor that a C library is for, as the compiler calls it, such as neoverse-n1."),
]
Model = Annotated[
    Path,
    typer.Argument(metavar="MODEL", help="A Relay module, as text or save_json file, or a model of ONNX or PyTorch."),
]
Program = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A Relay module, a TVMScript of Relax, or a folder of one.")
]
Params = Annotated[
    Optional[Path], typer.Option("--params", help="Values for parameters: .params, .safetensors, .npz, .npy, .pt.")
]
DimsOption = Annotated[
    Optional[list[str]],
    typer.Option(
        "--dims",
        metavar="NAME=DIM,…",
        help="Name or fix `?` extents of an input, e.g. data=batch,_,_,_ or data=2,_,_,_ (repeatable).",
    ),
]
ViaOption = Annotated[Via, typer.Option("--via", help="High-level operators through the graph, or TensorIR.")]
PartitionsOption = Annotated[
    Partitions,
    typer.Option(
        "--partitions",
        help="Functions for external compilers stay functions, for RunCodegen, or give way to their bodies; with "
        "schedules that fuse they always do.",
    ),
]
QuantisedOption = Annotated[
    Quantised,
    typer.Option(
        "--qnn",
        help="Quantised operators become integer arithmetic with Relay's bits, or floats between R.dequantize and "
        "R.quantize, which the summary bounds.",
    ),
]
AsJsonLines = Annotated[
    bool,
    typer.Option(
        "--json-lines",
        callback=outcome.asked_for_lines,
        help="Print a JSON object on a line for each model when it is done, and that of --json on the last.",
    ),
]
AsJson = Annotated[
    bool,
    typer.Option(
        "--json",
        callback=outcome.asked_for_json,
        is_eager=True,
        help="Print one JSON document instead of text, on failure too.",
    ),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the random values for inputs that are not given.")]
AllowMissing = Annotated[
    bool, typer.Option("--allow-missing", help="Weights without a value among the params become inputs.")
]
Force = Annotated[bool, typer.Option("--force", help="Write over files that were not written by this command.")]
Inputs = Annotated[Optional[Path], typer.Option("--inputs", help="Values for inputs, by name, in such a file.")]
