"""Passes that multiply weights by the scales that stand before or behind them."""
