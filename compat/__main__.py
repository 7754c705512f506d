"""``python -m relay2relax.compat [--tvm VERSION] (SCRIPT | -m MODULE | -c TEXT) [arguments…]``."""

import sys

from relay2relax.compat.script import main

sys.exit(main(sys.argv[1:]))
