"""Relay texts beside those that TVM's importers made, but for names, spans and data."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter, defaultdict
from pathlib import Path

_OPERATOR = re.compile(r"(?<![%\w.])((?:nn|image|vision|dyn|qnn)?\.?[a-z_][\w.]*)\(")


def plain(text: str) -> str:
    """Return the main function of a printed module without comments, types of what it gives, and
    data.
    """
    body = text.split("def @main", 1)[-1].split("#[metadata]")[0]
    body = re.sub(r"\s*/\*.*?\*/", "", body, flags=re.DOTALL)
    body = re.sub(r"\) -> [^{]*\{", ") {", body)
    # Extents are numbers: how wide they are stored is not compared.
    body = re.sub(r"shape=\[[^]]*\]", lambda found: found[0].replace("i64", ""), body)
    return re.sub(r"\s+", " ", body).strip()


def inputs(text: str) -> str:
    """Return the names and types of what a plain text takes."""
    return text.split(" {")[0]


def without_names(text: str) -> str:
    """Return a plain text without its inputs and names."""
    return re.sub(r"%[\w.:]+", "%", text.split(" {", 1)[1])


def operators(text: str) -> Counter[str]:
    """Return how often a plain text calls each operator."""
    return Counter(_OPERATOR.findall(text.split(" {", 1)[1]))


def recorded(path: Path) -> dict[str, list[tuple[str, bool]]]:
    """Return the plain texts of recorded modules by test, and whether each was run as a whole."""
    found: dict[str, list[tuple[str, bool]]] = defaultdict(list)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            case = json.loads(line)
            test = case["origin"].split("::")[-1].split("[")[0]
            found[test].append((plain(case["text"]), case["executor"] != "none"))
            if "typed" in case:
                found[test].append((plain(case["typed"]), False))
    return found
