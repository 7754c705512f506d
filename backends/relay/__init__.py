"""The Relay executors: begin reading with ``executor.py``, then ``code.py`` and ``machine.py``."""
