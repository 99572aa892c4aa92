"""Means of many FALL models, chosen by cross-validation."""
