"""What files are called that are made of a model: as the model, in a word that Python imports."""

from __future__ import annotations

import keyword
import re
import sys
from pathlib import Path
from unicodedata import normalize

# What names of models end with; what else stands behind a dot belongs to the name.
_ENDINGS = frozenset({".relay", ".json", ".txt", ".py", ".rly", ".ir", ".text", ".onnx", ".pt2", ".pt"})
# A script of such a name would be imported where it says `import tvm`, or whoever runs it does.
_TAKEN = frozenset({
    "tvm", "tvm_ffi", "numpy", "scipy", "torch", "torchvision", "onnx", "onnxruntime", "tensorflow", "jax", "keras",
    "mxnet", "paddle", "safetensors", "ml_dtypes", "relay2relax", "typing_extensions", "pip", "setuptools", "pytest",
})  # fmt: skip
# Names that say nothing of the model: then the folder says which it is.
_UNTOLD = "model"


def plain_name(path: Path) -> str:
    """Return how the model in ``path`` is called: its file without its ending, or its folder."""
    name = path.name
    while Path(name).suffix.lower() in _ENDINGS:
        name = Path(name).stem
    return (path.resolve().parent.name or name) if name == _UNTOLD else name


def importable(name: str) -> str:
    """Return a word made of ``name`` that Python can import, and that hides no module by it."""
    word = re.sub(r"\W+", "_", re.sub(r"^\W+|\W+$", "", normalize("NFKC", name))) or _UNTOLD
    if not word.isidentifier():
        word = f"{_UNTOLD}_{word}"
    if keyword.iskeyword(word) or word in _TAKEN or word in sys.stdlib_module_names:
        word = f"{word}_{_UNTOLD}"
    return word
