"""Passes over every recorded case: ``trials.py`` has the passes and what each keeps, ``sweep.py``
runs programs behind them and compares with what TVM recorded.
"""
