"""Programs brought into the form that every backend can run. ``executable_form.py`` says what that
is, and does it: ranges, vectors and threads become plain loops.
"""
