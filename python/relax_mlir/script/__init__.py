"""The script form of Relax modules: Python text that reads like the program."""

from relax_mlir.script.printer import script

__all__ = ["script"]
