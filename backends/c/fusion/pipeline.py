"""Fewer stages: what only moves or transforms elements is done where the elements are read or made.

:data:`RULES` has the rules in the order in which they run; ``print(steps_text(RULES))`` shows it.
Each that is not required can be left out: ``with PassContext(disabled_pass=["c.FuseRows"]): …``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from relay2relax.backends.c.fusion.attention import fuse_attention
from relay2relax.backends.c.fusion.bytes.narrowing import Integers, narrow_factors
from relay2relax.backends.c.fusion.bytes.requantising import drop_requantisation
from relay2relax.backends.c.fusion.bytes.rounding import round_at_once
from relay2relax.backends.c.fusion.bytes.scales import scale_behind_sums
from relay2relax.backends.c.fusion.cse import eliminate_common
from relay2relax.backends.c.fusion.epilogues import fuse_epilogues
from relay2relax.backends.c.fusion.groups import split_groups
from relay2relax.backends.c.fusion.inlining import inline
from relay2relax.backends.c.fusion.interleave import split_interleaved
from relay2relax.backends.c.fusion.layout import channels_last
from relay2relax.backends.c.fusion.memory import made_of, not_spread
from relay2relax.backends.c.fusion.placement import place_parts
from relay2relax.backends.c.fusion.powers import multiply_powers
from relay2relax.backends.c.fusion.recurrence import batch_recurrences
from relay2relax.backends.c.fusion.rows import fuse_rows
from relay2relax.backends.c.fusion.rule import Fusion, Rule
from relay2relax.backends.c.fusion.shared_inputs import share_inputs
from relay2relax.backends.c.fusion.views import make_views, seen_through_views, through_views
from relay2relax.backends.c.fusion.widening import widen_factors
from relay2relax.backends.c.stages import AnyStage, Program
from relay2relax.core.passes import Sequential
from relay2relax.tir.ir.expr import Buffer


def fuse(fusion: Fusion, rules: Sequence[Rule]) -> Program:
    """Return the program after ``rules``, as far as the current ``PassContext`` enables them."""
    return Sequential(rules, "c.Fuse")(fusion).program


def _make_views(fusion: Fusion) -> Fusion:
    stages, views = make_views(fusion.stages, fusion.results, fusion.given)
    return replace(fusion, program=Program(tuple(stages), views))


def _batch_recurrences(fusion: Fusion) -> Fusion:
    return fusion.of(batch_recurrences(fusion.stages, fusion.program.memory))


def _read_through_views(fusion: Fusion) -> Fusion:
    return fusion.of([through_views(stage, fusion.program.views) for stage in fusion.stages])


def _choose_memory(fusion: Fusion) -> Fusion:
    stages = fusion.stages
    apart = made_of(stages, fusion.constants, fusion.params) - fusion.constants
    seen = seen_through_views(stages, fusion.program.views)
    return replace(fusion, fixed=fusion.given | seen | not_spread(stages, apart), apart=apart)


def _share_inputs(fusion: Fusion) -> Fusion:
    known = made_of(fusion.stages, fusion.constants, fusion.params)
    return fusion.of(share_inputs(fusion.stages, known, fusion.fixed))


def _channels_last(fusion: Fusion) -> Fusion:
    return fusion.of(channels_last(fusion.stages, fusion.fixed, fusion.given | fusion.apart))


def _round_at_once(fusion: Fusion) -> Fusion:
    return fusion.of(round_at_once(fusion.stages, _still(fusion)))


def _still(fusion: Fusion) -> frozenset[Buffer]:
    """Return the buffers whose memory somebody else knows, or that are seen in two shapes."""
    views = fusion.program.views
    used = {buffer for stage in fusion.stages for buffer in stage.reads() | stage.writes()}
    seen = {buffer for view in used & views.keys() for buffer in (view, fusion.program.memory(view))}
    return fusion.given | fusion.results | seen


def _scale_behind_sums(fusion: Fusion) -> Fusion:
    return _of_bytes(fusion, scale_behind_sums)


def _narrow_factors(fusion: Fusion) -> Fusion:
    return _of_bytes(fusion, narrow_factors)


def _of_bytes(fusion: Fusion, rule: Callable[[Integers], list[AnyStage]]) -> Fusion:
    byte, stages = fusion.machine.byte, fusion.stages
    if byte is None:
        return fusion
    known = made_of(stages, fusion.constants, fusion.params)
    return fusion.of(rule(Integers(stages, fusion.spans, _still(fusion), known, byte)))


def _find_constants(fusion: Fusion) -> Fusion:
    known = made_of(fusion.stages, fusion.constants, fusion.params)
    return replace(fusion, program=replace(fusion.program, known=known))


RULES: tuple[Rule, ...] = (
    Rule(
        "c.EliminateCommonStages",
        "Of equal stages one is left; first, so that no rule makes equal stages differ (cse.py).",
        lambda f: f.of(eliminate_common(f.stages, f.given)),
    ),
    Rule(
        "c.MakeViews",
        "A stage that copies in the order of memory becomes a view, which is no work (views.py).",
        _make_views,
    ),
    Rule(
        "c.BatchRecurrences",
        "Products that a recurrence repeats are done for all time steps at once as far as they can be; "
        "before inlining, which would hide what time steps have in common (recurrence.py).",
        _batch_recurrences,
        native=True,
    ),
    Rule(
        "c.ReadThroughViews",
        "Loads from a view become loads from what it views, so that later rules see one tensor (views.py).",
        _read_through_views,
    ),
    Rule(
        "c.RoundAtOnce",
        "Rounding that is written with floors and choices becomes one call; before inlining, which puts its parts "
        "into others (bytes/rounding.py).",
        _round_at_once,
        native=True,
    ),
    Rule(
        "c.MultiplyPowers",
        "Squares, cubes and fourth powers become products; before inlining, to which a power is dear (powers.py).",
        lambda f: f.of(multiply_powers(f.stages)),
    ),
    Rule(
        "c.WidenFactors",
        "Narrow integers that are multiplied often are widened once; before inlining, which would put "
        "the conversion into the product (widening.py).",
        lambda f: f.of(widen_factors(f.stages)),
    ),
    Rule(
        "c.ChooseMemory",
        "Finds the buffers that no later rule may dissolve: parameters, constants, what views show in "
        "another shape, and what is computed ahead (memory.py).",
        _choose_memory,
        required=True,
    ),
    Rule(
        "c.InlineElementwise",
        "An element-wise stage is computed where its result is read if that repeats no work that matters "
        "(inlining.py).",
        lambda f: f.of(inline(f.stages, f.fixed, f.given)),
    ),
    Rule(
        "c.SplitInterleaved",
        "A stage that interleaves the results of a transposed convolution becomes one stage for each of them; "
        "after inlining, which leaves one reader (interleave.py).",
        lambda f: f.of(split_interleaved(f.stages, f.fixed)),
    ),
    Rule(
        "c.FuseEpilogues",
        "An element-wise stage over the result of a reduction is done when the result is stored (epilogues.py).",
        lambda f: f.of(fuse_epilogues(f.stages, f.fixed)),
    ),
    Rule(
        "c.DropRequantisation",
        "Integers that are scaled and rounded by the same scale are left as they are; when all that is made of an "
        "element is one expression (bytes/requantising.py).",
        lambda f: f.of(drop_requantisation(f.stages, f.spans)),
        native=True,
    ),
    Rule(
        "c.ShareInputs",
        "Products of one input by several constant matrices become one; they are compared with their "
        "epilogues (shared_inputs.py).",
        _share_inputs,
    ),
    Rule(
        "c.PlaceParts",
        "A tensor that is only padded or joined to others is made inside of the result (placement.py).",
        lambda f: f.of(place_parts(f.stages, f.fixed)),
    ),
    Rule(
        "c.SplitGroups",
        "A convolution in groups gets an axis of groups, so that the layout is chosen within a group (groups.py).",
        lambda f: f.of(split_groups(f.stages)),
    ),
    Rule(
        "c.ChannelsLast",
        "Images get their channels innermost, where they fill vectors; after all rules that move accesses (layout.py).",
        _channels_last,
    ),
    Rule(
        "c.ScaleBehindSums",
        "Products of integers times scales become products of integers, where those can be of bytes; the form QDQ has "
        "them so (bytes/scales.py).",
        _scale_behind_sums,
        native=True,
    ),
    Rule(
        "c.NarrowFactors",
        "Factors of int32 that fit into bytes are stored as such; when it is known how they lie (bytes/narrowing.py).",
        _narrow_factors,
        native=True,
    ),
    Rule(
        "c.FindConstants",
        "Finds the buffers that depend on constants alone: these stages run once, ahead (memory.py).",
        _find_constants,
        required=True,
    ),
    Rule(
        "c.FuseRows",
        "Stages over the same rows, such as those of softmax, become one that runs row by row (rows.py).",
        lambda f: replace(f, program=fuse_rows(f.program, f.given)),
    ),
    Rule(
        "c.FuseAttention",
        "Products around such rows become one stage that runs by blocks of rows (attention.py).",
        lambda f: replace(f, program=fuse_attention(f.program, f.given)),
    ),
)
