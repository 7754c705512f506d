"""What running programs call and pass around, whichever backend runs them."""

from typing import TYPE_CHECKING

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["libraries"])

if TYPE_CHECKING:
    from relay2relax.backends.runtime import libraries as libraries
