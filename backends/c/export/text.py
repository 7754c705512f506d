"""The texts around the kernels of an exported library: header, functions, command, Makefile."""

from __future__ import annotations

from collections.abc import Iterable
from string import Template

from relay2relax.backends.c.codegen.plan import ALIGNMENT
from relay2relax.backends.c.codegen.program import ANY_SIZE, size_text
from relay2relax.backends.c.dtypes import HALF
from relay2relax.backends.c.export.fits import fits_text
from relay2relax.backends.c.export.library import MARK_BYTES, Library, Tensor, padded_bytes
from relay2relax.core.dtype import is_float, is_int, numpy_dtype
from relay2relax.core.words import in_comment, quoted
from relay2relax.relax_ir.ir.text import extent_text
from relay2relax.tir.arith.evaluate import integer
from relay2relax.tir.arith.simplify import simplify
from relay2relax.tir.extent import canonical
from relay2relax.tir.ir.expr import IntImm, PrimExpr, binary

# So many elements of an output are printed.
_SHOWN = 16

_HEADER = r"""/* main of the model @, written by relay2relax.

   Tensors are blocks of numbers in C order, aligned as their elements are; inputs and outputs do not overlap. bool is a
   byte that is 0 or 1, float16 and bfloat16 are their bits.
$contents */
#ifndef R2R_@_H
#define R2R_@_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

enum { @_inputs = $inputs, @_outputs = $outputs };

/* What a program keeps between calls; one serves one thread at a time. */
typedef struct @_model @_model;

/* Return a model, or a null pointer where memory is lacking$reading. */
@_model* @_load($load);

/* Compute the outputs from the inputs. Returns 0; 1 where memory is lacking; 2 where data name an element that a tensor
   does not have; 3, before anything is read, where extents are negative, too large, or do not fit each other. */
int @_run(@_model* model$parameters);

/* Give back what a model keeps. */
void @_free(@_model* model);

/* Say how many bytes the inputs, then the outputs, have: -1 each where @_run returns 3. */
void @_sizes($sizes);

/* Let loops run on so many threads of the process, the caller's included: one, unless this is called. Results do not
   depend on it. */
void @_set_threads(int64_t count);
$choosing
#ifdef __cplusplus
}
#endif
#endif
"""

_CHOOSING = r"""
/* Let models that are loaded from now on use an instruction set: $sets.
   It is the best that the processor has, unless this is called; a null pointer goes back to that. Returns 0; anything
   else where the set is none of these, or the processor does not have it. */
int @_select(const char* set);
"""

# Strict C has threads and signals of POSIX where they are asked for before anything is included.
_POSIX = """#if !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif
"""
_LIBRARY = r"""
#include "@.h"

struct @_model {
  void *kept, *arena;
  int64_t arena_size;
};

/* The first address in a block that suits the widest vector. */
R2R_INLINE char* r2r_aligned(void* block) {
  return (char*)block + ($alignment - (uintptr_t)block % $alignment) % $alignment;
}

/* Memory with room to begin at such an address. */
R2R_INLINE void* r2r_block(int64_t size) {
  return (uint64_t)size < (uint64_t)1 << (sizeof(size_t) > 4 ? 62 : 31) ? malloc((size_t)size + $alignment) : 0;
}

@_model* @_load($load) {
  @_model* model = calloc(1, sizeof *model);
  if (!model) return 0;
  model->arena_size = -1;
  model->kept = r2r_block($kept_size);
$read
}

$fits
int @_run(@_model* model$parameters) {
$check  const int64_t r2r_arena_size = $arena_size;
  if (model->arena_size < r2r_arena_size) {
    free(model->arena);
    model->arena = r2r_block(r2r_arena_size);
    model->arena_size = model->arena ? r2r_arena_size : -1;
    if (!model->arena) return 1;
  }
$body  return 0;
}

void @_free(@_model* model) {
  if (!model) return;
  free(model->kept);
  free(model->arena);
  free(model);
}

void @_sizes($sizes) {
$refuse$fill}
"""

_READ_NOTHING = r"""  if (model->kept) return model;
  @_free(model);
  return 0;"""

_READ = r"""  void* block = r2r_block($sources_size);
  FILE* file = $open;
  int good = model->kept && block && file;
  if (good) {
    char mark[$mark_size];
    char* const r2r_kept = r2r_aligned(model->kept);
    char* const r2r_sources = r2r_aligned(block);
    good = fread(mark, 1, sizeof mark, file) == sizeof mark && !memcmp(mark, "$mark", sizeof mark) &&
           fread(r2r_kept, 1, $kept_file, file) == $kept_file &&
           fread(r2r_sources, 1, $sources_file, file) == $sources_file && fgetc(file) == EOF;
    if (good) {
$ahead    }
  }
  if (file) fclose(file);
  free(block);
  if (good) return model;
  @_free(model);
  return 0;"""

