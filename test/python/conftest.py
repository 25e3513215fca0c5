"""Settings of all tests: nothing is taken from the user's cache of compiled modules, and nothing goes into it."""

from __future__ import annotations

import os

os.environ["RELAX_MLIR_CACHE"] = "0"
