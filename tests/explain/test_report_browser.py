"""The report in a real browser, opened from disk with the network off."""

import re

import numpy as np
import pytest

from browsed import NAMES, PANELS, panels, shown_prediction


@pytest.mark.parametrize("name", ["units", "ranks", "classes", "table"])
def test_it_opens_from_disk_with_every_section_in_order(opened, name):
    page, _ = opened(name)
    heads = page.locator("h2").all_inner_texts()
    starts = ["How good?", "What drives it", "For whom", "How good is", "What drives"]
    starts += ["For whom", "What regimes", "Why this row"]
    assert [head[: len(start)] for head, start in zip(heads, starts, strict=True)] == starts
    for chart in ["#chart-fit", "#chart-drivers", "#chart-curve", "#chart-effect", "#chart-row"]:
        assert page.locator(f"{chart} svg.main-svg").count() > 0


def test_hostile_names_look_as_they_are(opened):
    page, data = opened()
    assert page.locator("h1").inner_text() == "<b>Title</b>"
    assert page.locator("#row-name").inner_text() == "<i>mix</i> 0"
    options = page.locator("#target option").all_inner_texts()
    assert options == data["targets"]
    page.click("#all-drivers")
    drawn = page.locator("#chart-drivers .ytick").all_text_contents()
    drawn = [text.strip("\u2068\u2069") for text in drawn]
    assert {NAMES[0], NAMES[1], NAMES[2], NAMES[4]} <= set(drawn)
    assert len(drawn) == len(NAMES)
    assert page.locator("main img, main script, main i:not(.near i)").count() == 0


def test_choosing_a_row_changes_every_panel(opened):
    page, data = opened()
    before = panels(page)
    page.select_option("#row", "7")
    after = panels(page)
    assert [panel for panel in PANELS if before[panel] == after[panel]] == []
    assert shown_prediction(page) == pytest.approx(data["rows"]["prediction"][7][0])


def test_searching_selects_the_row_that_matches(opened):
    page, data = opened()
    before = panels(page)
    page.fill("#search", "mix</i> 23")
    assert page.locator("#row-name").inner_text() == "<i>mix</i> 23"
    assert page.locator("#matches").inner_text() == "1 match"
    after = panels(page)
    assert [panel for panel in PANELS if before[panel] == after[panel]] == []
    assert shown_prediction(page) == pytest.approx(data["rows"]["prediction"][23][0])
    page.fill("#search", "there is no such row")
    assert page.locator("#matches").inner_text() == "0 matches"
    page.fill("#search", "")
    page.click("#next")
    assert page.locator("#row-name").inner_text() == "<i>mix</i> 24"
    page.click("#previous")
    assert page.locator("#row-name").inner_text() == "<i>mix</i> 23"


def test_clicking_a_point_explains_its_row(opened):
    page, data = opened()
    values = page.locator("#feature").input_value()
    highest = max(range(40), key=lambda i: data["rows"]["coef"][i][0][int(values)])
    trace, place = page.evaluate(
        """(row) => { const traces = document.getElementById("chart-effect").data;
           const at = traces.findIndex((t) => t.customdata?.includes(row));
           return [at, traces[at].customdata.indexOf(row)]; }""",
        highest,
    )
    traces = page.locator("#chart-effect .scatterlayer .trace")
    point = traces.nth(trace).locator("path.point").nth(place)
    point.scroll_into_view_if_needed()
    box = point.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2 - 2, box["y"] + box["height"] / 2)
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.up()
    assert page.locator("#row-name").inner_text() == data["rows"]["names"][highest]


