"""What `fit` refuses: tables, targets and options, each in one sentence."""

import pytest

from commands import call, refused, refused_fit, written
from houses import houses


def test_a_missing_target_is_refused_with_a_similar_name(tables):
    sentence = refused("fit", tables / "houses.csv", "--target", "pirce")
    assert sentence.endswith("has no column 'pirce', the target. Did you mean 'price'?")


def test_without_a_target_the_columns_are_named(tables):
    sentence = refused("fit", tables / "houses.csv")
    assert "with --target. Its columns are id, size (m²), rooms, district" in sentence


def test_a_file_that_does_not_exist_is_refused(tables):
    sentence = refused_fit(tables / "house.csv")
    assert sentence.startswith(f"There is no file {tables / 'house.csv'}.")


def test_text_among_numbers_is_refused_by_row_and_column(tmp_path):
    frame = houses()
    frame["rooms"] = frame["rooms"].astype(object)
    frame.loc[2, "rooms"] = "three"
    sentence = refused_fit(written(tmp_path, frame))
    assert "row 3, column 'rooms': expected a number, but found 'three'" in sentence


def test_a_constant_target_is_refused(tmp_path):
    sentence = refused_fit(written(tmp_path, houses().assign(price=1.0)))
    assert "'price' is 1.0 in every row" in sentence


def test_too_few_rows_are_refused(tmp_path):
    sentence = refused_fit(written(tmp_path, houses(5)))
    assert "has 5 rows with a target; at least 10 are needed. Add rows, or fill in" in sentence


def test_a_target_that_is_ignored_is_refused(tables):
    sentence = refused_fit(tables / "houses.csv", "--ignore", "price")
    assert sentence.startswith("Column 'price' is the target, and --ignore, --categorical or")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [("", "is empty"), ("price,a,a\n1,2,3\n", "two columns 'a'"), ("price\n1,2\n", "row 1 has")],
)
def test_a_broken_file_is_refused(tmp_path, content, sentence):
    (tmp_path / "data.csv").write_text(content)
    assert sentence in refused_fit(tmp_path / "data.csv")


def test_a_wrong_delimiter_is_refused(tables):
    assert "leave --delimiter out" in refused_fit(tables / "houses.csv", "--delimiter", ";")
    assert "takes one character" in refused_fit(tables / "houses.csv", "--delimiter", ";;")


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--jobs", 0, "0 threads cannot work"),
        ("--seed", -1, "not in the range"),
        ("--time-budget", "nan", "nan is not a number of seconds"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(tables, option, value, words):
    result = call("fit", tables / "houses.csv", "--target", "price", option, value, status=2)
    assert words in result.stderr
