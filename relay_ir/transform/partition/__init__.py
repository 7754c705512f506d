"""Parts of a program for external compilers: found by patterns, annotated, made functions."""
