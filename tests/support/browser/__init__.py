"""A headless Chromium, driven by its driver: pages as a person uses them, by mouse and keyboard.

The protocol is W3C's WebDriver: JSON over HTTP, of which a dozen requests are used here.
"""
