"""Files of modules and of parameters."""
