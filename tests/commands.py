"""Commands as the tests run them: what they print, and how they refuse their input."""

import io

import pandas as pd
from click.testing import CliRunner

from locallinear.__main__ import main


def call(*arguments, status=0, stdin=None):
    """Run a command, which ends with this status."""
    arguments = [str(a) for a in arguments]
    result = CliRunner().invoke(main, arguments, input=stdin, catch_exceptions=False)
    assert result.exit_code == status, result.output
    return result


def refused(*arguments):
    """The one sentence with which a command refuses its input."""
    result = call(*arguments, status=2)
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    return line.removeprefix("Error: ")


def refused_fit(data, *arguments):
    """The one sentence with which `fit` refuses a table of houses."""
    return refused("fit", data, "--target", "price", *arguments)


def frame_of(text):
    """The table that a command printed."""
    return pd.read_csv(io.StringIO(text))


def written(tmp_path, frame):
    """The table in a file."""
    frame.to_csv(tmp_path / "data.csv", index=False)
    return tmp_path / "data.csv"
