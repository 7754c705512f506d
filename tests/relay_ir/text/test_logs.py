"""Relay as it stands in logs: behind heads of lines, between other messages, as debug builds print
it.
"""

from __future__ import annotations

import warnings

import pytest
from typed import of_type

from relay2relax import relay_ir
from relay2relax.core.errors import ParseError
from relay2relax.relay_ir import Function, VirtualDevice

MAIN = """def @main(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {
  %0 = nn.relu(%x) /* ty=Tensor[(2, 3), float32] */;
  negative(%0) /* a } in a comment */
}
"""
FUNCTION = MAIN.replace("def @main", "fn ")
EXPECTED = relay_ir.parse(MAIN)
HEADS = (
    "2021-05-06T12:00:00.123Z ",
    "2021-05-06T12:00:00.123456789Z stdout F ",
    "[INFO] net.py:12: ",
    "[10:11:12] /src/relay.cc:33: ",
    "container_1  | ",
    "I0506 12:00:00.123456 77 relay.cc:12] ",
    "INFO:root:",
    "> ",
    "DEBUG 2021-05-06 12:00:00,123 ",
)


def headed(head: str, text: str) -> str:
    return "".join(f"{head}{line}\n" if line else f"{head.rstrip()}\n" for line in text.split("\n"))


def read(text: str) -> tuple[relay_ir.IRModule, list[str]]:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = relay_ir.parse(text, "log")
    return found, [str(one.message) for one in said]


@pytest.mark.parametrize("text", [MAIN, FUNCTION, f'#[version = "0.0.5"]\n{MAIN}', f"v0.0.4\n{FUNCTION}"])
@pytest.mark.parametrize("head", HEADS)
def test_every_line_may_have_a_head(head: str, text: str) -> None:
    found, said = read(headed(head, text))
    assert relay_ir.structural_equal(found, EXPECTED)
    assert said == []


def test_numbers_in_heads_change_from_line_to_line() -> None:
    lines = [f"2021-05-06T12:00:0{i}.{i}23Z {line}" for i, line in enumerate(MAIN.splitlines())]
    found, said = read("\n".join([*lines, "2021-05-06T12:01:00.9Z done"]))
    assert relay_ir.structural_equal(found, EXPECTED)
    assert said == ["log: line 5 is not Relay, and is left out"]


def test_the_first_line_may_have_more_of_a_head_than_the_others() -> None:
    found, _ = read("web_1  | INFO:root:" + headed("web_1  | ", MAIN).removeprefix("web_1  | "))
    assert relay_ir.structural_equal(found, EXPECTED)


def test_what_a_log_says_behind_a_definition_is_left_out_and_told() -> None:
    other = "def @other(%x: Tensor[(2), int8]) {\n  %x\n}\n"
    text = f"Relay module:\n v0.0.4\n{MAIN}\nparameters:\n {{'a': 1}}\nINFO:root:{other}tuning …\n"
    found, said = read(text)
    assert {var.name for var in found.functions} == {"main", "other"}
    assert said == ["log: lines 8 to 9, 13 are not Relay, and are left out"]
    mistake = text.replace("negative(%0)", "negative(%1)")
    with pytest.raises(ParseError) as caught:
        relay_ir.parse(mistake)
    where = caught.value.diagnostics[0].where
    assert where is not None
    assert where.line == 5


def test_what_follows_relay_alone_is_refused_unless_it_is_to_be_recovered() -> None:
    text = MAIN + "\nTVM parameters:\n dict_keys(['w'])\n"
    with pytest.raises(ParseError, match="is left out with --recover"):
        relay_ir.parse(text)
    with pytest.warns(UserWarning, match="lines 6 to 7 are not Relay"):
        assert relay_ir.structural_equal(relay_ir.parse(text, recover=True), EXPECTED)


def test_a_function_that_is_printed_twice_is_told() -> None:
    """TVM's reader takes the last one, too."""
    before = MAIN.replace("negative", "exp")
    found, said = read(f"before:\n{before}after:\n{MAIN}")
    assert relay_ir.structural_equal(found, EXPECTED)
    assert "log: @main is defined again in line 7: that one is taken" in said


def test_metadata_behind_a_head_is_read() -> None:
    weight = relay_ir.const([1.0, 2.0])
    mod = relay_ir.IRModule.from_expr(relay_ir.Tuple((weight, weight)))
    found, said = read(f"INFO:root:{mod.astext()}\nnext message {{\n")
    assert relay_ir.structural_equal(found, mod)
    assert len(said) == 1


