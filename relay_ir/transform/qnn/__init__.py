"""Passes that turn quantised operators into ones that hardware has, or into plain ones."""
