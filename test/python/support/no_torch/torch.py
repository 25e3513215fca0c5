"""Shadows torch if a test's child does not need it; see `cold_process`."""

raise ImportError("torch is hidden from this process (test/python/support/cold_process.py)")
