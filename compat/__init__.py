"""``tvm`` as legacy scripts know it, over this package: nothing of TVM is needed, or imported.

    relay2relax python legacy_script.py             # or: python -m relay2relax.compat script.py
    python -m relay2relax.compat -m pytest tests/python/relay

    with compat.installed():
        from tvm import relay

Nothing is provided before it is asked for. While the facade is installed, ``import tvm`` finds
modules made of the tables in ``table/``, whose names are those of ``relay2relax`` or adapters of
this package, and nodes of Relay answer to TVM's names for their parts (``vocabulary/``).

- ``table/`` which name of TVM is what here, or why it is absent; the reference page is made of it
- ``finder.py`` modules made of the table
- ``vocabulary/`` what nodes, types and modules are taught
- ``relay/`` adapters of ``tvm.relay`` and ``tvm.ir``; ``running/`` arrays, executors and libraries;
  ``testing/`` what tests use
"""

from typing import TYPE_CHECKING

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submod_attrs={"install": ["install", "installed"]})

if TYPE_CHECKING:
    from relay2relax.compat.install import install as install
    from relay2relax.compat.install import installed as installed
