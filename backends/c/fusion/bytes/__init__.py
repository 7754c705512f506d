"""Numbers that fit into a byte: which they are, and products of them."""
