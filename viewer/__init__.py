"""relay2relax.viewer"""
