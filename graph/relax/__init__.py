"""From Relax to the graph, and back."""
