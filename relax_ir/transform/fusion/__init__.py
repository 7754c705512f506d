"""Which operators are computed together, and the PrimFuncs they become."""
