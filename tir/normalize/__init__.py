"""Programs brought into the form that every backend can run."""
