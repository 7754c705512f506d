"""What is read of work that goes on."""

from __future__ import annotations

import pkgutil

import numpy as np
import pytest

from relay2relax import backends, graph, relax_ir, relay_ir, translator
from relay2relax.backends.vm.compiler import compile_module
from relay2relax.core.limits import Budget, Limits
from relay2relax.core.progress import each, going_on, how_far
from relay2relax.relax_ir.ir.visit import Steps
from relay2relax.relax_ir.transform.rewriting.mutator import Mutator
from relay2relax.relay_ir.text.lexer import Lexer


def test_the_outermost_work_tells_its_share_and_inner_work_is_a_part_of_its_step() -> None:
    assert how_far() is None
    with going_on("files", lambda: (1, 4)), going_on("lines", lambda: (1, 2)):
        assert how_far() == ("files", 0.375)
    with going_on("files", lambda: (9, 4)):
        assert how_far() == ("files", 1.0)
    assert how_far() is None


CHAIN = f"""#[version = "0.0.5"]
def @main(%x: Tensor[(2), float32]) {{ {"abs(" * 20}%x{")" * 20} }}
"""


def shares_of(seen: list[tuple[str, float] | None], words: str) -> list[float]:
    """Return the shares of one work, which grow from little to nearly all."""
    shares = [one[1] for one in seen if one is not None and one[0] == words]
    assert shares == sorted(shares)
    assert shares[0] < 0.3
    assert shares[-1] > 0.7
    assert len(set(shares)) > 10
    return shares


def test_reading_json_tells_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, float] | None] = []
    document = relay_ir.save_json(relay_ir.parse(CHAIN))
    monkeypatch.setattr(Budget, "check", lambda _: seen.append(how_far()))
    with Limits(seconds=600):
        relay_ir.load_json(document)
    shares_of(seen, "nodes of the document")


def test_the_way_into_relax_tells_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, float] | None] = []
    made = graph.from_relay(relay_ir.parse(CHAIN))
    monkeypatch.setattr("relay2relax.graph.relax.control.check", lambda: seen.append(how_far()))
    graph.to_relax(*made)
    shares_of(seen, "nodes of Relax")


def test_drawing_a_graph_tells_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, float] | None] = []
    made, _ = graph.from_relay(relay_ir.parse(CHAIN))
    find_node = graph.MSCGraph.find_node

    def watched(self: graph.MSCGraph, name: str) -> graph.MSCJoint:
        seen.append(how_far())
        return find_node(self, name)

    monkeypatch.setattr(graph.MSCGraph, "find_node", watched)
    graph.to_dot(made)
    shares_of(seen, "nodes of the picture")


def test_running_relay_tells_how_far_it_is() -> None:
    seen: list[tuple[str, float] | None] = []
    executor = backends.create_executor("debug", relay_ir.infer_type(relay_ir.parse(CHAIN)))
    executor.evaluate(observe=lambda *_: seen.append(how_far()))(np.ones(2, np.float32))
    shares_of(seen, "instructions of Relay")


def test_reading_a_text_tells_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, float] | None] = []
    advance = Lexer.advance

    def watched(self: Lexer) -> None:
        seen.append(how_far())
        advance(self)

    monkeypatch.setattr(Lexer, "advance", watched)
    relay_ir.parse('#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32]) { abs(%x) }')
    shares = [one[1] for one in seen if one is not None]
    assert shares == sorted(shares)
    assert shares[0] < 0.1
    assert shares[-1] > 0.9


@pytest.mark.parametrize("items", [[1, 2, 3, 4], (1, 2, 3, 4), {1: 1, 2: 2, 3: 3, 4: 4}])
def test_items_that_are_given_count_when_they_are_done(items: list[int]) -> None:
    seen: list[object] = []
    with each("items", items) as rest:
        seen += ((item, how_far()) for item in rest)
    assert seen == [(1, ("items", 0.0)), (2, ("items", 0.25)), (3, ("items", 0.5)), (4, ("items", 0.75))]
    assert how_far() is None


def test_items_say_nothing_any_more_where_one_fails() -> None:
    with pytest.raises(ZeroDivisionError), each("items", [1, 0]) as rest:
        list(map((1).__truediv__, rest))
    assert how_far() is None


def test_passes_tell_how_far_they_are_within_each(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, float] | None] = []
    done = Mutator._binding

    def watched(self: Mutator, binding: relax_ir.Binding | relax_ir.MatchCast) -> Steps:
        seen.append(how_far())
        return done(self, binding)

    made = translator.via_graph(relay_ir.parse(CHAIN))
    monkeypatch.setattr(Mutator, "_binding", watched)
    relax_ir.transform.Sequential([relax_ir.transform.ToNonDataflow()] * 2)(made)
    assert seen[:2] == [("passes", 0.0), ("passes", 0.5 / len(seen[::2]))]


def test_running_relax_tells_how_far_it_is() -> None:
    seen: list[tuple[str, float] | None] = []
    machine = backends.VirtualMachine(backends.build(translator.via_graph(relay_ir.parse(CHAIN)), "numpy"))

    def look(*_: object) -> int:
        seen.append(how_far())
        return 0

    machine.set_instrument(look)
    machine["main"](np.ones(2, np.float32))
    shares_of(seen, "steps of the program")


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("relax_ir.script.printer._FunctionPrinter.bound", "bindings of the script"),
        ("relax_ir.analysis.check._Checker.one_binding", "bindings that are checked"),
        ("graph.formats.json.writer._node_fields", "nodes of the document"),
        ("backends.vm.compiler._FunctionCompiler.binding", "bindings of Relax"),
    ],
)
def test_what_follows_a_translation_tells_how_far_it_is(monkeypatch: pytest.MonkeyPatch, step: str, words: str) -> None:
    seen: list[tuple[str, float] | None] = []
    module = relay_ir.parse(CHAIN)
    owner, name = pkgutil.resolve_name(f"relay2relax.{step.rpartition('.')[0]}"), step.rpartition(".")[2]
    done = getattr(owner, name)

    def watched(*given: object) -> object:
        seen.append(how_far())
        return done(*given)

    made = translator.via_graph(module)
    monkeypatch.setattr(owner, name, watched)
    relax_ir.check_well_formed(made)
    made.script()
    graph.to_json(graph.from_relay(module)[0])
    compile_module(made)
    shares_of([one for one in seen if one is not None and one[0] == words], words)
