"""Tables that would break a reader or a terminal: read, or refused in one sentence."""

import csv

import pytest
from click.testing import CliRunner

from locallinear.__main__ import main
from locallinear.cli.terminal import printable
from locallinear.tables.read import read_table


def fit(path, *options):
    arguments = [
        "fit",
        str(path),
        "--target",
        "y",
        "--quick",
        "--jobs",
        "1",
        "--time-budget",
        "0.1",
    ]
    return CliRunner().invoke(main, [*arguments, *options], catch_exceptions=False)


def write(path, header, row, n=20):
    path.write_text("\n".join([header, *(row(i) for i in range(n))]) + "\n")
    return path


def sentence(result):
    assert result.exit_code == 2
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    return line


def test_a_line_of_any_length_is_read(tmp_path):
    header = ",".join(f"{'column' * 30} {j}" for j in range(1000))
    path = write(tmp_path / "wide.csv", header, lambda i: ",".join(["7"] * 1000), n=2)
    assert len(header) > csv.field_size_limit()
    assert len(read_table(path).columns) == 1000
    assert csv.field_size_limit() == 131_072


def test_a_cell_of_any_length_is_read(tmp_path):
    path = write(tmp_path / "long.csv", "a,y", lambda i: f"{'x' * 200_000},{i}")
    assert len(read_table(path).frame["a"][0]) == 200_000


@pytest.mark.parametrize("row", [lambda i, q: f"{q}t,{i}", lambda i, q: f"{i},{q}t"])
def test_a_quote_that_never_ends_is_refused_with_its_row(tmp_path, row):
    path = write(tmp_path / "quote.csv", "a,y", lambda i: row(i, '"' if i == 5 else ""))
    assert 'a cell in row 6 begins with a quote (") that is never closed' in sentence(fit(path))


def test_quotes_that_end_are_read(tmp_path):
    path = write(tmp_path / "quote.csv", '"a","y"', lambda i: f'"t, ""{i}""\nnext",{i}')
    assert read_table(path).frame["a"][3] == 't, "3"\nnext'


def test_numbers_whose_squares_are_infinite_or_zero_are_refused(tmp_path):
    huge = write(tmp_path / "huge.csv", "a,y", lambda i: f"{i}e150,{i}")
    assert "row 2, column 'a': the number 1e+150 is above 1e+140 in size" in sentence(fit(huge))
    tiny = write(tmp_path / "tiny.csv", "a,y", lambda i: f"{i}e-150,{i}")
    assert "column 'a': all numbers are below 1e-140 in size" in sentence(fit(tiny))


def test_escape_sequences_in_names_and_cells_do_not_reach_the_terminal(tmp_path):
    header = "a\x1b]0;owned\x07,\u202eb,y"
    path = write(tmp_path / "hostile.csv", header, lambda i: f"{i % 7},{i % 5}\x1b[2J,{i}")
    done = fit(path, "--out", str(tmp_path / "hostile.model"))
    assert done.exit_code == 0
    assert r"a\x1b]0;owned\x07" in done.output
    assert not set(done.output) & set("\x1b\x07\u202e")
    refused = fit(path, "--target", "z")
    assert r"a\x1b]0;owned\x07" in sentence(refused)
    assert not set(refused.output) & set("\x1b\x07\u202e")


def test_a_name_cannot_forge_a_line(tmp_path):
    path = write(tmp_path / "forged.csv", '"a\nError: all is lost",y', lambda i: f"{i},{i}")
    assert r"a\nError: all is lost" in sentence(fit(path, "--target", "z"))


def test_a_file_name_of_any_bytes_can_be_printed():
    assert printable("\udcff\x9b1m größe\t") == r"\udcff\x9b1m größe\t"