@pytest.mark.parametrize("name", ["units", "ranks", "classes"])
def test_a_slider_moves_the_prediction_by_coefficient_times_step(opened, name):
    page, data = opened(name)
    target = 1
    page.select_option("#target", str(target))
    page.select_option("#row", "5")
    start = shown_prediction(page)
    assert start == pytest.approx(data["rows"]["prediction"][5][target])
    slider = page.locator("#sliders input").first
    j = int(slider.get_attribute("data-feature"))
    step = float(slider.get_attribute("step"))
    coef = data["rows"]["coef"][5][target][j]
    slider.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert shown_prediction(page) - start == pytest.approx(3 * step * coef, rel=1e-6)
    for _ in range(5):
        page.keyboard.press("ArrowLeft")
    assert shown_prediction(page) - start == pytest.approx(-2 * step * coef, rel=1e-6)
    page.keyboard.press("End")
    assert "Beyond the row and its neighbours" in page.locator("#whatif-far").inner_text()
    page.click("#reset")
    assert shown_prediction(page) == pytest.approx(start)
    assert page.locator("#whatif-far").inner_text() == ""


def test_another_category_changes_the_prediction_by_the_difference_of_what_they_add(opened):
    page, data = opened("table")
    page.select_option("#row", "3")
    adds = data["rows"]["coef"][3][0][2]
    here = int(data["rows"]["positions"][3][2])
    start, chooser = shown_prediction(page), page.locator("#sliders select")
    for place in range(4):
        chooser.select_option(str(place))
        assert shown_prediction(page) == pytest.approx(start + adds[place] - adds[here])
    page.click("#reset")
    assert shown_prediction(page) == start


def test_a_table_s_values_are_shown_as_they_are(opened):
    page, data = opened("table")
    assert page.locator("#sliders input").count() == 2
    assert page.locator("#sliders select").count() == 1
    assert "missing, counts as" in page.locator("#sliders").inner_text()
    assert page.locator("#sliders select option").all_inner_texts() == data["choices"][2][:-1]
    unseen = next(i for i, line in enumerate(data["rows"]["values"]) if line[2] == NAMES[0])
    page.select_option("#row", str(unseen))
    assert NAMES[0] in page.locator("#parts-table").inner_text()
    assert page.locator("#sliders select option").last.inner_text() == NAMES[0]
    page.select_option("#feature", "2")
    assert set(page.locator("#chart-effect .xtick").all_text_contents()) >= {
        f"\u2068{text}\u2069" for text in ("missing", "north", "south")
    }


def test_a_row_that_no_feature_moves_is_told_in_words(opened):
    page, _ = opened("classes")
    assert not page.locator("#row-constant").is_visible()
    page.select_option("#row", "39")
    assert "No feature counts here" in page.locator("#row-constant").inner_text()


def test_probabilities_follow_the_sliders(opened):
    page, data = opened("classes")
    share = data["rows"]["probability"][0][0]
    text = page.locator("#whatif-prediction").inner_text()
    shown = re.search(r"probability ([\d.]+)%", text)
    assert float(shown.group(1)) / 100 == pytest.approx(share, abs=0.001)


def test_waterfall_ends_at_the_prediction_from_either_start(opened):
    page, data = opened()
    for reference in ["zero", "baseline"]:
        page.select_option("#reference", reference)
        ends = page.evaluate(
            """() => { const [bars, , ends] = document.getElementById("chart-row").data;
               const steps = [...bars.x].reduce((a, b) => a + b, 0);
               return [ends.x[0] + steps, ends.x[1]]; }"""
        )
        assert ends[0] == pytest.approx(ends[1]) == pytest.approx(data["rows"]["prediction"][0][0])


def test_the_layers_are_told_in_words_and_add_up_in_the_table(opened):
    page, data = opened("table")
    page.select_option("#row", "7")
    rows, text = data["rows"], page.locator("#layers-text").inner_text()
    assert text.startswith("Rows in general: ")
    assert all(trait in text for trait in rows["traits"][7][0])
    cells = page.locator("#parts-table tbody tr td:last-child").all_inner_texts()
    *steps, total = [float(cell.replace("−", "-").replace(",", "")) for cell in cells]
    assert sum(steps) == pytest.approx(total, rel=2e-3)
    assert total == pytest.approx(rows["prediction"][7][0], rel=1e-3)
    page.select_option("#reference", "zero")
    assert not page.locator("#layers-text").is_visible()
    assert page.locator("#parts-table tbody tr th").first.inner_text() == "(intercept)"


