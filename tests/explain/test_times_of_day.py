"""Columns of times of day, such as 13:45: hours, no years, and no slope."""

import re

import numpy as np
import pytest

from browsed import clocks
from locallinear import FALLRegressor, TableRegressor
from locallinear.explain import ContributionDisplay, EffectDisplay
from locallinear.explain.row_text import row_lines
from locallinear.explain.traits import neighbor_texts
from locallinear.explain.view import view_of


@pytest.fixture(scope="module")
def model():
    return TableRegressor(FALLRegressor(8, random_state=0), target="identity").fit(clocks(), "y")


def test_neighbours_have_hours_in_common_and_no_date(model):
    why = model.explain(clocks(20, seed=1))
    texts = [line[0] for line in neighbor_texts(view_of(model), why)]
    assert all(re.fullmatch(r"\d+:00( to \d+:00)?", text) for text in texts)


def test_neighbours_at_all_hours_have_no_year_in_common(model):
    column = model.table_model.columns[0]
    features = model.table_model.encode(clocks(200, seed=2)).to_numpy()[:, :3]
    words = column.in_common(features, np.full(200, 1 / 200))
    assert words == "different times of day"


def test_no_slope_is_estimated_and_none_is_printed(model):
    view, why = view_of(model), model.explain(clocks(5, seed=1))
    assert [view.has_slope(j) for j in range(3)] == [False, True, True]
    shown = [ContributionDisplay.from_explanation(why, row=row) for row in range(5)]
    lines = [line.strip() for one in shown for line in row_lines(one)]
    assert any(line.startswith("width = ") and " slope " in line for line in lines)
    assert any(line.startswith("clock = ") for line in lines)
    assert not any(line.startswith("clock = ") and " slope " in line for line in lines)


def test_its_effect_is_that_of_its_hours(model):
    shown = EffectDisplay.from_estimator(model, clocks(300, seed=1), "clock")
    assert shown.feature_name == "clock"
    assert list(shown.grid) == [f"{hour}:00" for hour in range(24)]
    assert shown.grid[shown.mean.argmax()] in ("11:00", "12:00", "13:00")
    again = EffectDisplay.from_estimator(model, clocks(300, seed=1), "clock: time of day")
    np.testing.assert_array_equal(again.mean, shown.mean)


def test_the_page_shows_hours_and_neither_a_slope_nor_its_picture(opened):
    page, data = opened("clocks")
    assert sorted(effect["part"] for effect in data["effects"]) == ["clock", "snow", "width"]
    page.select_option("#feature", "0")
    assert page.locator("#part-field").is_hidden()
    assert page.locator("#chart-effect").is_hidden()
    assert "has no slope" in page.locator("#effect-caption").inner_text()
    cells = page.locator("#parts-table tr", has_text="clock").locator("td")
    assert cells.nth(2).inner_text() == ""
    assert cells.nth(2).get_attribute("class") is None
    drivers = page.locator("#driver-table tr", has_text="clock").locator("td")
    assert drivers.all_text_contents()[2:] == ["–", "–", "–"]
    assert "0000" not in page.locator("main").inner_text()
    page.select_option("#feature", "1")
    assert page.locator("#chart-effect").is_visible()
