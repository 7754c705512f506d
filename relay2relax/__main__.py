"""``python -m relay2relax`` is the ``relay2relax`` command."""

from relay2relax.cli import main

main()
