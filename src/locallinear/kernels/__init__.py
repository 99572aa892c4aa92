"""Pure functions on arrays: no validation, no randomness, no input or output."""