# Weights inside of the library are read as a file is.
_OWN_WEIGHTS = "\nextern char r2r_weights[], r2r_weights_end[];\n"
_OPEN_OWN = 'fmemopen(r2r_weights, (size_t)(r2r_weights_end - r2r_weights), "rb")'

_MAIN = r"""/* Runs the model @ on raw files, which hold nothing but the elements of a tensor in C order. */
#include "@.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXTENTS = $extents, TENSORS = $count };

static int usage(void) {
  fputs("usage: @ $options[-t THREADS] [-o PREFIX]$arguments\n"
        "Inputs are raw files; one that is - or left out is all zeros. Outputs are printed, or with -o written to\n"
        "PREFIX0.raw, PREFIX1.raw, ... in their order.\n", stderr);
  return 2;
}

/* Read a file of exactly so many bytes, or write one; say whether that worked. */
static int read_raw(const char* path, char* memory, size_t size) {
  FILE* file = fopen(path, "rb");
  if (!file) return 0;
  const int good = fread(memory, 1, size, file) == size && fgetc(file) == EOF;
  fclose(file);
  return good;
}
static int write_raw(const char* prefix, int number, const char* memory, size_t size) {
  char path[4096];
  if (snprintf(path, sizeof path, "%s%d.raw", prefix, number) >= (int)sizeof path) return 0;
  FILE* file = fopen(path, "wb");
  if (!file) return 0;
  const int good = fwrite(memory, 1, size, file) == size;
  return !fclose(file) && good;
}

/* Do it all with the tensors, which the caller frees. */
static int compute(char** tensors, const char* weights, const char* prefix, int argc, char** argv) {
  int64_t extents[EXTENTS + 1] = {0}, sizes[TENSORS + 1] = {0};
  for (int i = 0; i < EXTENTS; ++i) {
    char* end;
    extents[i] = strtoll(argv[i], &end, 10);
    if (end == argv[i] || *end || extents[i] < 0) {
      fprintf(stderr, "@: %s is no extent\n", argv[i]);
      return 1;
    }
  }
  @_sizes($given_sizes);
  if (TENSORS > 0 && sizes[0] < 0) {
    fputs("@: the extents do not fit\n", stderr);
    return 1;
  }
  for (int i = 0; i < TENSORS; ++i) {
    tensors[i] = (uint64_t)sizes[i] < (size_t)-1 / 2 ? calloc((size_t)sizes[i] + 1, 1) : 0;
    if (!tensors[i]) {
      fputs("@: memory is lacking\n", stderr);
      return 1;
    }
    const char* path = i < @_inputs && EXTENTS + i < argc ? argv[EXTENTS + i] : "-";
    if (strcmp(path, "-") && !read_raw(path, tensors[i], (size_t)sizes[i])) {
      fprintf(stderr, "@: %s cannot be read, or does not have %" PRId64 " bytes\n", path, sizes[i]);
      return 1;
    }
  }
  (void)weights;
  @_model* model = @_load($weights);
  if (!model) {
    fprintf(stderr, "@: $refused\n"$refused_with);
    return 1;
  }
  const int failed = @_run(model$given);
  @_free(model);
  if (failed) {
    fputs(failed == 1 ? "@: memory is lacking\n" : "@: an index is outside its tensor\n", stderr);
    return 1;
  }
  for (int i = 0; prefix && i < @_outputs; ++i) {
    if (!write_raw(prefix, i, tensors[@_inputs + i], (size_t)sizes[@_inputs + i])) {
      fprintf(stderr, "@: cannot write %s%d.raw\n", prefix, i);
      return 1;
    }
  }
  if (prefix) return 0;
$printing  return 0;
}

int main(int argc, char** argv) {
  const char *weights = "@_weights.bin", *prefix = 0;
  int at = 1;
  for (; at < argc && argv[at][0] == '-' && argv[at][1]; at += 2) {
    if (at + 1 == argc || argv[at][2]) return usage();
    switch (argv[at][1]) {
      case 'w': weights = argv[at + 1]; break;
      case 't': @_set_threads(atoi(argv[at + 1])); break;
      case 'o': prefix = argv[at + 1]; break;
$choose      default: return usage();
    }
  }
  if (argc - at < EXTENTS || argc - at > EXTENTS + @_inputs) return usage();
  char* tensors[TENSORS + 1] = {0};
  const int code = compute(tensors, weights, prefix, argc - at, argv + at);
  for (int i = 0; i < TENSORS; ++i) free(tensors[i]);
  return code;
}
"""

