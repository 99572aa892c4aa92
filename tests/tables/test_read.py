"""Reading of CSV and Parquet files: what is detected, and the errors for broken files."""

import gzip
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from houses import houses
from locallinear.tables.cells import cell_texts
from locallinear.tables.read import EXCEL, find_decimal, find_delimiter, read_table
from locallinear.tables.table import TableError

ROOT = Path(__file__).parents[2]


@pytest.fixture
def read(tmp_path):
    def read(content, **options):
        path = tmp_path / "data.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_table(path, **options)

    return read


def assert_same(found, frame):
    """Equal cells; a file has no types of pandas."""
    for name in frame:
        texts = cell_texts(frame[name]), cell_texts(found[name])
        assert texts[0].tolist() == texts[1].tolist()


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_any_delimiter_gives_the_same_table(read, delimiter):
    frame = houses()
    table = read(frame.to_csv(index=False, sep=delimiter))
    assert_same(table.frame, frame)


def test_decimal_commas_are_detected(read):
    frame = houses()
    table = read(frame.to_csv(index=False, sep=";", decimal=","))
    assert_same(table.frame, frame)
    assert table.usual_decimal == ","


def test_parquet_gives_the_same_table(tmp_path):
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    frame = houses()
    frame.to_parquet(tmp_path / "data.parquet")
    table = read_table(tmp_path / "data.parquet")
    assert_same(table.frame, frame)


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "data.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(TableError, match=r"needs pyarrow|not a complete Parquet"):
        read_table(tmp_path / "data.parquet")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_umlauts_survive_the_usual_encodings(read, encoding):
    table = read("größe,ort\n1,Köln\n2,Zürich\n".encode(encoding))
    assert table.columns == ["größe", "ort"]
    assert table.frame["ort"].tolist() == ["Köln", "Zürich"]


def test_missing_values_have_many_words(read):
    table = read("a,b\n1,x\n,NA\nn/a,?\nnull,-9\n", missing=["-9"])
    assert_array_equal(table.frame["a"], [1, np.nan, np.nan, np.nan])
    assert table.frame["b"].isna().tolist() == [False, True, True, True]


def test_codes_keep_their_zeros_and_other_numbers_do_on_request(read):
    assert read("code\n007\n12\n").frame["code"].tolist() == ["007", "12"]
    assert read("code\n7\n12\n", text=["code"]).frame["code"].tolist() == ["7", "12"]


def test_words_for_gaps_among_numbers_are_gaps(read):
    assert_array_equal(read("a;b\n1,5;x\n-;y\nunknown;z\n").frame["a"], [1.5, np.nan, np.nan])


def test_a_workbook_is_read_where_its_reader_is_installed(tmp_path):
    pytest.importorskip("openpyxl", reason="workbooks need openpyxl")
    houses().to_excel(tmp_path / "data.xlsx", index=False)
    table = read_table(tmp_path / "data.xlsx")
    assert_array_equal(table.frame["price"], houses()["price"])


def test_a_workbook_without_its_reader_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "data.xlsx").write_bytes(b"PK")
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    wanted = r"needs openpyxl: pip install 'locallinear\[tables\]', or save"
    with pytest.raises(TableError, match=wanted):
        read_table(tmp_path / "data.xlsx")


def test_the_extra_for_tables_brings_the_readers_of_all_workbooks():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    packages = [re.split("[<>=]", each)[0] for each in project["optional-dependencies"]["tables"]]
    assert set(EXCEL.values()) <= set(packages)


def test_a_compressed_file_is_read(read):
    assert read(gzip.compress(b"a,b\n1,x\n2,y\n")).frame["a"].tolist() == [1, 2]


def test_the_answer_to_a_missing_header_is_taken(read):
    assert read("1,2\n3,4\n", header=False).columns == ["column 1", "column 2"]
    assert read("1,2\n3,4\n", header=True).columns == ["1", "2"]