def test_a_log_scale_says_units_and_what_multiplies_them(opened):
    page, data = opened("logs")
    rows, (unit,) = data["rows"], data["units"]
    score = rows["prediction"][0][0]
    said = page.locator("#row-prediction").inner_text()
    assert "which is a mean price of " in said
    amount = float(said.rsplit(" ", 1)[1].replace(",", ""))
    assert amount == pytest.approx(unit["smear"] * np.exp(score) - unit["shift"], rel=1e-3)
    page.locator("#parts-table").scroll_into_view_if_needed()
    lines = [line.split("\t") for line in page.locator("#parts-table").inner_text().splitlines()]
    assert lines[0][-3:] == ["per unit", "adds", "times"]
    level = next(line for line in lines if line[0] == "Those like this row")
    assert float(level[-1].split()[-1]) == pytest.approx(np.exp(rows["level"][0][0]), abs=0.006)


def test_the_first_screen_has_the_three_answers(opened):
    page, data = opened("table")
    cards = page.locator("#summary .card")
    assert cards.count() == 3
    leading = max(range(3), key=lambda j: data["drivers"]["importance"][0][j])
    first = cards.nth(1).locator("li:visible").first.inner_text()
    assert first.startswith(data["features"][leading])
    bottom = max(cards.nth(i).bounding_box()["y"] for i in range(3))
    assert bottom + page.evaluate("window.scrollY") < 900


def test_curves_are_the_predictions_as_the_chosen_feature_moves(opened):
    page, data = opened("units")
    for effect in data["effects"][:2]:
        page.select_option("#feature", str(effect["column"]))
        drawn = page.evaluate(
            """() => { const all = document.getElementById("chart-curve").data;
               return [all.length, [...all.at(-1).x], [...all.at(-1).y]]; }"""
        )
        assert drawn == [len(effect["curves"]) + 1, effect["grid"], effect["summary"][0]]
        assert page.locator("#curve-caption").inner_text() == effect["sentences"][0]
    shown = {effect["column"] for effect in data["effects"]}
    left = next(j for j in range(len(NAMES)) if j not in shown)
    page.select_option("#feature", str(left))
    assert not page.locator("#chart-curve").is_visible()
    assert "features that matter most" in page.locator("#curve-caption").inner_text()


def test_the_reliability_curve_follows_the_class(opened):
    page, data = opened("classes")
    for target in (0, 1):
        page.select_option("#target", str(target))
        drawn = page.evaluate(
            """() => { const curve = document.getElementById("chart-reliability").data[1];
               return [[...curve.x], [...curve.y]]; }"""
        )
        curve = data["scores"]["probabilities"]["curves"][target]
        assert drawn == [curve["predicted"], curve["observed"]]
    assert "log loss" in page.locator("#probability-table").inner_text()


def test_a_row_has_its_interval_and_one_unlike_anything_seen_is_called_so(opened):
    page, data = opened()
    low, high = data["sure"]["interval"][0][0]
    shown = page.locator("#row-interval").inner_text().replace("−", "-").split(" to ")
    assert [float(end) for end in shown] == pytest.approx([low, high], rel=1e-3)
    assert not page.locator("#unlike").is_visible()
    page.select_option("#row", "38")
    assert page.locator("#unlike").is_visible()
    page.select_option("#target", "1")
    drawn = page.evaluate("""() => { const bar = document.getElementById("chart-row").data[2];
        return [bar.x[1] - bar.error_x.arrayminus[1], bar.x[1] + bar.error_x.array[1]]; }""")
    assert drawn == pytest.approx(data["sure"]["interval"][38][1])


def test_slopes_have_errors_and_those_that_may_be_zero_look_so(opened):
    page, data = opened("table")
    sure, unsure, grey = data["sure"], set(), set()
    for row in range(5):
        page.select_option("#row", str(row))
        for line in page.locator("#parts-table tbody tr").all():
            if line.locator("td.unsure").count():
                grey.add((row, line.locator("th").inner_text()))
        for j, error in enumerate(sure["slopes_std"][row][0]):
            slopes = data["rows"]["slopes"] or data["rows"]["coef"]
            if error is not None and abs(slopes[row][0][j]) <= sure["deviations"] * error:
                unsure.add((row, data["features"][j]))
    assert grey == unsure
    assert 0 < len(grey) < 10
    assert "where that contains zero, the slope is grey" in page.locator("#parts-text").inner_text()


