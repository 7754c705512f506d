"""``python -m relay2relax.compat [--tvm VERSION] (SCRIPT | -m MODULE | -c TEXT) [arguments…]``."""

import sys

from relay2relax.compat.script import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