_CHOOSE = r"""      case 'i':
        if (!@_select(argv[at + 1])) break;
        fprintf(stderr, "@: %s is no instruction set of this library and of this processor\n", argv[at + 1]);
        return 1;
"""


def _filled(template: str, library: Library, **values: object) -> str:
    """Return ``template`` with the library's name for @, and ``values`` for the words that begin
    with $.
    """
    return Template(template.replace("@", library.name)).substitute(values)


def header_text(library: Library) -> str:
    """Return ``NAME.h``."""
    lines = []
    if library.extents:
        lines.append(f"   Extents: {', '.join(library.extents.values())}.")
    for title, tensors in (("Inputs", library.inputs), ("Outputs", library.outputs)):
        lines.append(f"   {title}:")
        lines += [_described(one, library) for one in tensors] or ["     none"]
    reading = "" if not library.reads_file else ",\n   or where path does not name the weights of this program"
    return _filled(
        _HEADER,
        library,
        contents="\n".join(lines),
        inputs=len(library.inputs),
        outputs=len(library.outputs),
        reading=reading,
        choosing=_filled(_CHOOSING, library, sets=", ".join(library.sets)) if library.sets else "",
        **signatures(library),
    )


def _described(tensor: Tensor, library: Library) -> str:
    names = library.extents.__getitem__
    shape = ", ".join(extent_text(canonical(extent), names) for extent in tensor.shape)
    text = f"     {tensor.name}: {tensor.dtype} [{shape}]"
    if tensor.name != tensor.original:
        text += f", {in_comment(quoted(tensor.original))} in the model"
    return text


def signatures(library: Library) -> dict[str, str]:
    """Return the parameters of ``NAME_load``, those of ``NAME_run`` behind the model, and those of
    ``NAME_sizes``.
    """
    extents = [f"int64_t {one}" for one in library.extents.values()]
    tensors = [f"const {one.c_type}* {one.name}" for one in library.inputs]
    tensors += [f"{one.c_type}* {one.name}" for one in library.outputs]
    return {
        "load": "const char* path" if library.reads_file else "void",
        "parameters": "".join(f", {one}" for one in (*extents, *tensors)),
        "sizes": ", ".join([*extents, "int64_t* bytes"]),
    }


def library_text(library: Library, unit: str) -> str:
    """Return ``NAME.c``: the file that holds the entries, and behind them the library's
    functions.
    """
    entry, weights, names = library.entry, library.weights, library.extents
    kept_file, sources_file = padded_bytes(weights.kept), padded_bytes(weights.sources)
    prepared = scratch = 0
    ahead = body = ""
    uses_kept = any("r2r_kept" in place for place in (*library.constants, *library.buffers, *library.sources))
    if entry is not None:
        prepared, scratch = integer(entry.prepared.size, {}), integer(entry.scratch.size, {})
        symbol = entry.symbol.replace("r2r_", f"{library.name}_")
        place = f"r2r_kept + {kept_file}"
        if entry.ahead is not None:
            table = _table((*library.sources, place, f"r2r_sources + {sources_file}"))
            ahead = f"      void* const r2r_k[] = {table};\n      good = !{symbol}_ahead(0, 0, r2r_k, 0);\n"
        buffers = _table((*library.buffers, "r2r_aligned(model->arena)"))
        values = ", ".join([*(names[var] for var in entry.variables), str(ANY_SIZE if entry.own else 0)])
        body = f"  void* const r2r_a[] = {buffers};\n  const int64_t r2r_s[] = {{{values}}};\n"
        body += f"  void* const r2r_k[] = {_table((*library.constants, place))};\n"
        body += f"  const int64_t r2r_place = {symbol}(r2r_a, r2r_s, r2r_k, 0);\n"
        body += "  if (r2r_place) return r2r_place < 0 ? 1 : 2;\n"
        uses_kept = True
    for number, place in library.copies:
        target = library.outputs[number]
        body += f"  memcpy({target.name}, {place}, (size_t)({_bytes(target, library)}));\n"
        uses_kept = uses_kept or "r2r_kept" in place
    if uses_kept:
        body = f"  char* const r2r_kept = r2r_aligned(model->kept);\n{body}"
    tensors = enumerate((*library.inputs, *library.outputs))
    fill = "".join(f"  bytes[{number}] = {_bytes(one, library)};\n" for number, one in tensors)
    fill = "".join(f"  (void){one};\n" for one in (*names.values(), "bytes")) + fill
    unused = "".join(f"  (void){one};\n" for one in (*names.values(), *(one.name for one in library.inputs)))
    texts = {
        "kept_size": kept_file + prepared,
        "kept_file": kept_file,
        "sources_size": sources_file + scratch,
        "sources_file": sources_file,
        "ahead": ahead,
        "open": _OPEN_OWN if library.embedded else 'fopen(path, "rb")',
        "mark_size": MARK_BYTES,
        "mark": weights.mark.decode().replace("\n", "\\n"),
        "alignment": ALIGNMENT,
        "arena_size": size_text(entry.arena.size, names) if entry is not None else 0,
        **_fits(library),
        "body": unused + body,
        "fill": fill,
        **signatures(library),
    }
    read = _filled(_READ if library.has_weights else _READ_NOTHING, library, **texts)
    filled = _filled(_LIBRARY, library, read=read, **texts)
    own = _OWN_WEIGHTS if library.embedded else ""
    return _POSIX + unit.replace("#include <math.h>", "#include <math.h>\n#include <stdio.h>", 1) + own + filled


