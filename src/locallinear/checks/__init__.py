"""Checks of what users pass in, and the error messages for what is not accepted."""
