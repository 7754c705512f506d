"""From one model to a company's two hundred: what will go, before anything is converted.

``plan`` says of one model what becomes of it, what is lost, and which backends take it. Begin
reading with ``plan.py``.
"""

from typing import TYPE_CHECKING

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "plan": ["Plan", "plan", "refused"],
        "verdict": ["Verdict"],
    },
)

if TYPE_CHECKING:
    from relay2relax.migrate.plan import Plan, plan, refused
    from relay2relax.migrate.verdict import Verdict

__all__ = ["Plan", "Verdict", "plan", "refused"]
