"""Programs that are ready to run: found in the cache by the files that they were made of.

``document.py`` says what is kept of a program, ``kept.py`` keeps it and finds it again, and
``program.py`` runs it. Nothing here that finds and runs a program knows an operator, a graph or a
loop: importing those takes longer than all the rest.
"""
