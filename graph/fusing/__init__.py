"""Patterns over graphs: where they match, and nodes that become one."""
