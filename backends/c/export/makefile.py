"""The Makefile of an exported library."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from relay2relax.backends.c.platforms import archiver, is_zig
from relay2relax.backends.c.toolchain import Compiler

_TEXT = """# make: the library lib@.a and the command @. Sanitizers: make CFLAGS="-O1 -fsanitize=address,undefined"
$compilerCFLAGS ?= -O3
WARNINGS ?= -Wall -Wextra -Wno-type-limits -Wno-pass-failed -Werror
FLAGS = -std=c11 $(CFLAGS) $(WARNINGS) $flags
OBJECTS = $objects
$sets
all: $all
$command: main.o lib@.a
\t$(CC) $(FLAGS) -o $@ main.o lib@.a -lm -pthread
lib@.a: $(OBJECTS)
\t$(AR) rcs $@ $(OBJECTS)
$modulemain.o @.o: @.h
.c.o:
\t$(CC) $(FLAGS) $(SET) -pthread -c -o $@ $<
clean:
\t$(RM) $all lib@.a main.o $(OBJECTS)
.PHONY: all clean
"""
# What a web page loads: functions, and no main.
_MODULE = """@_module.wasm: $(OBJECTS)
\t$(CC) $(FLAGS) -mexec-model=reactor -s -o $@ $(OBJECTS) -lm \\
\t  $exports
"""
# Flags of the shared objects that an exported library does without.
_OWN_FLAGS = ("-std=gnu11", "-fvisibility=hidden", "-w")
# The functions that ``NAME.js`` calls.
_EXPORTED = ("malloc", "free", "@_load", "@_run", "@_free", "@_sizes")


def makefile_text(name: str, files: Mapping[str, Sequence[str]], march: str, compiler: Compiler) -> str:
    """Return the Makefile.

    ``files`` are the sources by the flags that choose their instruction set. ``march`` is the one
    set, which whoever calls make may choose again; "" where there are several, or where it was not
    asked for by name.
    """
    objects = {chosen: " ".join(f"{file.removesuffix('.c')}.o" for file in those) for chosen, those in files.items()}
    if march:
        chosen = "".join(objects).replace(f"-march={march}", "-march=$(MARCH)")
        sets = f"MARCH ?= {march}\nSET = {chosen}\n"
    elif len(objects) == 1:
        sets = f"SET = {''.join(objects)}\n"
    else:
        sets = "".join(f"{those}: SET = {chosen}\n" for chosen, those in objects.items() if chosen)
    flags = [flag for flag in compiler.flags if flag not in (*_OWN_FLAGS, *compiler.target_flags)]
    web = compiler.platform.arch == "wasm32"
    command = "@.wasm" if web else "@"
    exports = " ".join(f"-Wl,--export={one}" for one in _EXPORTED)
    words = {
        "$compiler": _compiler_text(compiler),
        "$sets": sets,
        "$flags": " ".join(flags),
        "$objects": " ".join(objects.values()),
        "$module": _MODULE.replace("$exports", exports) if web else "",
        "$command": command,
        "$all": f"{command} @_module.wasm" if web else command,
    }
    text = _TEXT
    for word, said in words.items():
        text = text.replace(word, said)
    # ``$@`` is make's own word.
    return text.replace("$@", "\0").replace("@", name).replace("\0", "$@")


def _compiler_text(compiler: Compiler) -> str:
    """Return the lines that name the compiler: make's own, unless it is for another machine."""
    if not compiler.platform.triple:
        return "CC ?= cc\n"
    command = compiler.command
    named = shlex.join(("python3", *command[1:]) if is_zig(command) else command)
    return f"ifeq ($(origin CC),default)\nCC = {named}\nAR = {archiver(command)}\nendif\n"
