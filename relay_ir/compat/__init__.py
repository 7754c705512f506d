"""What earlier versions of TVM wrote, and what it is today.

``older_calls.py`` has a table of operators that were called otherwise, ``older_attrs.py`` their
attribute classes. ``attrs_codec.py`` reads and writes the fields of attributes, of whatever
version.
"""
