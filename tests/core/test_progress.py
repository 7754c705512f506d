"""What is read of work that goes on."""

from __future__ import annotations

import numpy as np
import pytest

from relay2relax import backends, graph, relay_ir
from relay2relax.core.progress import going_on, how_far
from relay2relax.relay_ir.text.lexer import Lexer


def test_the_outermost_work_tells_its_share() -> None:
    assert how_far() is None
    with going_on("files", lambda: (1, 4)), going_on("lines", lambda: (5, 5)):
        assert how_far() == ("files", 0.25)
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
    monkeypatch.setattr("relay2relax.relay_ir.json.reader.check", lambda: seen.append(how_far()))
    relay_ir.load_json(document)
    shares_of(seen, "nodes of the document")


def test_the_way_into_relax_tells_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, float] | None] = []
    made = graph.from_relay(relay_ir.parse(CHAIN))
    monkeypatch.setattr("relay2relax.graph.relax.exporter.check", lambda: seen.append(how_far()))
    graph.to_relax(*made)
    shares_of(seen, "nodes of Relax")


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
