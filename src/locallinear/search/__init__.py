"""All configurations of a grid, scored by cross-validation at once."""
