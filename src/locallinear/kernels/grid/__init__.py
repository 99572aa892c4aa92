"""All configurations of a grid at once, compiled."""
