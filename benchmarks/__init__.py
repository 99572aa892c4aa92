"""Ratios measured side by side in one run: `python -m benchmarks [module ...]`.

A module has a function `run` that yields tables, in the order in which they are measured. Its
section of RESULTS.md names the command, the commit and the machine. The league and the
intervals have options of their own: `python -m benchmarks league --help`.
"""

import os

# Threads that wait for others sleep. Those that spin instead take the cores of a busy machine from
# the threads that they wait for: LightGBM's fits became 30 times as long. Set before OpenMP loads.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
