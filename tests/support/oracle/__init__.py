"""What the verdicts of float64 are held against: recorded programs whose results part in C."""
