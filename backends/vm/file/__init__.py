"""Executables in files: ``forms.py`` says what a file holds, ``writer.py`` and ``reader.py`` what
that means, ``verify.py`` what the instructions of a function may do.
"""

FORMAT = "relay2relax relax vm"
VERSION = 2
