"""How many results a call has, where TVM's function of the operator returns a tuple that can be
indexed.

Facts: the modules under ``tvm.relay.op`` of TVM 0.18.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, Union

_Fields: TypeAlias = Union[Sequence[object], None]
# A number, or what finds it from the attributes and the fields of the tuple that is the only
# argument.
_Count: TypeAlias = Union[int, Callable[[Any, _Fields], Union[int, None]]]


def _count_parts(attrs: Any, fields: _Fields) -> int:
    parts = attrs.indices_or_sections
    return len(parts) + 1 if isinstance(parts, (tuple, list)) else int(parts)


_RESULTS: Mapping[str, _Count] = {
    "meshgrid": lambda attrs, fields: None if fields is None else len(fields),
    "nn.batch_norm": 3,
    "nn.sparse_transpose": 3,
    "random.multinomial": 2,
    "random.normal": 2,
    "random.threefry_generate": 2,
    "random.threefry_split": 2,
    "random.uniform": 2,
    "sparse_fill_empty_rows": 3,
    "sparse_reshape": 2,
    "split": _count_parts,
    "topk": lambda attrs, fields: 2 if attrs.ret_type == "both" else None,
    "unique": lambda attrs, fields: 5 if attrs.return_counts else 4,
    "dft": 2,
    "dyn.topk": lambda attrs, fields: 2 if attrs.ret_type == "both" else None,
    "vision.all_class_non_max_suppression": lambda attrs, fields: 2 if attrs.output_format == "onnx" else 3,
    "vision.get_valid_counts": 3,
    "vision.multibox_transform_loc": 2,
    "vision.non_max_suppression": lambda attrs, fields: 2 if attrs.return_indices else None,
}


def count_results(name: str, attrs: object, fields: Sequence[object] | None = None) -> int | None:
    """Return how many results the operator ``name`` has with ``attrs``, None where TVM's function
    returns no such tuple.

    ``fields``  those of the only argument, where it is a tuple.
    """
    count = _RESULTS.get(name)
    return count(attrs, fields) if callable(count) else count
