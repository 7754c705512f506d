"""Changes of size: where the scales are known, and where the program computes them."""
