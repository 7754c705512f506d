"""PrimFuncs on numpy."""
