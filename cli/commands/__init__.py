"""The commands, one module for each: what ``relay2relax NAME`` does."""
