"""Quantised operators, of Relay (qnn) and of Relax."""
