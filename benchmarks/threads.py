"""How many threads everybody runs on, and the variables that say so.

Numerical libraries read them when they load.
"""

THREADS = 2
_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TVM_NUM_THREADS", "RELAY2RELAX_THREADS")
ENVIRONMENT = dict.fromkeys(_VARIABLES, str(THREADS))
