"""Patterns over graphs of expressions, and the one matcher of Relay, Relax and the graph between.

- ``patterns.py`` what may be asked: patterns as data
- ``view.py`` what the matcher asks of a program: its operands, operators, attributes and types
- ``flow.py`` who uses a node, and which node all its uses come together in
- ``matcher.py`` the matcher
"""