def test_types_of_operands_that_debug_builds_print_are_read() -> None:
    text = """def @main(%x: Tensor[(2, 3), float32], %y: float32) {
      %0 = (%x, %x);
      %1 = concatenate(%0, (Tensor[(2, 3), float32], Tensor[(2, 3), float32]), axis=1);
      %2 = cast(%1, Tensor[(2, 6), float32], dtype="float16");
      %3 = cast(%2, Tensor[(2, 6), float16], dtype="float32");
      add(%3, %y, Tensor[(2, 6), float32], float32)
    }"""
    plain = """def @main(%x: Tensor[(2, 3), float32], %y: float32) {
      %0 = (%x, %x);
      %1 = concatenate(%0, axis=1);
      %2 = cast(%1, dtype="float16");
      %3 = cast(%2, dtype="float32");
      add(%3, %y)
    }"""
    assert relay_ir.structural_equal(relay_ir.parse(text), relay_ir.parse(plain))


@pytest.mark.parametrize("name", ["VirtualDevice", "SEScope"])
def test_devices_that_are_described_in_place_are_read(name: str) -> None:
    host = "host=Target(id=55d0, kind='llvm', keys={'cpu'})"
    target = f"Target(id=55d1, kind='cuda', keys={{'cuda', 'gpu'}}, attrs={{'max_num_threads': 1024}}, {host})"
    said = f"{name}(device_type=2, virtual_device_id=3, target={target}, memory_scope='global')"
    text = f"def @main(%x {{virtual_device={said}}}: int8, virtual_device={name}(?), scopes=[{said}]) {{ %x }}"
    found = of_type(relay_ir.parse(text)["main"], Function)
    device = found.params[0].virtual_device
    assert device is not None
    assert (device.device_type, device.device_id, device.memory_scope) == (2, 3, "global")
    assert device.target is not None
    assert (device.target.kind, device.target.keys) == ("cuda", ("cuda", "gpu"))
    (stated,) = of_type(found.attrs["scopes"], tuple)
    assert isinstance(stated, VirtualDevice)
    with pytest.raises(ParseError, match="description of a device is not closed"):
        relay_ir.parse(f"def @main(%x: int8, scope={name}(device_type=1,\n 2")


def test_a_planned_module_reads_its_own_dump() -> None:
    mod = relay_ir.parse("def @main(%x {virtual_device=VirtualDevice(device_type=1)}: int8) { %x }")
    assert relay_ir.structural_equal(relay_ir.parse(mod.astext(show_meta_data=False)), mod)


def test_remarks_of_the_first_versions_are_left_out() -> None:
    text = """v0.0.1
fn (%x: Tensor[(2,), float32])
    -> Tensor[(2,), float32] {
  %0 = log(%x) # ty=Tensor[(2,), float32]
  %1 = add(%0, %x) # ty=Tensor[(2,), float32]
  %1
}
# meta data omitted. you can use show_meta_data=True to include meta-data
"""
    found = relay_ir.parse(text)
    plain = "def @main(%x: Tensor[(2), float32]) -> Tensor[(2), float32] { %0 = log(%x); add(%0, %x) }"
    assert relay_ir.structural_equal(found, relay_ir.parse(plain))
    with pytest.raises(ParseError):
        relay_ir.parse(text.replace("v0.0.1", "v0.0.4"))


def test_a_page_that_shows_a_function_cut_short_is_read_until_there() -> None:
    page = f"# Relay\n\n{MAIN[: MAIN.index('negative')]}\n\n### Relax\n\nNow {{\n{MAIN.replace('main', 'f')}"
    with pytest.raises(ParseError):
        relay_ir.parse(page)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = relay_ir.parse(page, recover=True)
    assert "breaks off in line 4" in str(said[0].message)
    plain = "def @main(%x: Tensor[(2, 3), float32]) { nn.relu(%x) }"
    assert relay_ir.structural_equal(found, relay_ir.parse(plain))


def test_expressions_of_a_page_end_with_an_empty_line() -> None:
    page = "In [1]:\nv0.0.1\nfree_var %x: int8\n%0 = negative(%x)\n%0\n\n"
    page += "Out:\nv0.0.1\nfn (%x: int8) {\n  exp(%x)\n}\nBye {\n"
    found, said = read(page + MAIN.replace("main", "f"))
    assert {var.name for var in found.functions} == {"main", "main_1", "f"}
    assert said == ["log: lines 7, 12 are not Relay, and are left out"]
