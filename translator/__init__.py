"""relay2relax.translator"""
