"""Type inference. Begin with ``infer.py``, which walks a module and states what must be equal;
``unify.py`` solves that, ``relations.py`` asks operators, ``errors.py`` words what is wrong.
"""
