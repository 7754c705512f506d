"""What TVM compiled from Relay, as Relax programs that call its kernels.

The operators are gone from it; what is left is which kernel takes what, with shapes and dtypes, and
often the weights.
"""
