"""relay2relax.relax_ir"""
