"""Importers of models from other frameworks and from files.

There is one file or folder per framework; a framework need not be installed until it is used.
"""
