"""The Relay executors."""
