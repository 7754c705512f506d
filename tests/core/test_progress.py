"""What is read of work that goes on."""

from __future__ import annotations

import pytest

from relay2relax import relay_ir
from relay2relax.core.progress import going_on, how_far
from relay2relax.relay_ir.text.lexer import Lexer


def test_the_outermost_work_tells_its_share() -> None:
    assert how_far() is None
    with going_on("files", lambda: (1, 4)), going_on("lines", lambda: (5, 5)):
        assert how_far() == ("files", 0.25)
    with going_on("files", lambda: (9, 4)):
        assert how_far() == ("files", 1.0)
    assert how_far() is None


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
