"""The second process of a suite: sweeper.py FRONT SUITE. See containment.py."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib.containment import leave, watch  # noqa: E402

leave(watch(int(sys.argv[2]), int(sys.argv[1])))
