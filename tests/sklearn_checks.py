"""All of scikit-learn's checks of an estimator, in a process of their own.

scipy reads the variable when it is imported, and without it scikit-learn skips its array API
checks. One process does all checks of a test run: it takes seconds to start.
"""

import atexit
import json
import os
import subprocess
import sys
from functools import cache

CHECKER = """
import json, sys, warnings
import locallinear
from sklearn.utils.estimator_checks import check_estimator
warnings.simplefilter("error")
for line in sys.stdin:
    name, options = json.loads(line)
    estimator = getattr(locallinear, name)(**options)
    results = check_estimator(estimator, on_fail=None, on_skip=None)
    told = [[r["check_name"], r["status"], repr(r["exception"])] for r in results]
    print(json.dumps(told), flush=True)
"""


@cache
def checker():
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = subprocess.Popen([sys.executable, "-c", CHECKER], env=environment, text=True, **pipes)
    atexit.register(process.communicate)
    return process


def check_all(name, options):
    """Run scikit-learn's checks on an estimator of the library, and want all to pass."""
    process = checker()
    print(json.dumps([name, options]), file=process.stdin, flush=True)
    line = process.stdout.readline()
    assert line, "the process of the checks has ended; its message is above"
    results = json.loads(line)
    assert len(results) > 50
    assert [r for r in results if r[1] != "passed"] == []
