"""Old scripts rewritten: names of ``tvm.relay`` become those of this package.

    found = modernize.rewrite(text, "script.py")
    print(found.diff())
    for line in found.remarks:
        print(line)

Scripts are read as syntax trees and never run. What each name becomes stands in the tables of
``compat/table/``.

- ``equivalents.py`` what the tables say of a name of TVM
- ``remarks.py`` what becomes of a name, and what is said of it
- ``rewriting.py`` a script rewritten; ``transformer.py`` its syntax tree under change
- ``notebook.py`` the cells of a notebook as one script, and back
"""

from relay2relax.cli.modernize.notebook import rewrite
from relay2relax.cli.modernize.remarks import Remark
from relay2relax.cli.modernize.rewriting import Rewritten

__all__ = ["Remark", "Rewritten", "rewrite"]
