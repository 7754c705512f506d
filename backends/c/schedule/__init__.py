"""How the loops of a stage run on a CPU."""
