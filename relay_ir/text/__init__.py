"""Relay's text format: lexer, parser, printer."""
