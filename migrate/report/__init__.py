"""What a migration found, in the forms that people and machines read."""
