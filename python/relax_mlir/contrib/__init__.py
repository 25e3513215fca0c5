"""Third-party libraries as parts of programs, one file per library: its patterns, and the code generator for them."""
