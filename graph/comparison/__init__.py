"""What is the same in two graphs, and what was added, removed and changed."""
