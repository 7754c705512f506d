"""What all commands have that read a model, beside what all commands have."""

from __future__ import annotations

from collections.abc import Callable

from relay2relax.cli.options.attrs import told_attributes
from relay2relax.cli.options.commands import loud
from relay2relax.cli.options.entry import beginning
from relay2relax.cli.options.limits import limited
from relay2relax.cli.options.recover import recovering
from relay2relax.cli.options.verify import verified


def reads_a_model(command: Callable[..., None]) -> Callable[..., None]:
    """Return ``command`` with the options of reading, and those that all commands have."""
    return loud(limited(verified(recovering(beginning(told_attributes(command))))))
