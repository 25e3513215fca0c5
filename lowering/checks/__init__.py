"""Run-time checks become status codes and error exits."""
