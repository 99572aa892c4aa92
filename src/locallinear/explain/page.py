"""The page of a report: its data in an autoescaped template, as one HTML file."""

import json
from functools import cache
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..kernels.logs import exponential
from ..runtime.extras import extra
from ..runtime.files import whole_file
from .packing import deflated
from .text import count, factor, number, plural, shorten, signed, unreversed

# The page runs them in this order, in one scope.
SCRIPTS = ("drawing", "all_rows", "row_model", "overview", "row", "conditions", "find", "controls")


def write_report(path: str | Path | IO[bytes], data: dict[str, Any]) -> None:
    """Write the data of `report_data` as one HTML file that needs nothing else.

    The file is written whole or not at all. Needs jinja2 and plotly.

    Parameters
    ----------
    path : str or Path, or a binary file that is open for writing
    data : dict
    """
    html = unreversed(render(data))
    with whole_file(path) as file:
        file.write(html.encode())


def render(data: dict[str, Any]) -> str:
    """The page of a report's data."""
    jinja = extra("jinja2", "report", "Reports")
    plotly = extra("plotly.offline", "report", "Reports")
    markup = extra("markupsafe", "report", "Reports").Markup
    environment = jinja.Environment(
        loader=jinja.PackageLoader("locallinear.explain"),
        autoescape=True,
        undefined=jinja.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "leading": leading,
        "score": score,
        "times": times,
        "number": number,
        "count": count,
        "plural": plural,
        "shorten": shorten,
        "signed": signed,
    }

    def source(name: str) -> str:
        return environment.loader.get_source(environment, name)[0]

    scripts = "\n".join(source(f"{name}.js") for name in SCRIPTS)
    return environment.get_template("report.html").render(
        data=data,
        style=markup(source("report.css")),
        script=markup(scripts),
        plotly=markup(_deflated_plotly(plotly)),
        json=markup(_script_json(data)),
    )


@cache
def _deflated_plotly(plotly: Any) -> str:
    """The script of plotly, which is the same on each page of a process."""
    return deflated(plotly.get_plotlyjs().encode())


def score(value: float, name: str, digits: int = 3) -> str:
    """A score as people read it: errors by their digits, and shares with three decimals."""
    if name in ("RMSE", "MAE"):
        return number(value, digits)
    return f"{value:z.3f}".replace("-", "−")


def times(log: float) -> str:
    """What is added to a log as what it multiplies by."""
    return f"×\u202f{factor(float(exponential(np.array(log))))}"


def leading(sizes: list[float], limit: int = 3) -> list[int]:
    """The numbers of the largest sizes, largest first; those that are zero are none."""
    order = sorted(range(len(sizes)), key=lambda j: -sizes[j])
    return [j for j in order[:limit] if sizes[j] > 0]


def _script_json(data: dict[str, Any]) -> str:
    """JSON that nothing in a value can end: no character of it starts a tag or an entity."""
    text = json.dumps(data, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
