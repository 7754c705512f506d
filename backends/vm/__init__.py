"""The Relax virtual machine: compiler, bytecode, machine, files.

Begin reading with ``bytecode.py``, then ``compiler.py`` (Relax to bytecode) and ``machine.py``,
which runs it; ``native.py`` builds for target c.
"""
