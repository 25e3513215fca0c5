"""Third-party libraries for programs, one file per library: its patterns, and its code generator."""
