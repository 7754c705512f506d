"""Several instruction sets in one exported library: a library for each, and the file that chooses
between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import Template

from relay2relax.backends.c.export.library import Library
from relay2relax.backends.c.export.text import signatures
from relay2relax.backends.c.machine import ARM_LEVELS, LEVELS
from relay2relax.core.errors import UnsupportedError
from relay2relax.core.errors.table.files import OPTION
from relay2relax.tir.script.names import identifier

_TEXT = r"""/* The model @ for several instruction sets: one library for each. */
$includes#include "@.h"

#include <stdlib.h>
#include <string.h>
$system
struct @_model {
  int set;
  void* model;
};

static int r2r_chosen = -1;
static const char* const r2r_sets[] = {$names};

/* Whether the processor has the instruction set of this number. */
static int r2r_has(int set) {
$begin  switch (set) {
$conditions    default: return 1;
  }
}

int @_select(const char* set) {
  for (int i = 0; set && i < $count; ++i) {
    if (strcmp(set, r2r_sets[i])) continue;
    if (!r2r_has(i)) return 1;
    r2r_chosen = i;
    return 0;
  }
  if (!set) r2r_chosen = -1;
  return !!set;
}

@_model* @_load($load) {
  int set = r2r_chosen;
  if (set < 0) for (set = $count - 1; !r2r_has(set); --set) {}
  @_model* model = calloc(1, sizeof *model);
  if (!model) return 0;
  model->set = set;
  switch (set) {
$loads  }
  if (model->model) return model;
  free(model);
  return 0;
}

int @_run(@_model* model$parameters) {
  switch (model->set) {
$runs  }
}

void @_free(@_model* model) {
  if (!model) return;
  switch (model->set) {
$frees  }
  free(model);
}

void @_sizes($sizes) { $first; }

void @_set_threads(int64_t count) {
$threads}
"""


_X86_ASKS = "  __builtin_cpu_init();\n"
_ARM_ASKS = "  const unsigned long has = getauxval(AT_HWCAP);\n  (void)has;\n"
# Linux says what an AArch64 processor has, and how long its vectors are.
_ARM_SYSTEM = """
#include <asm/hwcap.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
"""


def levels(march: str, arch: str = "") -> tuple[str, ...]:
    """Return the instruction sets of a list with commas, the least first: that one, which every
    processor has, is one of them.

    Raises UnsupportedError for others than the levels of x86-64, or of AArch64 where that is
    ``arch``.
    """
    known = ARM_LEVELS if arch == "aarch64" else LEVELS
    given = {one.strip() for one in march.split(",")}
    unknown = ", ".join(repr(one) for one in sorted(given - known.keys()))
    if unknown:
        raise UnsupportedError(
            f"a list of instruction sets is made of {', '.join(known)}; found {unknown}", kind=OPTION
        )
    return tuple(one for number, one in enumerate(known) if one in given or not number)


def set_name(name: str, level: str) -> str:
    """Return what the library ``name`` for one instruction set is called."""
    return f"{name}_{identifier(level)}"


def sets_text(library: Library, parts: Sequence[Library]) -> str:
    """Return ``NAME.c`` of a library that is one of ``parts``, of which there is one for each of
    its sets.
    """
    words = signatures(library)
    given = [one.name for one in (*library.inputs, *library.outputs)]
    arguments = ", ".join(["model->model", *library.extents.values(), *given])
    path = "path" if library.reads_file else ""
    arm = library.sets[0] in ARM_LEVELS
    conditions = ""
    for number, level in enumerate(library.sets):
        features = (ARM_LEVELS if arm else LEVELS)[level]
        if features:
            asked = " && ".join(features if arm else (f'__builtin_cpu_supports("{one}")' for one in features))
            conditions += f"    case {number}: return {asked};\n"

    def cases(form: str) -> str:
        lines = [f"    case {number}: {form.replace('#', part.name)}\n" for number, part in enumerate(parts)]
        # The compiler has to see that one of them is taken.
        lines[-1] = lines[-1].replace(f"case {len(parts) - 1}:", "default:")
        return "".join(lines)

    texts = {
        "includes": "".join(f'#include "{part.name}.h"\n' for part in parts),
        "system": _ARM_SYSTEM if arm else "",
        "begin": _ARM_ASKS if arm else _X86_ASKS,
        "names": ", ".join(f'"{level}"' for level in library.sets),
        "conditions": conditions,
        "count": len(parts),
        "loads": cases(f"model->model = #_load({path}); break;"),
        "runs": cases(f"return #_run({arguments});"),
        "frees": cases("#_free(model->model); break;"),
        "first": f"{parts[0].name}_sizes({', '.join([*library.extents.values(), 'bytes'])})",
        "threads": "".join(f"  {part.name}_set_threads(count);\n" for part in parts),
        **words,
    }
    return Template(_TEXT.replace("@", library.name)).substitute(texts)