def test_quotes_hold_delimiters_and_line_ends(read):
    table = read('a,b\n1,"x, y"\n2,"two\nlines"\n')
    assert table.frame["b"].tolist() == ["x, y", "two\nlines"]


def test_lines_that_end_in_a_delimiter_have_no_further_column(read):
    assert read("a;b;\n1;2;\n3;4;\n").columns == ["a", "b"]


def test_thousands_are_not_taken_for_decimals():
    assert find_decimal("\t", [["1,234"], ["12,345,678"]]) == "."
    assert find_decimal("\t", [["1,234"], ["1,5"]]) == ","
    assert find_decimal("\t", [["1,25"], ["1.5"]]) == "."


def test_text_with_commas_does_not_hide_the_semicolon():
    assert find_delimiter("name;value\nSmith, John;1,5\nMiller, Ann;2,5\n") == ";"


def test_a_similar_name_is_proposed(read):
    table = read("price,size,Size of plot\n1,2,3\n")
    with pytest.raises(TableError, match=r"no column 'Pryce', the target. Did you mean 'price'\?"):
        table.require(["Pryce"], "the target")
    with pytest.raises(TableError, match=r"Did you mean 'Size of plot'\?"):
        table.require(["plot"], "the target")


def test_names_that_are_not_similar_are_not_proposed(read):
    table = read("price,size\n1,2\n")
    sentence = r"no column 'cement' and 1 more, which the model takes. Its columns are price, size."
    with pytest.raises(TableError, match=sentence):
        table.require(["cement", "water", "size"], "which the model takes")
    with pytest.raises(TableError, match="a single column, 'a b c': if that is several"):
        read("a b c\n1 2 3\n").require(["a"], "the target")


@pytest.mark.parametrize(
    ("content", "options", "sentence"),
    [
        ("", {}, "is empty; it should have a line of column names"),
        ("a,b\n", {}, "has column names, but no rows"),
        ("a,b,a\n1,2,3\n", {}, r"two columns 'a' \(number 1 and 3\); rename one"),
        ("a,b\n1,2\n3\n", {}, "row 2 has 1 cells, but the header has 2"),
        ("1,2\n3,4\n", {}, r"its first line \(1, 2\) looks like a row; pass --no-header"),
        ("x,1\nx,2\ny,3\nx,4\n", {}, "looks like a row; pass --no-header"),
        ("a,b\n1,2\n", {"delimiter": ";"}, "but 2 with a comma; leave --delimiter out"),
        (b"PK\x03\x04...", {}, "save the sheet as CSV"),
        (b"a\0b", {}, "is not text"),
        ("# made by hand\na,b,c,d\n1,2,3,4\n", {}, "begin with # are no comments here: remove"),
        (b"\x1f\x8b\x08", {}, "is not a complete gzip file"),
    ],
)
def test_a_broken_file_gives_one_sentence(read, content, options, sentence):
    with pytest.raises(TableError, match=sentence):
        read(content, **options)


def test_a_file_that_does_not_exist_is_named_with_a_similar_one(tmp_path):
    (tmp_path / "houses.csv").write_text("a\nx\n")
    with pytest.raises(TableError, match=r"no file .*hauses.csv. Did you mean .*houses.csv\?"):
        read_table(tmp_path / "hauses.csv")
    with pytest.raises(TableError, match="there is no folder"):
        read_table(tmp_path / "nowhere" / "houses.csv")
    with pytest.raises(TableError, match="is a folder"):
        read_table(tmp_path)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_cell_that_goes_on_behind_its_quotes_is_named(read, end):
    with pytest.raises(TableError, match='row 2: the cell "1"2 goes on behind its closing quote'):
        read(end.join(["a,b", '1,"x"', '"1"2,"y"', ""]))
    found = read(end.join(["a,b", '1,"x" ', '"2" ,"y ""z"""', ""]))
    assert list(found.frame["b"]) == ["x", 'y "z"']
