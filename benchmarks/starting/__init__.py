"""How long it takes until a model runs: from its files to the first result.

models.py    the models as files: Relay and params, ONNX, inputs
child.py     one who runs a model, in a process of its own
section.py   the section of ``benchmarks/run.py``
"""
