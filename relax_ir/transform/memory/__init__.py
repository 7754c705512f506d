"""Explicit memory: allocated, planned, released."""