def test_pulls_and_the_mean_are_the_prediction(opened):
    page, data = opened("table")
    cells = page.locator("#neighbor-table tbody tr td:nth-child(3)").all_inner_texts()
    *pulls, total = [float(cell.replace("−", "-").replace(",", "")) for cell in cells]
    assert len(pulls) == len(data["rows"]["neighbors"][0]) + len(data["sure"]["pullers"][0]) + 1
    assert sum(pulls) == pytest.approx(total, abs=0.01 * max(map(abs, pulls)))
    expected = data["rows"]["prediction"][0][0] - data["rows"]["baseline"][0]
    assert total == pytest.approx(expected, rel=1e-3)


def test_coverage_is_drawn_by_fifths_of_the_prediction(opened):
    page, data = opened("table")
    for target in (0, 1):
        page.select_option("#target", str(target))
        drawn = page.evaluate("[...document.getElementById('chart-coverage').data[1].y]")
        found = data["coverage"][target]
        at = found["expected"].index(0.9)
        assert drawn == [part["covered"][at] for part in found["parts"]]
        shown = page.locator(".coverage-table:visible").inner_text()
        assert f"{100 * found['covered'][at]:.1f}%" in shown


def test_the_target_changes_every_section(opened):
    page, data = opened()
    before = panels(page)
    equation = page.locator(".equation:visible").first.inner_text()
    page.select_option("#target", "1")
    assert page.locator(".equation:visible").first.inner_text() != equation
    assert "ציר" in page.locator("#drivers-title").inner_text()
    assert panels(page)["#chart-row"] != before["#chart-row"]
    assert shown_prediction(page) == pytest.approx(data["rows"]["prediction"][0][1])


def test_what_does_not_fit_is_one_control_away(opened):
    page, data = opened()
    n = len(data["features"])
    assert page.locator("#sliders input").count() == 10
    page.click("#all-sliders")
    assert page.locator("#sliders input").count() == n
    page.click("#all-parts")
    assert page.locator("#parts-table tbody tr").count() == n + 3
    visible = page.locator("#regime-table tbody tr:visible").count()
    page.click("#all-regimes")
    assert page.locator("#regime-table tbody tr:visible").count() == len(data["regimes"]) > visible
    assert page.locator("#all-regimes").get_attribute("aria-expanded") == "true"


def test_the_keyboard_reaches_every_control_and_shows_where_it_is(opened):
    page, _ = opened()
    wanted = page.evaluate(
        """() => [...document.querySelectorAll("a, button, select, input, summary, .scroll")]
           .filter((e) => e.offsetParent !== null || e.className === "skip")
           .filter((e) => e.checkVisibility()).length"""
    )
    reached, unmarked = set(), []
    # Out of the page's end and in again at its start: tabs go on from where a click was.
    page.locator("a.skip").focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    for _ in range(wanted + 60):
        here = page.evaluate(
            """() => { const e = document.activeElement; if (e === document.body) return null;
               const all = [...document.querySelectorAll("*")];
               return [all.indexOf(e), getComputedStyle(e).outlineStyle]; }"""
        )
        if here is None:
            break
        reached.add(here[0])
        if here[1] == "none":
            unmarked.append(here)
        page.keyboard.press("Tab")
    assert len(reached) >= wanted
    assert not unmarked


