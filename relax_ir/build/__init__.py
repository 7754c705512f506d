"""Relax written in Python, binding by binding."""
