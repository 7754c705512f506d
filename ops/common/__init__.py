"""What the records of several families share."""
