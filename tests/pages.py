"""Report pages, as a program reads them."""

import json
import re

HELD = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)


def data_in(path):
    """What a machine reads from a report."""
    (found,) = HELD.findall(path.read_text("utf-8"))
    return json.loads(found)
