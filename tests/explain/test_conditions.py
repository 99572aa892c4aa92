"""Conditions by which a page finds rows: what may be written, and what is said of the rest."""

import pytest

from browsed import flats

READ = [
    ("signed > 2022-10-01", lambda t: t["signed"] > "2022-10-01"),
    ("signed > 01.10.2022", lambda t: t["signed"] > "2022-10-01"),
    ("signed = 2022-10", lambda t: t["signed"].str.startswith("2022-10")),
    ("signed > 2022", lambda t: t["signed"] >= "2023"),
    ("signed <= 2022-03", lambda t: t["signed"] < "2022-04"),
    ("call > 20:00", lambda t: t["call"] > "20:00"),
    ("call < 9:30", lambda t: t["call"] < "09:30"),
    ("discount < 3 %", lambda t: t["discount"] < 3),
    ("costs > 2000 EUR", lambda t: t["costs"] > 2000),
    ("costs > 2.000,00 EUR", lambda t: t["costs"] > 2000),
    ("costs > 2000.5, discount >= 4%", lambda t: (t["costs"] > 2000.5) & (t["discount"] >= 4)),
    ("predicted > 0", lambda t: t["costs"] > 0),
    ("garage = JA", lambda t: t["garage"] == "ja"),
]
PROBLEMS = [
    ("Foo = 3", "There is no column “Foo”. Columns are “signed”, “call”, “discount”, “costs”"),
    ("costs > 2.000", "“2.000” may be 2 or 2000. Write 2 or 2000."),
    ("costs > 2.500 EUR", "“2.500 EUR” may be 2.5 or 2500. Write 2.5000 or 2500."),
    ("costs > much", "“much” is no number. Write it as 2457.52."),
    ("costs >", "Write a value after “costs >”."),
    ("signed > 10/01/2022", "is no date. Write it as 2023-10-31, 2023-10 or 2023."),
    ("call > 20", "“20” is no time of day. Write it as 20:00."),
    ("garage > ja", "garage holds text. Only = can be asked of it."),
    ("garage = maybe", "No row matches."),
]


@pytest.mark.parametrize(("text", "rows"), READ, ids=[text for text, _ in READ])
def test_conditions_are_read_as_people_write_them(opened, text, rows):
    page, _ = opened("flats")
    _, values = flats(seed=1)
    expected = [f"row {i}" for i in values.index[rows(values)]]
    assert expected
    page.fill("#search", text)
    assert page.locator("#row option").all_inner_texts() == expected
    assert page.locator("#search-problem").is_hidden()


def test_an_amount_is_found_as_its_cell_had_it(opened):
    page, _ = opened("flats")
    cells, _ = flats(seed=1)
    for column in ("costs", "signed"):
        page.fill("#search", cells[column][7].removesuffix(" EUR"))
        assert "row 7" in page.locator("#row option").all_inner_texts()


@pytest.mark.parametrize(("text", "sentence"), PROBLEMS, ids=[text for text, _ in PROBLEMS])
def test_a_search_without_rows_says_why(opened, text, sentence):
    page, _ = opened("flats")
    page.fill("#search", text)
    said = page.locator("#search-problem").inner_text()
    assert sentence in said
    assert said.endswith("The row below is still row 0.")
    assert page.locator("#matches").inner_text() == "0 matches"
    page.fill("#search", "")
    assert page.locator("#search-problem").is_hidden()
