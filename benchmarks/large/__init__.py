"""Models at the size at which they are used, on everybody.

modules.py   what no library defines: a U-Net, a detector with boxes that are suppressed
models.py    what there is, by name; weights are drawn, and scaled so that activations stay near one
prepare.py   one model as files: ONNX, inputs, and what PyTorch computes of them
model.py     such files as a model that the peers take
section.py   the section of ``benchmarks/run.py``
"""
