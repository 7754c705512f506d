"""Steps of schedules that must be refused, and whether apache-tvm refuses them as well.

Each step is written for both: our schedules and TVM's take the same names and arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from relay2relax.tir import PrimFunc
from schedules.examples import argmax, blur, chain, convolution, dense, matmul, softmax


@dataclass(frozen=True, slots=True)
class Refused:
    """``steps`` of a schedule of ``program`` end with one that is refused, with a ``message`` like
    this.

    ``tvm`` says whether apache-tvm refuses it, too; where it does not, it trusts the user, or keeps
    memory apart later.
    """

    name: str
    program: Callable[[], PrimFunc]
    steps: Callable[[Any], object]
    message: str
    tvm: bool = True


def _decomposed(s: Any) -> Any:
    s.decompose_reduction("c", s.get_loops("c")[2])
    return s


def _inlined(s: Any) -> Any:
    s.compute_inline("shifted")
    return s


def _split_reduction(s: Any) -> Any:
    return s.split(s.get_loops("c")[2], [None, 5])


def _fused_all(s: Any) -> Any:
    return s.fuse(*s.get_loops("c"))


def _reordered(s: Any) -> Any:
    i, j, k = s.get_loops("product")
    s.reorder(k, i, j)
    return s


REFUSED = [
    # Loops.
    Refused("split-short", matmul, lambda s: s.split(s.get_loops("c")[0], [2, 3]), "do not cover"),
    Refused("split-nones", matmul, lambda s: s.split(s.get_loops("c")[0], [None, None]), "at most one is None"),
    Refused("fuse-apart", matmul, lambda s: s.fuse(s.get_loops("c")[0], s.get_loops("c")[2]), "not directly inside"),
    Refused(
        "reorder-nests",
        chain,
        lambda s: s.reorder(s.get_loops("double")[0], s.get_loops("turned")[0]),
        "not one nest",
    ),
    Refused("parallel-sum", matmul, lambda s: s.parallel(s.get_loops("c")[2]), "reduces over it"),
    Refused("vectorize-sum", matmul, lambda s: s.vectorize(s.get_loops("c")[2]), "reduces over it"),
    Refused(
        "partition-sum", matmul, lambda s: s.loop_partition(s.get_loops("c")[0], [3, 4]), "do not add up", tvm=False
    ),
    # Moving producers.
    Refused(
        "compute-at-other-readers",
        softmax,
        lambda s: s.compute_at("power", s.get_loops("total")[0]),
        "read outside of the loop",
    ),
    Refused(
        "compute-at-output", chain, lambda s: s.compute_at("out", s.get_loops("turned")[0]), "does not come before"
    ),
    Refused(
        "compute-at-itself", chain, lambda s: s.compute_at("double", s.get_loops("double")[0]), "within each other"
    ),
    Refused(
        "compute-at-no-reader",
        chain,
        lambda s: s.compute_at("double", s.get_loops("out")[0]),
        "read outside of the loop",
    ),
    Refused(
        "compute-at-half",
        dense,
        lambda s: (
            s.decompose_reduction("product", s.get_loops("product")[2]),
            s.compute_at("product_update", s.get_loops("shifted")[0]),
        ),
        "does not lie|branches|not come|written by other|writes product",
    ),
    # Moving consumers.
    Refused(
        "reverse-compute-at-unfinished",
        dense,
        lambda s: s.reverse_compute_at("shifted", s.get_loops("product")[2]),
        "reduces over it",
        tvm=False,
    ),
    Refused(
        "reverse-compute-at-unfinished-outer",
        dense,
        lambda s: s.reverse_compute_at("shifted", _reordered(s).get_loops("product")[1]),
        "reduces over it",
        tvm=False,
    ),
    Refused(
        "reverse-compute-at-windows",
        blur,
        lambda s: s.reverse_compute_at("blurred", s.get_loops("flat")[1]),
        "not just its axes",
    ),
    Refused(
        "reverse-compute-at-before",
        chain,
        lambda s: s.reverse_compute_at("double", s.get_loops("turned")[0]),
        "does not come before",
        tvm=False,
    ),
    Refused(
        "reverse-compute-at-two-producers",
        softmax,
        lambda s: s.reverse_compute_at("out", s.get_loops("power")[0]),
        "cannot move before",
    ),
    # Inlining.
    Refused("inline-output", chain, lambda s: s.compute_inline("out"), "not a temporary"),
    Refused("inline-sum", dense, lambda s: s.compute_inline("product"), "not complete"),
    Refused("reverse-inline-sum", dense, lambda s: s.reverse_compute_inline("shifted"), "not complete"),
    Refused("reverse-inline-several-readers", softmax, lambda s: s.reverse_compute_inline("out"), "expected one"),
    Refused("reverse-inline-windows", blur, lambda s: s.reverse_compute_inline("blurred"), "expected one"),
    # Reductions.
    Refused(
        "decompose-around", matmul, lambda s: s.decompose_reduction("c", _k_first(s)[1]), "runs over a reduction axis"
    ),
    Refused("decompose-no-init", chain, lambda s: s.decompose_reduction("out", s.get_loops("out")[0]), "has no init"),
    Refused("rfactor-spatial", matmul, lambda s: s.rfactor(s.get_loops("c")[0], 0), "does not run over a reduction"),
    Refused("rfactor-axis", matmul, lambda s: s.rfactor(s.get_loops("c")[2], 4), "expected -3 to 2"),
    Refused("rfactor-mixed", matmul, lambda s: s.rfactor(_fused_all(s), 0), "reduction and other axes"),
    Refused(
        "rfactor-parallel",
        matmul,
        lambda s: (s.unroll(s.get_loops("c")[2]), s.rfactor(s.get_loops("c")[2], 0)),
        "not a plain serial loop",
    ),
    Refused(
        "rfactor-order", argmax, lambda s: s.rfactor(s.get_loops("argmax")[1], 0), "folded in any order", tvm=False
    ),
    # Memory.
    Refused("cache-read-number", matmul, lambda s: s.cache_read("c", 2, "global"), "no single buffer"),
    Refused("cache-write-number", matmul, lambda s: s.cache_write("c", 1, "global"), "no single buffer"),
    Refused(
        "cache-write-two-writers",
        matmul,
        lambda s: _decomposed(s).cache_write("c_update", 0, "global"),
        "is written by",
    ),
    Refused("set-scope-parameter", matmul, lambda s: s.set_scope("c", 0, "local"), "not a temporary"),
    Refused(
        "layout-loses",
        chain,
        lambda s: s.transform_layout("double", ("write", 0), lambda i, j: (i, j // 2)),
        "leaves one out|does not tell all",
        tvm=False,
    ),
    Refused(
        "layout-overlaps",
        chain,
        lambda s: s.transform_layout("double", ("write", 0), lambda i, j: (i + j,)),
        "one place, or leaves",
    ),
    Refused(
        "layout-grows",
        chain,
        lambda s: s.transform_layout("double", ("write", 0), lambda i, j: (i, j // 4, j % 4)),
        "no pad_value",
    ),
    Refused(
        "layout-parameter",
        chain,
        lambda s: s.transform_layout("double", ("read", 0), lambda i, j: (j, i)),
        "is a parameter",
        tvm=False,
    ),
    Refused(
        "block-layout-grows",
        chain,
        lambda s: s.transform_block_layout("double", lambda i, j: (i, j // 4, j % 4)),
        "more iterations",
    ),
    Refused(
        "block-layout-mixes",
        matmul,
        lambda s: s.transform_block_layout("c", lambda i, j, k: (i, j * 32 + k)),
        "reduction and other axes",
    ),
    # Kernels.
    Refused("blockize-rest", matmul, lambda s: s.blockize(_split_reduction(s)[1]), "is about loops within"),
    Refused(
        "blockize-two",
        convolution,
        lambda s: _blockize_padding_and_sum(s),
        "more than one block",
    ),
]


def _k_first(s: Any) -> Any:
    i, j, k = s.get_loops("c")
    s.reorder(k, i, j)
    return s.get_loops("c")


def _blockize_padding_and_sum(s: Any) -> None:
    _pad_in_conv(s)
    s.blockize(s.get_loops("conv")[0])


def _pad_in_conv(s: Any) -> None:
    s.compute_at("pad", s.get_loops("conv")[1])
