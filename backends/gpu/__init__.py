"""Schedules for GPUs: what each stage of a program becomes on blocks and threads.

``schedule.py`` chooses, ``elementwise.py``, ``reduction.py``, ``product.py``, ``tensor_cores.py``,
``attention.py``, ``rows.py`` and ``statements/`` are the kernels there are, ``kernel.py`` what they
are built with, ``device.py`` the machines.
"""
