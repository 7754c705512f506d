"""The graph as text, JSON and DOT."""
