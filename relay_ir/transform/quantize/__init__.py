"""Passes that put integer operators in the place of fake-quantised ones."""
