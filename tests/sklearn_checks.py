"""All of scikit-learn's checks of an estimator, in a process of its own."""

import json
import os
import subprocess
import sys

CHECK = """
import json, sys, warnings
import locallinear
from sklearn.utils.estimator_checks import check_estimator
warnings.simplefilter("error")
estimator = getattr(locallinear, sys.argv[1])(**json.loads(sys.argv[2]))
results = check_estimator(estimator, on_fail=None, on_skip=None)
print(json.dumps([[r["check_name"], r["status"], repr(r["exception"])] for r in results]))
"""


def check_all(name, options):
    """Run scikit-learn's checks on an estimator of the library, and want all to pass."""
    # In a process of its own, since scipy reads the variable when it is imported; without it
    # scikit-learn skips its array API checks.
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    command = [sys.executable, "-c", CHECK, name, json.dumps(options)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    assert len(results) > 50
    assert [r for r in results if r[1] != "passed"] == []
