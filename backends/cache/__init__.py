"""What builds keep from run to run: entries in a folder of this user, each with its hash.

``place.py`` says which folder that is and whether it may be used, ``entries.py`` what a file of it
holds, ``work.py`` where files are made, ``store.py`` reads, writes and clears, ``sources.py`` says
which sources an entry is for, ``digests.py`` whether contents are the same.
"""

from relay2relax.backends.cache.entries import HEAD_BYTES
from relay2relax.backends.cache.place import Place, find_place
from relay2relax.backends.cache.sources import sources_digest
from relay2relax.backends.cache.store import Store, open_store, size_limit
from relay2relax.backends.cache.work import remove_left_over, work_folder

__all__ = [
    "HEAD_BYTES",
    "Place",
    "Store",
    "find_place",
    "open_store",
    "remove_left_over",
    "size_limit",
    "sources_digest",
    "work_folder",
]
