import pytest

from locallinear.paper import published
from locallinear.paper.models import MODELS
from locallinear.paper.protocol import DATASETS
from locallinear.paper.render import RENDERERS, to_latex, to_markdown, to_terminal
from locallinear.paper.summary import collect, summarize
from locallinear.paper.tables import (
    HIGHER,
    LOWER,
    honest_table,
    letter_name,
    table1,
    table2,
)


def rows(errors, dataset="fish", model="knn", tuner="exhaustive", budget=0.0, split="random"):
    return [
        {
            "split": split,
            "dataset": dataset,
            "model": model,
            "tuner": tuner,
            "budget": budget,
            "seed": seed,
            "mse": error,
            "fit_s": 0.2 if model == "fall" else 0.1,
            "test_s": 0.3,
            "code": "abc123",
        }
        for seed, error in enumerate(errors)
    ]


def cell(table, dataset, model, line="ours"):
    starts = [first for first, _, _ in table.rows]
    here = starts.index(DATASETS[dataset].title)
    for first, second, cells in table.rows[here:]:
        if second == line:
            return cells[table.columns.index(MODELS[model].title)]
        assert first in ("", DATASETS[dataset].title)
    raise AssertionError(f"no line {line}")


def spread_around(mean, n=50):
    return [mean + 0.01 * (-1) ** seed for seed in range(n)]


# --- numbers ------------------------------------------------------------------------------------


def test_spread_is_of_the_runs_and_uncertainty_of_their_mean():
    summary = summarize([1.0, 2.0, 3.0, 4.0])
    assert summary.mean == 2.5
    assert summary.spread == pytest.approx(1.96 * 1.25**0.5)
    assert summary.uncertainty == pytest.approx(3.182 * (5 / 3) ** 0.5 / 2, rel=1e-3)  # t of 3


def test_single_run_has_no_known_uncertainty_and_is_never_marked():
    table = table1(rows([100.0]), ["fish"], ["knn"])
    assert cell(table, "fish", "knn").marks == ("a",)
    assert "a: 1 run; all configurations searched." in table.notes


def test_wanted_tuner_is_shown_and_the_more_thorough_one_without_it():
    both = rows([1.0], tuner="optuna", budget=60.0) + rows([2.0], tuner="fixed")
    assert collect(both, "exhaustive", "random")["fish", "knn"].error.mean == 1.0
    assert collect(both, "fixed", "random")["fish", "knn"].error.mean == 2.0
    longer = both + rows([3.0], tuner="optuna", budget=600.0)
    assert collect(longer, "optuna", "random")["fish", "knn"].error.mean == 3.0
    assert collect(longer, "optuna", "random", 60.0)["fish", "knn"].error.mean == 1.0


def test_commits_are_those_of_the_rows_shown():
    results = rows([1.0]) + [row | {"code": "other"} for row in rows([1.0], model="ridge")]
    assert "Made at commit abc123." in table1(results, ["fish"], ["knn"]).notes
    assert "Made at commit abc123, other." in table1(results, ["fish"], ["knn", "ridge"]).notes


def test_published_tables_name_known_data_sets_and_models_alone():
    for table in (published.ERRORS, published.TRAIN_S, published.TEST_S):
        assert set(table) == {
            (dataset, model)
            for dataset in DATASETS
            for model in MODELS
            if (dataset, model) != ("superconductivity", "network_lasso")
        }


# --- cells --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mean", "marks"), [(0.91, ()), (0.80, (LOWER,)), (1.00, (HIGHER,))])
def test_mark_says_that_ours_differs_beyond_its_uncertainty(mean, marks):
    table = table1(rows(spread_around(mean)), ["fish"], ["knn"])
    assert cell(table, "fish", "knn").marks == marks


def test_difference_within_the_rounding_of_the_paper_is_not_marked():
    table = table1(rows([0.9149] * 50), ["fish"], ["knn"])
    assert cell(table, "fish", "knn").marks == ()


