"""Element-wise operators, reductions, products and transforms."""
