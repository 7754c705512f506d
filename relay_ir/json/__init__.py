"""Relay's JSON format: reader and writer."""
