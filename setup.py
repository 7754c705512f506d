"""Packages are found: every folder at the root that is one becomes the subpackage of its name.

Builds happen in a folder of their own, which is gone afterwards: they leave nothing in the
checkout, and what an older one left behind there does not get into the wheel.
"""

import atexit
import shutil
import tempfile
from pathlib import Path

from setuptools import find_packages, setup

ROOT = Path(__file__).parent
NOT_INSTALLED = {"relay2relax", "tests", "docs", "benchmarks", "examples"}
folders = sorted(one.parent.name for one in ROOT.glob("*/__init__.py") if one.parent.name not in NOT_INSTALLED)
inner = [f"{folder}.{one}" for folder in folders for one in find_packages(folder)]

aside = tempfile.mkdtemp(prefix="relay2relax-build-")
atexit.register(shutil.rmtree, aside, ignore_errors=True)

setup(
    options={"build": {"build_base": aside}, "egg_info": {"egg_base": aside}},
    packages=["relay2relax", *(f"relay2relax.{one}" for one in [*folders, *inner])],
    package_dir={"relay2relax": "relay2relax"} | {f"relay2relax.{one}": one for one in folders},
)
