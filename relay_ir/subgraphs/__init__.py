"""Parts of a program as programs of their own.

    extract(mod, ["%12"])                    # one node; what it is computed from is given
    extract(mod, ["%12"], between="%3")      # all nodes between two
    split(mod, ["%3", "%12"])                # the whole, in parts

Nodes are named as in the text of the module: ``%12``, and ``%x`` for parameters and variables of
lets. ``names.py`` finds them, ``cut.py`` makes functions.
"""

from relay2relax.relay_ir.subgraphs.cut import Given, Part, extract, join, part_of, split
from relay2relax.relay_ir.subgraphs.names import NodeNameError, named_nodes

__all__ = ["Given", "NodeNameError", "Part", "extract", "join", "named_nodes", "part_of", "split"]
