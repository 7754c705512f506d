"""From scheduled loops to C text."""
