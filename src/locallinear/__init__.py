"""Local linear models that are accurate and readable at once."""

__version__ = "0.1.0"
