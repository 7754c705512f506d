"""relay2relax.cli"""
