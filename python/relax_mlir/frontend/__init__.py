"""Programs of other frameworks, and files, as modules of this project.

One file or folder per framework, which need not be installed.
"""
