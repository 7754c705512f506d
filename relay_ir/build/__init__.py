"""Relay written in Python: ``build.py`` makes variables and calls, ``op.py`` has operators as
functions, ``annotation.py`` devices, ``scope_builder.py`` lets and branches, ``prelude.py`` the
standard types.
"""

from typing import TYPE_CHECKING

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["annotation", "op"])

if TYPE_CHECKING:
    from relay2relax.relay_ir.build import annotation as annotation
    from relay2relax.relay_ir.build import op as op
