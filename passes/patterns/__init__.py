"""Offloading to third-party libraries: outlining of pattern matches, and code generators for them."""
