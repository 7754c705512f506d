"""Every kind of mistake: its example makes it, its mend does not, and every error is of a kind."""

from __future__ import annotations

import runpy
import textwrap
from pathlib import Path

import pytest
from golden_folder import ROOT

from relay2relax import relax_ir, relay_ir
from relay2relax.core.errors import ErrorKind, Relay2RelaxError, all_kinds, find_kind

KINDS = list(all_kinds().values())


def run(kind: ErrorKind, text: str) -> None:
    """Do with an example what its language asks for."""
    program = textwrap.dedent(text).strip()
    match kind.language:
        case "relay":
            relay_ir.infer_type(relay_ir.parse(f'#[version = "0.0.5"]\n{program}\n'))
        case "tvmscript":
            relax_ir.check_well_formed(relax_ir.parse(program))
        case "python":
            exec(compile(program, kind.code, "exec"), {})  # noqa: S102


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Examples may write files."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.code)
@pytest.mark.sweep(every=2)
def test_the_example_makes_the_mistake(kind: ErrorKind) -> None:
    with pytest.raises(Relay2RelaxError) as caught:
        run(kind, kind.example)
    assert kind.code in [one.kind.code for one in caught.value.diagnostics if one.kind is not None]
    assert str(caught.value).startswith("error[R2R-")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.code)
def test_the_mend_is_right(kind: ErrorKind) -> None:
    run(kind, kind.mend)


def test_codes_are_unique_and_found() -> None:
    assert all(find_kind(kind.code) is kind for kind in KINDS)
    assert find_kind("100") is find_kind("r2r-0100") is find_kind("R2R-0100")
    assert find_kind("R2R-9999") is None


def subclasses(base: type[Relay2RelaxError]) -> list[type[Relay2RelaxError]]:
    """Return all classes of errors below ``base``."""
    return [one for direct in base.__subclasses__() for one in (direct, *subclasses(direct))]


def test_every_class_of_errors_has_a_kind_of_its_own() -> None:
    own = [one.__name__ for one in subclasses(Relay2RelaxError) if "kind" not in vars(one)]
    assert not own


def test_the_page_of_errors_is_up_to_date() -> None:
    tool = runpy.run_path(str(ROOT / "tools" / "error_pages.py"))
    assert tool["PAGE"].read_text(encoding="utf-8") == tool["page"](), "run: python tools/error_pages.py"
