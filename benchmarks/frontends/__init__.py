"""Importing models of others, beside those who import them too."""