def _table(places: Iterable[str]) -> str:
    return "{" + ", ".join(f"(void*)({place})" for place in places) + "}"


def _fits(library: Library) -> dict[str, str]:
    """Return the function that looks at extents, and what is done where it says no."""
    if not library.extents and not library.conditions:
        return {"fits": "", "check": "", "refuse": ""}
    tensors = (*library.inputs, *library.outputs)
    sizes = [*map(_size, tensors), *(extent for one in tensors for extent in one.shape)]
    if library.entry is not None:
        sizes.append(library.entry.arena.size)
    call = f"{library.name}_fits({', '.join(library.extents.values())})"
    none = f"    for (int i = 0; i < {len(tensors)}; ++i) bytes[i] = -1;\n    return;\n"
    return {
        "fits": fits_text(library.name, library.extents, sizes, library.conditions) + "\n",
        "check": f"  if (!{call}) return 3;\n",
        "refuse": f"  if (!{call}) {{\n{none}  }}\n",
    }


def _bytes(tensor: Tensor, library: Library) -> str:
    return size_text(_size(tensor), library.extents)


def _size(tensor: Tensor) -> PrimExpr:
    """Return how many bytes a tensor has."""
    size: PrimExpr = IntImm(_item_size(tensor), "int64")
    for extent in tensor.shape:
        size = binary("*", size, extent)
    return simplify(size)


def _item_size(tensor: Tensor) -> int:
    return numpy_dtype(tensor.dtype).itemsize


def main_text(library: Library) -> str:
    """Return ``main.c``."""
    inputs = len(library.inputs)
    tensors = (*library.inputs, *library.outputs)
    given = [f"extents[{number}]" for number in range(len(library.extents))]
    addresses = [f"(void*)tensors[{number}]" for number in range(len(tensors))]
    printing = "".join(_printing(one, inputs + number) for number, one in enumerate(library.outputs))
    arguments = [*(one.upper() for one in library.extents.values()), *(f"[{one.name}" for one in library.inputs)]
    reads = library.reads_file
    return _filled(
        _MAIN,
        library,
        extents=len(library.extents),
        count=len(tensors),
        options=("[-w WEIGHTS] " if reads else "") + ("[-i SET] " if library.sets else ""),
        choose=_filled(_CHOOSE, library) if library.sets else "",
        arguments="".join(f" {one}" for one in arguments) + "]" * inputs,
        given_sizes=", ".join([*given, "sizes"]),
        given="".join(f", {one}" for one in (*given, *addresses)),
        weights="weights" if reads else "",
        refused="%s is not the file of this program's weights, or memory is lacking" if reads else "memory is lacking",
        refused_with=", weights" if reads else "",
        printing=printing,
    )


def _printing(tensor: Tensor, number: int) -> str:
    element = f"((const {tensor.c_type}*)(const void*)tensors[{number}])[i]"
    if tensor.dtype in HALF:
        shown = f'" 0x%04x", (unsigned){element}'
    elif is_float(tensor.dtype):
        shown = f'" %.{9 if tensor.dtype == "float32" else 17}g", (double){element}'
    elif is_int(tensor.dtype) and not tensor.dtype.startswith("u"):
        shown = f'" %" PRId64, (int64_t){element}'
    else:
        shown = f'" %" PRIu64, (uint64_t){element}'
    size = _item_size(tensor)
    return (
        f'  printf("{tensor.name} {tensor.dtype}[%" PRId64 "]:", sizes[{number}] / {size});\n'
        f"  for (int64_t i = 0; i < sizes[{number}] / {size} && i < {_SHOWN}; ++i) printf({shown});\n"
        f'  puts(sizes[{number}] / {size} > {_SHOWN} ? " ..." : "");\n'
    )
