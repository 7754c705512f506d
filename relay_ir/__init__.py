"""relay2relax.relay_ir"""
