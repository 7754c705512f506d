"""From Relay to the graph, and back."""
