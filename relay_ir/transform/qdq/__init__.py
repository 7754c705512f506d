"""Quantised operators as operators of floats between ``qnn.dequantize`` and ``qnn.quantize``.

``rewrite.py`` walks through a module; ``operators.py`` and ``products.py`` say what an operator
becomes and how far its result can be off; ``model.py`` has what they share.
"""
