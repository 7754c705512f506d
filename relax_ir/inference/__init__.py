"""The struct info of Relax expressions. Begin with ``infer.py``.

``sharding.py`` knows meshes of devices, ``memory.py`` and ``runtime_calls.py`` what is called of
the virtual machine; ``op_signatures.py`` and ``tvm_limits.py`` what TVM says of its operators.
"""
