"""Passes that make programs for training."""
