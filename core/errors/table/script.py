"""Kinds of mistakes in TVMScript."""