def test_controls_have_names_and_the_prediction_is_announced(opened):
    page, _ = opened()
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("select, input")]
           .filter((e) => !e.labels.length || !e.labels[0].textContent.trim()).map((e) => e.id)"""
    )
    assert nameless == []
    live = page.locator("[aria-live=polite]")
    assert live.count() == 1
    assert live.locator("#whatif-prediction").count() == 1
    levels = page.evaluate(
        """() => [...document.querySelectorAll("h1, h2, h3")].map((e) => Number(e.tagName[1]))"""
    )
    assert levels[0] == 1
    assert max(np.diff(levels)) <= 1


def luminance(color):
    values = [int(v) / 255 for v in re.findall(r"\d+", color)[:3]]
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in values]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_light_and_dark(opened, scheme):
    page, _ = opened(scheme=scheme)
    paper = luminance(page.locator("body").evaluate("e => getComputedStyle(e).backgroundColor"))
    assert (paper < 0.2) == (scheme == "dark")
    for place in ["h1", "p.lead", ".hint", ".ours td", "nav a", "#whatif-prediction"]:
        ink = luminance(page.locator(place).first.evaluate("e => getComputedStyle(e).color"))
        low, high = sorted([ink, paper])
        assert (high + 0.05) / (low + 0.05) >= 4.5, place
    ticks = page.locator("#chart-row .ytick text").first
    ink = luminance(ticks.evaluate("e => getComputedStyle(e).fill"))
    low, high = sorted([ink, paper])
    assert (high + 0.05) / (low + 0.05) >= 4.5


def test_charts_follow_when_the_scheme_changes(opened):
    page, _ = opened(scheme="light")
    ticks = page.locator("#chart-row .ytick text").first
    before = ticks.evaluate("e => getComputedStyle(e).fill")
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(
        """(before) => getComputedStyle(document.querySelector("#chart-row .ytick text")).fill
           !== before""",
        arg=before,
    )


@pytest.mark.parametrize("width", [320, 390, 1200])
@pytest.mark.parametrize("name", ["units", "classes"])
def test_nothing_sticks_out_of_a_window(opened, name, width):
    page, _ = opened(name, width=width)
    page.wait_for_function(
        """() => [...document.querySelectorAll(".chart .main-svg")]
           .every((e) => e.getBoundingClientRect().right <= window.innerWidth)"""
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_change_of_colours_keeps_what_if(opened):
    page, _ = opened()
    page.locator("#sliders input").first.focus()
    page.keyboard.press("ArrowRight")
    moved = shown_prediction(page)
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 390, "height": 900})
    assert shown_prediction(page) == moved
    assert page.evaluate("document.activeElement.type") == "range"


def test_it_prints_dark_on_white_without_its_controls(opened):
    page, _ = opened(scheme="dark")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    ticks = page.locator("#chart-row .ytick text").first
    assert luminance(ticks.evaluate("e => getComputedStyle(e).fill")) < 0.2
    paper = page.locator("body").evaluate("e => getComputedStyle(e).backgroundColor")
    assert luminance(paper) > 0.9
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert luminance(ticks.evaluate("e => getComputedStyle(e).fill")) > 0.2
    page.emulate_media(media="print")
    assert page.locator("#good-title").is_visible()
    assert not page.locator("#next").is_visible()
    assert not page.locator("#sliders").is_visible()
    assert page.pdf()[:4] == b"%PDF"


def test_a_feature_with_one_value_has_a_sentence_and_no_empty_picture(opened):
    page, data = opened("clocks")
    page.select_option("#feature", str(data["features"].index("snow")))
    assert page.locator("#chart-curve").is_hidden()
    said = page.locator("#curve-caption").inner_text()
    assert "40 rows, which all have the same snow: there is no other value" in said
    page.select_option("#feature", str(data["features"].index("width")))
    assert page.locator("#chart-curve").is_visible()


def test_accumulated_effects_are_drawn_as_changes(opened):
    page, data = opened("clocks")
    effects = [effect for effect in data["effects"] if len(effect["grid"]) > 1]
    assert {effect["kind"] for effect in effects} == {"mean", "accumulated"}
    for effect in effects:
        page.select_option("#feature", str(effect["column"]))
        title = page.locator("#chart-curve .ytitle").text_content().strip("\u2068\u2069")
        start = "predicted" if effect["kind"] == "mean" else "change in predicted"
        assert title.startswith(start)
        is_change = "This is a change and no prediction" in effect["sentences"][0]
        assert is_change == (effect["kind"] == "accumulated")
