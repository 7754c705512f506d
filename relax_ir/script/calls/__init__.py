"""Calls in Relax out of TVMScript."""
