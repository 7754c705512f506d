"""Passes that compute several products of one input as one larger product."""
