"""relay2relax.backends"""