def test_best_is_bold_and_what_prints_alike_shares_it():
    results = rows(spread_around(0.991), model="ridge") + rows(spread_around(0.993), model="lasso")
    table = table1(results + rows(spread_around(1.2)), ["fish"], ["knn", "ridge", "lasso"])
    bold = [cell(table, "fish", name).bold for name in ("knn", "ridge", "lasso")]
    assert bold == [False, True, True]
    assert cell(table, "fish", "knn", "paper").bold


def test_missing_results_and_missing_publications_are_shown_as_such():
    table = table1([], ["superconductivity"], ["network_lasso"])
    assert cell(table, "superconductivity", "network_lasso").text == "–"
    assert cell(table, "superconductivity", "network_lasso", "paper").text == "N/A"
    assert "No run is finished yet." in table.notes


def test_letter_says_how_many_runs_and_how_tuned():
    results = rows([1.0] * 50, model="kernel_ridge", tuner="optuna", budget=60.0)
    results += rows([1.0] * 5, model="network_lasso", tuner="fixed") + rows([1.0] * 50)
    table = table1(results, ["fish"], ["network_lasso", "knn", "kernel_ridge"])
    assert cell(table, "fish", "knn").marks == (HIGHER,)
    assert table.notes[-2:] == [
        "a: 5 runs; fixed parameters, not tuned.",
        "b: 50 runs; tuned by Optuna, 60 s a run.",
    ]


def test_letters_go_on_after_z():
    assert [letter_name(number) for number in (0, 25, 26, 27, 52)] == ["a", "z", "aa", "ab", "ba"]


def test_times_are_also_given_as_ratios_to_knn():
    table = table2(rows([1.0] * 50) + rows([1.0] * 50, model="fall"), ["fish"], ["fall", "knn"])
    assert cell(table, "fish", "fall", "train s, ours").text == "0.20 ± 0.00"
    assert cell(table, "fish", "fall", "train ÷ KNN, ours").text == "2.00"
    assert "train ÷ KNN, paper" not in [line for _, line, _ in table.rows]  # printed as 0.00
    assert cell(table, "fish", "fall", "train s, paper").text == "0.05 ± 0.05"  # as printed
    assert cell(table, "fish", "fall", "test ÷ KNN, ours").text == "1.00"
    large = table2([], ["superconductivity"], ["fall"])
    assert cell(large, "superconductivity", "fall", "test ÷ KNN, paper").text == "27"


def test_honest_table_has_grouped_errors_above_random_ones():
    results = rows([90.0] * 50, "parkinsons", split="grouped") + rows([20.0] * 50, "parkinsons")
    table = honest_table(results, ["parkinsons"], ["knn"])
    assert cell(table, "parkinsons", "knn", "grouped").text == "90.00 ± 0.00"
    assert cell(table, "parkinsons", "knn", "random").text == "20.00 ± 0.00"


# --- drawings -----------------------------------------------------------------------------------


@pytest.mark.parametrize("render", RENDERERS.values())
def test_every_drawing_has_every_number(render):
    table = table1(rows(spread_around(0.8, 7)), ["fish", "parkinsons"], ["knn", "network_lasso"])
    text = render(table)
    for number in ("0.80", "0.02", "0.91", "0.48", "24.63", "6.89", "7 runs"):
        assert number in text


def test_terminal_columns_are_aligned_with_and_without_bold():
    table = table1(rows(spread_around(0.8)), ["fish"], ["knn", "ridge"])
    lines = to_terminal(table).replace("\x1b[1m", "").replace("\x1b[0m", "").splitlines()
    head = next(line for line in lines if "Ridge" in line)
    paper = next(line for line in lines if "paper  " in line)
    assert paper.index("0.99") == head.index("Ridge")


def test_markdown_is_a_table_of_equal_rows():
    text = to_markdown(table1(rows([0.8] * 3), ["fish", "concrete"], ["knn", "ridge"]))
    body = [line for line in text.splitlines() if line.startswith("|")]
    assert {line.count("|") for line in body} == {5}
    assert "**0.80 ± 0.00**" in text


def test_latex_has_no_bare_symbol():
    table = table2(rows([1.0] * 3), list(DATASETS), list(MODELS))
    text = to_latex(table) + to_latex(table1(rows([1.0] * 3), ["fish"], ["knn"]))
    assert text.isascii()
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == 2
