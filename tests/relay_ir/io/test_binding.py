"""Values for the parameters of a model: what is bound, what is an input, what is converted."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from relay2relax import relay_ir
from relay2relax.core.dtype import numpy_dtype
from relay2relax.core.errors import ParseError, Relay2RelaxError, UnsupportedError
from relay2relax.relay_ir.io.accounting import named_alone
from relay2relax.relay_ir.io.binding import bind_values

MODEL = """#[version = "0.0.5"]
def @main(%b: Tensor[(3), float32], %ids: Tensor[(2), int64], %table: Tensor[(9, 4), float32],
          %w: Tensor[(3, 4), float32]) {
  %0 = take(%table, add(%ids, 1i64), axis=0);
  nn.bias_add(nn.dense(%0, %w, units=3), %b, axis=-1)
}
"""
VALUES = {
    "w": np.ones((3, 4), "float32"),
    "b": np.zeros(3, "float32"),
    "table": np.ones((9, 4), "float32"),
    "ids": np.array([1, 2]),
}


def given(*names: str) -> dict[str, np.ndarray]:
    return {name: VALUES[name] for name in names}


def test_what_has_no_value_is_the_input() -> None:
    found = bind_values(relay_ir.parse(MODEL), given("w", "b", "table"))
    assert (list(found.weights), found.inputs, found.open, found.warnings) == (["b", "table", "w"], {}, ("ids",), ())


def test_a_value_for_an_input_is_no_weight() -> None:
    found = bind_values(relay_ir.parse(MODEL), VALUES)
    assert (list(found.weights), list(found.inputs)) == (["b", "table", "w"], ["ids"])
    assert found.warnings == ("every parameter has a value; taken for inputs, and not for weights: ids",)
    text = '#[version = "0.0.5"] def @main(%s: Tensor[(2), float32], %x: Tensor[(2), float32]) { add(%s, %x) }'
    ones = {name: np.ones(2, "float32") for name in ("x", "s")}
    assert list(bind_values(relay_ir.parse(text), ones).inputs) == ["s"]


def test_a_table_is_looked_up_by_inputs_alone_where_shapes_are_asked() -> None:
    text = """#[version = "0.0.5"]
    def @main(%table: Tensor[(9, 4), float32], %ids: Tensor[(2), int64]) {
      %0 = take(shape_of(%table, dtype="int64"), 0i64);
      take(%table, where(less(%ids, 0i64), add(%ids, %0), %ids), axis=0)
    }"""
    assert list(bind_values(relay_ir.parse(text), given("table", "ids")).inputs) == ["ids"]


def test_values_of_another_dtype_are_converted_where_nothing_is_lost() -> None:
    mod = relay_ir.parse(MODEL)
    found = bind_values(mod, {**given("b", "table"), "w": VALUES["w"].astype("float64") / 4})
    assert found.weights["w"].dtype == np.float32
    assert (found.weights["w"] == 0.25).all()
    assert found.warnings == ("converted, without a change of any value: w (float64 to float32)",)
    with pytest.raises(Relay2RelaxError, match=r"another dtype, and would change: w \(float64 to float32\)"):
        bind_values(mod, {**given("b", "table"), "w": VALUES["w"] / np.float64(3)})
    with pytest.raises(Relay2RelaxError, match="expected \\(3, 4\\) of float32, given \\(3, 4\\) of int64"):
        bind_values(mod, {**given("b", "table"), "w": VALUES["w"].astype("int64")})


def test_a_file_without_arrays_is_refused() -> None:
    with pytest.raises(Relay2RelaxError, match="the params hold no arrays at all"):
        bind_values(relay_ir.parse(MODEL), {})


def test_a_single_array_is_for_its_name_or_for_the_only_parameter_that_is_left() -> None:
    mod = relay_ir.parse(MODEL)
    assert named_alone(mod, "ids") == "ids"
    assert named_alone(mod, "picture", given("w", "b", "table")) == "ids"
    assert named_alone(mod, "picture", given("w", "b")) == "picture"


def test_an_array_of_numpy_is_read(tmp_path: Path) -> None:
    for value in (VALUES["w"], np.asfortranarray(VALUES["table"]), np.array(3)):
        np.save(tmp_path / "some.w.npy", value)
        read = relay_ir.load_params(tmp_path / "some.w.npy")
        assert list(read) == ["some.w"]
        np.testing.assert_array_equal(read["some.w"], value)
        content = (tmp_path / "some.w.npy").read_bytes()
        for damaged in (content[:-1], content + b"x", content[:20]):
            with pytest.raises(ParseError):
                relay_ir.load_params(damaged)
    np.save(tmp_path / "objects.npy", np.array([{}]), allow_pickle=True)
    with pytest.raises(ParseError, match="dtype"):
        relay_ir.load_params(tmp_path / "objects.npy")


def checkpoint(content: object, **options: object) -> bytes:
    torch = pytest.importorskip("torch")
    stream = io.BytesIO()
    torch.save(content, stream, **options)
    return stream.getvalue()


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("around", ["", "state_dict"])
def test_a_state_dict_of_pytorch_is_read(zipped: bool, around: str) -> None:
    torch = pytest.importorskip("torch")
    state = {"w": torch.nn.Parameter(torch.tensor([[1.5, -2.0]])), "n": torch.tensor([3]).to(torch.bfloat16)}
    content = {around: state, "epoch": 3} if around else state
    found = relay_ir.load_params(checkpoint(content, _use_new_zipfile_serialization=zipped))
    assert list(found) == ["w", "n"]
    np.testing.assert_array_equal(found["w"], np.array([[1.5, -2.0]], "float32"))
    assert found["n"].dtype == numpy_dtype("bfloat16")
    assert found["n"].astype("float32").tolist() == [3.0]


def test_checkpoints_that_are_no_state_dict_are_refused(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(ParseError, match="holds no state dict, but a list"):
        relay_ir.load_params(checkpoint([1, 2]))
    with pytest.raises(ParseError, match="PyTorch does not read the checkpoint as weights alone"):
        relay_ir.load_params(checkpoint(torch.nn.Linear(2, 2)))
    with pytest.raises(ParseError, match="numpy has no such array"):
        relay_ir.load_params(checkpoint({"w": torch.eye(2).to_sparse()}))


def test_nothing_of_a_checkpoint_is_run(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return Path.touch, (Path(tmp_path / "ran"),)  # type: ignore[return-value]

    with pytest.raises(ParseError, match="as weights alone"):
        relay_ir.load_params(checkpoint({"w": Bomb()}))
    assert not (tmp_path / "ran").exists()


@pytest.mark.filterwarnings("error")
def test_a_refused_checkpoint_is_refused_in_our_words() -> None:
    """PyTorch's text advises to run the file."""
    torch = pytest.importorskip("torch")

    class Runs:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.system, ("true",)

    whole = checkpoint({"w": torch.ones(2)})
    files = {
        "it asks for posix.system, which is not run": checkpoint({"w": Runs()}),
        "it asks for torch.nn.modules.linear.Linear, which is not run": checkpoint(torch.nn.Linear(2, 2)),
        "it is damaged, or holds more than tensors": checkpoint({"w": torch.ones(2)}, pickle_protocol=4),
        "it asks for torch.FlootStorage": whole.replace(b"FloatStorage", b"FlootStorage"),
    }
    for expected, content in files.items():
        with pytest.raises(ParseError) as caught:
            relay_ir.load_params(content)
        said = str(caught.value)
        assert expected in said
        assert "save model.state_dict() and nothing else" in said
        assert "weights_only" not in said
        assert "torch.load" not in said


def test_a_checkpoint_without_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    content = checkpoint({"w": pytest.importorskip("torch").zeros(1)})
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(UnsupportedError, match="not installed") as caught:
        relay_ir.load_params(content)
    assert "pip install torch" in str(caught.value)
