"""Parts of a program for third-party libraries: functions of what patterns find, and code generators for them."""
