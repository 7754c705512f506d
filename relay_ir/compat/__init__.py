"""What earlier versions of TVM wrote, and what it is today."""
