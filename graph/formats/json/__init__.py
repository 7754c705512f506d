"""The graph as JSON: MSC's own layout, and beside it, under the key ``relay2relax``, what MSC
drops. ``document.py`` says what a document is.
"""
