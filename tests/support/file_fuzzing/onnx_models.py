"""ONNX models: those that the package ``onnx`` holds, and its tests of operators."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from file_fuzzing.format import LONGEST, Format, damage_bytes
from relay2relax import relay_ir
from relay2relax.core.errors import Relay2RelaxError

_INTS = (0, -1, 1, 2, -2, 7, 100, 2**31, -(2**31), 2**63 - 1, -(2**63), 2**40)
_FLOATS = (float("nan"), float("inf"), 0.0, -1.0, 1e38)
_WORDS = (b"", b"x", b"NCHW", b"a\nb", b"\0", b"linear", b"\xff\xfe", "🙂".encode())
_NAMES = ("", "x", "nowhere")
_OPERATORS = ("Add", "Conv", "Nope", "If", "Loop", "Reshape", "Gather", "Split", "Max", "Resize")


def check(data: bytes) -> bool:
    """Read a model."""
    try:
        module, _ = relay_ir.frontend.from_onnx(data)
        relay_ir.infer_type(module)
    except Relay2RelaxError:
        return False
    return True


@lru_cache
def _stored() -> list[bytes]:
    import onnx

    folder = Path(onnx.__file__).parent / "backend" / "test" / "data"
    found = [path.read_bytes() for path in sorted(folder.glob("*/*/model.onnx")) if path.stat().st_size < LONGEST]
    assert found
    return found


@lru_cache
def _operators() -> list[bytes]:
    from onnx.backend.test.case.node import collect_testcases

    found = [case.model.SerializeToString() for case in collect_testcases(None)]
    return [one for one in found if len(one) < LONGEST]


def _damage(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    """Change what a model says, one time in eight its bytes."""
    import onnx

    try:
        model = onnx.load_model_from_string(data)
        if rng.randrange(8) and model.graph.node:
            for _ in range(rng.choice((1, 1, 2, 3))):
                rng.choice(_CHANGES)(rng, model)
            return bytes(model.SerializeToString())[:LONGEST]
    except Exception:  # noqa: BLE001 - what protobuf does not read or write is damaged as bytes
        return damage_bytes(rng, data, others)
    return damage_bytes(rng, data, others)


def _node(rng: random.Random, model: Any) -> Any:
    return rng.choice(model.graph.node)


def _attribute(rng: random.Random, model: Any) -> None:
    attributes = _node(rng, model).attribute
    if not attributes:
        return
    one = rng.choice(attributes)
    match rng.randrange(8):
        case 0:
            attributes.remove(one)
        case 1:
            one.type = rng.randrange(15)
        case 2:
            one.ints.append(rng.choice(_INTS))
        case 3:
            del one.ints[:]
        case _:
            one.i, one.f, one.s = rng.choice(_INTS), rng.choice(_FLOATS), rng.choice(_WORDS)
            if one.ints:
                one.ints[rng.randrange(len(one.ints))] = rng.choice(_INTS)
            if one.floats:
                one.floats[rng.randrange(len(one.floats))] = rng.choice(_FLOATS)


def _names(rng: random.Random, model: Any) -> None:
    node = _node(rng, model)
    names = node.input if rng.randrange(3) else node.output
    known = [name for one in model.graph.node for name in (*one.input, *one.output)]
    match rng.randrange(3):
        case 0:
            names.append(rng.choice((*_NAMES, *known)))
        case 1:
            del names[rng.randrange(len(names) + 1) :]
        case _ if names:
            names[rng.randrange(len(names))] = rng.choice((*_NAMES, *known))


def _operator(rng: random.Random, model: Any) -> None:
    _node(rng, model).op_type = rng.choice((*_OPERATORS, *(one.op_type for one in model.graph.node)))


def _opset(rng: random.Random, model: Any) -> None:
    rng.choice(model.opset_import).version = rng.choice((1, 5, 7, 9, 11, 13, 18, 21, 24, 99, -1, 2**40))


def _type(rng: random.Random, model: Any) -> None:
    info = rng.choice([*model.graph.input, *model.graph.output])
    tensor, dims = info.type.tensor_type, info.type.tensor_type.shape.dim
    match rng.randrange(6):
        case 0:
            tensor.elem_type = rng.randrange(25)
        case 1:
            tensor.ClearField("shape")
        case 2:
            del dims[rng.randrange(len(dims) + 1) :]
        case 3:
            dims.add().dim_param = rng.choice(_NAMES)
        case _ if dims:
            rng.choice(dims).dim_value = rng.choice(_INTS)


def _weights(rng: random.Random, model: Any) -> None:
    if not model.graph.initializer:
        return
    tensor = rng.choice(model.graph.initializer)
    match rng.randrange(4):
        case 0:
            tensor.data_type = rng.randrange(25)
        case 1:
            tensor.raw_data = tensor.raw_data[: rng.randrange(len(tensor.raw_data) + 1)]
        case 2:
            tensor.dims.append(rng.choice(_INTS))
        case _ if tensor.dims:
            tensor.dims[rng.randrange(len(tensor.dims))] = rng.choice(_INTS)


_CHANGES: tuple[Callable[[random.Random, Any], None], ...] = (
    _attribute, _attribute, _names, _operator, _opset, _type, _type, _weights,
)  # fmt: skip


ONNX = Format("onnx", _stored, _damage, check)
ONNX_OPERATORS = Format("onnx-operators", _operators, _damage, check)
