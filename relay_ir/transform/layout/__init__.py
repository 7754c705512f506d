"""Passes that change the layouts of tensors, or calls by functions that users register."""
