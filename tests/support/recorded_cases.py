"""What the tests over recorded cases share: values, arguments, texts, and what is wrong with a
result.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from relay2relax.backends.relay.values import AdtValue, RefValue
from relay2relax.core.dtype import numpy_dtype
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.tolerance import difference
from relay2relax.relay_ir import Function, IRModule, infer_type, load_json, parse

# Sums in the recorded programs are no longer than this; their chains are short.
REDUCTION = 1024
VALUED_FILES = ["operators", "dynamic", "language", "frontend_onnx", "frontend_torch", "random"]
# ` /* ty=T */` and the type in ` /* ty=T span=… */`
_TYPE = re.compile(r" /\* ty=(?:(?!\*/| span=).)*?((?: span=(?:(?!\*/).)*)?) \*/", re.DOTALL)
_CALLED = re.compile(r"(?<![\w%@.:])([a-z_][\w]*(?:\.[\w]+)*)\(")


def called(text: str) -> set[str]:
    """Return the names of the operators that a Relay text calls."""
    program = re.sub(r"/\*.*?\*/", "", text.split("#[metadata]")[0])
    return set(_CALLED.findall(program)) - {"def", "fn", "if", "match", "let"}


def program(text: str) -> str:
    """Return a text up to its metadata section, or to the remark that it was left out."""
    return text.split("\n#[metadata]")[0].split("\n/* For debugging")[0].rstrip("\n")


def without_types(text: str) -> str:
    """Return a text without the types in its comments."""
    return _TYPE.sub(lambda found: f" /*{found[1]} */" if found[1] else "", text)


def without_spans(text: str) -> str:
    """Return a text without the spans in its comments."""
    return re.sub(r" span=\S*(?= \*/)|[ ]*/\* span=[^*]*\*/", "", text)


def value(data: Mapping[str, Any]) -> Any:
    """Return a recorded tensor, tuple or reference.

    KeyError for what was not recorded (large data, closures).
    """
    if "tuple" in data:
        return tuple(value(one) for one in data["tuple"])
    if "ref" in data:
        return RefValue(value(data["ref"]))
    if "tag" in data and data["tag"] == 0 and "ctor" not in data:
        return tuple(value(one) for one in data["fields"])
    return np.frombuffer(base64.b64decode(data["b64"]), numpy_dtype(data["dtype"])).reshape(data["shape"])


def flat(result: Any) -> list[np.ndarray]:
    """Return the arrays of a result in order."""
    if isinstance(result, (tuple, list)):
        return [one for field in result for one in flat(field)]
    return [np.asarray(result)]


def has_data(case: Mapping[str, Any]) -> bool:
    """Whether arguments and result of a case were recorded in full."""

    def complete(data: Mapping[str, Any]) -> bool:
        parts = data.get("tuple", data.get("fields"))
        if parts is not None:
            return all(map(complete, parts))
        return complete(data["ref"]) if "ref" in data else "b64" in data

    if "out" not in case or case.get("data_dropped"):
        return False
    given = (*case.get("args", ()), *case.get("kwargs", {}).values())
    return all(map(complete, (*given, case["out"]))) and not any("ctor" in one or one.get("tag") for one in given)


def arguments(case: Mapping[str, Any], function: Function) -> list[Any]:
    """Return the recorded arguments in the order of the function's parameters."""
    given = [value(one) for one in case.get("args", ())]
    named = case.get("kwargs", {})
    return given + [value(named[param.name]) for param in function.params[len(given) :]]


def typed_case(case: Mapping[str, Any]) -> tuple[IRModule, Function]:
    """Return the module of a case, from its JSON where that was recorded, and the function that
    ran.
    """
    mod = load_json(case["json"]) if "json" in case else parse(case["text"], case["id"])
    mod = infer_type(mod, declare_results=True)
    function = mod[entry(case)]
    assert isinstance(function, Function)
    return mod, function


def entry(case: Mapping[str, Any]) -> str:
    """Return the name of the function that ran."""
    return str(case.get("entry", "main"))


def problem(got: Any, case: Mapping[str, Any], mod: IRModule) -> str:
    """Return what is wrong with a result, nothing where it is the recorded one."""
    places = {one.name: place for data in mod.type_definitions.values() for place, one in enumerate(data.constructors)}
    names = called(case["text"])
    expected = case["out"]
    if not _has_constructors(expected) and "ref" not in expected:
        results, wanted = flat(got), flat(value(expected))
        if len(results) != len(wanted):
            return f"{len(results)} arrays, expected {len(wanted)}"
        pairs = zip(_defined(names, results, wanted), _defined(names, wanted, wanted), strict=True)
        found = [difference(one, other, REDUCTION) for one, other in pairs]
        return "; ".join(f"output {number}: {one}" for number, one in enumerate(found) if not one.agrees)
    return "" if _agrees(got, expected, places) else "another result"


def _has_constructors(data: Mapping[str, Any]) -> bool:
    if "tuple" in data:
        return any(map(_has_constructors, data["tuple"]))
    return "ctor" in data or bool(data.get("tag")) or any(map(_has_constructors, data.get("fields", ())))


def _agrees(got: Any, data: Mapping[str, Any], places: Mapping[str, int]) -> bool:
    """Whether ``got`` is the recorded value.

    ``places`` are the numbers of constructors, which end a recorded tag.
    """
    match data:
        case {"tuple": parts}:
            return len(got) == len(parts) and all(_agrees(*pair, places) for pair in zip(got, parts, strict=True))
        case {"tag": int(tag), "fields": parts}:
            # TVM's machine has tuples as ADT values; in Relax, values of data types are tuples.
            if isinstance(got, AdtValue) and places[got.constructor.name] != tag & 0xFFFFFF:
                return False
            fields = got.fields if isinstance(got, AdtValue) else got
            if len(fields) != len(parts):
                return False
            return all(_agrees(*pair, places) for pair in zip(fields, parts, strict=True))
        case {"ref": inner}:
            return _agrees(got.value, inner, places)
    return difference(got, value(data), REDUCTION).agrees


def _defined(names: set[str], results: list[np.ndarray], expected: list[np.ndarray]) -> list[np.ndarray]:
    """Return the part of ``results`` that TVM defines: what lies past a count is whatever was in
    memory.
    """
    if "unique" in names and len(expected) >= 4:
        count = int(expected[3][0])
        return [one[:count] if number in (0, 1, 4) else one for number, one in enumerate(results)]
    if "vision.all_class_non_max_suppression" in names and len(expected) == 2 and expected[0].ndim == 2:
        return [results[0][: int(expected[1][0])], results[1]]
    return results


def problems(
    cases: Iterable[dict[str, Any]], check: Callable[[dict[str, Any]], str], known: Mapping[str, str]
) -> tuple[int, list[str]]:
    """Return how many cases agree, and a line for each that does not and for each known one that
    does after all.

    ``check`` returns what is wrong with a case; one of our own exceptions counts as wrong, any
    other ends the test.
    """
    agreeing, lines = 0, []
    for case in cases:
        try:
            wrong = check(case)
        except Relay2RelaxError as error:
            wrong = f"{type(error).__name__}: {error}"
        agreeing += not wrong
        if wrong and case["id"] not in known:
            lines.append(f"{case['id']}: {wrong}")
        elif not wrong and case["id"] in known:
            lines.append(f"{case['id']}: agrees, but is listed as: {known[case['id']]}")
    return agreeing, lines
