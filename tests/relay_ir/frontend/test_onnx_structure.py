"""Networks that PyTorch exports are imported as TVM's importer was recorded to import them."""

from __future__ import annotations

from collections import Counter

import pytest
from golden_folder import golden_root

from relay2relax.relay_ir import frontend

pytest.importorskip("onnx")
pytest.importorskip("torch")

from imported.recorded_networks import NETWORKS, exported
from imported.structure import operators, plain, without_names

GOLDEN = golden_root()
pytestmark = pytest.mark.skipif(GOLDEN is None, reason="recorded cases are absent")


def texts(name: str) -> tuple[str, str]:
    """Return what TVM's importer made of a network, and ours."""
    assert GOLDEN is not None
    make, data = NETWORKS[name]
    mod, _ = frontend.from_onnx(exported(make(), data()))
    return plain((GOLDEN / "models" / name / "model.relay").read_text(encoding="utf-8")), plain(str(mod))


# The larger ones are on the page onnx-differences.md, which is made by the same comparison.
@pytest.mark.parametrize("name", ["resnet18_onnx_small", "unet"])
def test_networks_are_the_recorded_text(name: str) -> None:
    theirs, ours = texts(name)
    assert without_names(ours) == without_names(theirs)


def test_an_encoder_differs_by_extents_that_are_known() -> None:
    """TVM's importer computes how many rows a table has, which is told beforehand."""
    theirs, ours = texts("bert_tiny")
    assert operators(theirs) - operators(ours) == Counter({"shape_of": 1, "take": 1})
    assert not operators(ours) - operators(theirs)
