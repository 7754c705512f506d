"""What ``convert`` wrote, read anew: finding it (``folder.py``), and checking it (``check.py``)."""
