"""Ratios measured side by side in one run: `python -m benchmarks [module ...]`.

A module has a function `run` that yields tables, in the order in which they are measured. Its
section of RESULTS.md names the command, the commit and the machine.
"""
