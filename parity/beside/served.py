"""apache-tvm beside the facade: ``python -m relay2relax.parity.beside.served FOLDER`` builds the
Relay program in a folder for it, and answers calls on its standard input.

A call is the arrays of the arguments, an answer a line and the arrays of the results; each is a
number of arrays, then those as ``numpy.save`` writes them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import IO

import numpy as np

from relay2relax.core.dtype import Array

PROGRAM, PARAMS = "program.json", "params"


# Of a pipe numpy would ask for a position, as of a file: it is shown functions alone.
def send(stream: IO[bytes], arrays: Sequence[Array]) -> None:
    """Write arrays to the other process."""
    stream.write(b"%d\n" % len(arrays))
    for one in arrays:
        np.lib.format.write_array(SimpleNamespace(write=stream.write), one, allow_pickle=False)
    stream.flush()


def receive(stream: IO[bytes], dtypes: Sequence[np.dtype] = ()) -> list[Array]:
    """Return the arrays that the other process wrote, with these dtypes where numpy's format has
    none of theirs.

    Raises EOFError where it ended.
    """
    line = stream.readline()
    if not line:
        raise EOFError
    found = [np.lib.format.read_array(SimpleNamespace(read=stream.read), allow_pickle=False) for _ in range(int(line))]
    return [one.view(dtypes[at]) if one.dtype.kind == "V" and at < len(dtypes) else one for at, one in enumerate(found)]


def main(folder: Path) -> None:
    """Build the program in a folder, and answer calls until there are none."""
    from relay2relax import backends, translator
    from relay2relax.core.dtype import numpy_dtype
    from relay2relax.relay_ir.inference.infer import typed_module
    from relay2relax.relay_ir.io.params import load_params
    from relay2relax.relay_ir.ir.types import TensorType
    from relay2relax.relay_ir.json.reader import load_json

    # What apache-tvm prints goes elsewhere than the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    mod = typed_module(load_json((folder / PROGRAM).read_text(encoding="utf-8")))
    params = load_params((folder / PARAMS).read_bytes())
    types = [mod.types[one] for one in mod["main"].params if one.name not in params]
    dtypes = [numpy_dtype(one.dtype) for one in types if isinstance(one, TensorType)]
    run = backends.VirtualMachine(backends.build(translator.translate(mod, params=params), "tvm"))["main"]
    send(answers, [])
    while True:
        try:
            given = receive(sys.stdin.buffer, dtypes)
        except EOFError:
            return
        send(answers, [np.asarray(one) for one in translator.flatten(run(*given))])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
