"""What is asked of a graph: what depends on what, what it costs, which memory is alive."""
