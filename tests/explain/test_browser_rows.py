"""Very many rows in a real browser: how they are found, shown in short, and saved."""

import numpy as np
import pandas
import pytest

from houses import fitted, houses, table_estimator


def found_names(page, wanted):
    page.fill("#search", wanted)
    return page.locator("#row option").all_inner_texts()


def test_rows_are_found_and_read_before_charts_are_drawn(browser, reports):
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.add_init_script("window.requestIdleCallback = (resume) => { window.resume = resume; };")
    page.goto(reports("many")[0].as_uri())
    page.wait_for_selector("html[data-ready=yes]", timeout=30_000)
    page.fill("#search", "row 277")
    assert page.locator("#row-name").inner_text() == "row 277"
    assert page.locator("#parts-table tr").count() > 3
    assert page.evaluate("typeof Plotly") == "undefined"
    page.evaluate("setInterval(() => window.resume(), 1)")
    page.wait_for_selector("html[data-drawn=yes]", timeout=30_000)
    # The chart is that of the row which was found meanwhile.
    assert page.locator("#chart-row .main-svg").count() > 0
    prediction = page.locator("#chart-row").evaluate("(chart) => JSON.stringify(chart.data)")
    row = page.locator("#row-prediction").inner_text()
    assert row.replace(",", "")[:5] in prediction.replace(",", "")
    context.close()


def test_rows_are_found_by_value_and_by_conditions(opened):
    page, _ = opened("many")
    table = houses(300, seed=1)
    table.loc[5, "district"] = "=1+1"
    names = np.array([f"row {i}" for i in range(300)])
    assert found_names(page, "=1+1") == ["row 5"]
    assert found_names(page, "old TOWN") == names[table["district"] == "old town"].tolist()
    size = table["size (m²)"][7]
    assert "row 7" in found_names(page, str(size))
    wanted = (table["rooms"] > 4) & (table["district"] == "north")
    assert found_names(page, "rooms > 4, District = north") == names[wanted].tolist()
    gone = table["size (m²)"].isna()
    assert found_names(page, "size (m²) = missing") == names[gone].tolist()
    dear = table["price"] > 700
    assert found_names(page, "true > 700") == names[dear].tolist()
    assert "match" in page.locator("#matches").inner_text()


def test_a_row_without_details_has_its_prediction_interval_and_layers(opened):
    page, data = opened("many")
    why = fitted().explain(houses(300, seed=1).iloc[[123]])
    assert 123 not in data["all_rows"]["detailed"]
    page.fill("#search", "row 123")
    assert page.locator("#row-name").inner_text() == "row 123"
    shown = page.locator("#row-prediction").inner_text().replace(",", "")
    assert float(shown) == pytest.approx(why.prediction[0], rel=1e-4)
    assert not page.locator("#details").is_visible()
    assert "this row is none" in page.locator("#short-note").inner_text()
    cells = page.locator("#parts-table tbody tr td:last-child").all_inner_texts()
    *steps, total = [float(cell.replace("−", "-").replace(",", "")) for cell in cells]
    assert sum(steps) == pytest.approx(total, rel=2e-3)
    assert steps[1] == pytest.approx(why.neighborhood_part[0, 0], rel=2e-3)
    assert not page.locator("#unlike").is_visible()
    page.fill("#search", "size (m²) > 9000")
    assert page.locator("#row-name").inner_text() == "row 6"
    assert 6 not in data["all_rows"]["detailed"]
    assert page.locator("#unlike").is_visible()
    page.fill("#search", f"row {data['all_rows']['detailed'][3]}")
    assert page.locator("#details").is_visible()


def test_the_rows_that_were_found_are_saved_as_csv(opened, tmp_path):
    page, _ = opened("many")
    page.fill("#search", "rooms = 2")
    with page.expect_download() as started:
        page.click("#save")
    started.value.save_as(tmp_path / "rows.csv")
    saved = pandas.read_csv(tmp_path / "rows.csv")
    table = houses(300, seed=1)
    kept = table[table["rooms"] == 2]
    assert saved["row"].tolist() == [f"row {i}" for i in kept.index]
    layers = saved["rows in general"] + saved["those like it"]
    total = layers + saved.filter(like="differs: ").sum(axis=1)
    np.testing.assert_allclose(total, saved["predicted price"], rtol=1e-6)
    model = table_estimator()
    predicted = model.predict(kept)
    np.testing.assert_allclose(saved["predicted price"], predicted, rtol=1e-5)
    away = model.predict_interval(kept) - predicted[:, None]  # three digits of it are kept
    found = saved[["lowest", "highest"]].to_numpy() - predicted[:, None]
    np.testing.assert_allclose(found, away, rtol=2e-3)
    page.fill("#search", "=1+1")
    with page.expect_download() as started:
        page.click("#save")
    started.value.save_as(tmp_path / "formula.csv")
    assert pandas.read_csv(tmp_path / "formula.csv")["district"].tolist() == ["'=1+1"]
