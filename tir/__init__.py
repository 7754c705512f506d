"""relay2relax.tir"""
