"""What can compute what a model computes: Relay, its translations, and programs of others."""
