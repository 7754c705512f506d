"""Text that would mean something else than itself where it is not quoted.

``ACT`` is an expression that leaves a mark in the process that evaluates it.
"""

from __future__ import annotations

MARK = "relay2relax_ran"
ACT = f'setattr(__import__("builtins"), "{MARK}", 1)'
ACT_SINGLE = ACT.replace('"', "'")
# A word that every place takes which takes any text.
HARMLESS = "harmless"

PAYLOADS = (
    # Out of a string of Python.
    f'", {ACT}, "',
    f'"), {ACT}, ("',
    f'"] + [{ACT}] + ["',
    f'": {ACT}, "',
    f"', {ACT_SINGLE}, '",
    f'"""\n{ACT}\n"""',
    f'\\", {ACT}, \\"',
    f"\\', {ACT_SINGLE}, \\'",
    f'float16", T.float32(float({ACT}))) if True else T.Cast("float16',
    f"{{{ACT}}}",
    "{0.__class__}",
    "%s%n",
    # Out of a line.
    f"\n{ACT}\n",
    f"\r{ACT}\r",
    f"\r\n    {ACT}\r\n    ",
    f"\x0c{ACT}",
    f"\x85{ACT}",
    f"\u2028{ACT}\u2029",
    f"# \n{ACT}",
    f"a: int = {ACT}  #",
    f"x; {ACT}",
    "\\",
    "\\\n",
    '"',
    "'",
    # What changes how a line looks, and what is no text at all.
    "\u202e)gnihton( \u2066# \u2069\u2067",
    "a\u200bb\ufeffc",
    "\x1b[2J\x1b]0;title\x07",
    "\x00",
    "\ud800",
    "\x7f\x9b31m",
    # Names that mean something.
    "__import__",
    "__debug__",
    "lambda",
    "Module",
    "cls",
    "T",
    "R.const",
    "tvm",
    # Out of a comment, a string and a line of C, and of Relay's text.
    "*/ } int injected; /* ",
    "*\\\n/ int injected;",
    '"; abort(); "',
    "??/\nint injected;",
    f'*/ free_var %evil; /* {ACT}',
    "x) { %evil } def @evil(%y",
)  # fmt: skip
