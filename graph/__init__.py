"""relay2relax.graph"""
