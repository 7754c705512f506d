"""Graphs as ONNX models.

``model.py`` walks a program, ``builder.py`` collects nodes, ``forms/`` says what each operator
becomes. Neither imports ``onnx``, but in ``protos.py``, where messages are made.
"""
