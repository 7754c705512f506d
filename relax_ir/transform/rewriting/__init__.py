"""The two ways in which passes walk a module: ``mutator.py`` changes bindings in their place,
``rewriter.py`` writes every function anew through a builder.
"""
