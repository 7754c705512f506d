"""What documents use of matplotlib."""
