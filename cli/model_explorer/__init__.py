"""What Model Explorer loads to read models:

    model-explorer net.relay --extensions=relay2relax.cli.model_explorer

It loads ``main.py``.
"""
