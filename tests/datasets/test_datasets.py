import doctest
import hashlib
import os
from pathlib import Path

import numpy as np
import pytest

from locallinear import datasets
from locallinear.datasets import _cache, _fetch
from locallinear.datasets._convert import tidy_csv
from locallinear.datasets._sources import SOURCES
from tiny_data import ORIGINAL, TIDY, TINY, zipped


def shared_folder():
    folder = os.environ.get("LOCALLINEAR_DATA")
    if not folder or not (Path(folder) / "concrete.csv").exists():
        pytest.skip("LOCALLINEAR_DATA names no folder with the data sets")
    return Path(folder)


def shared_original(source):
    path = shared_folder() / "raw" / source.original
    if not path.exists():
        pytest.skip(f"the folder of LOCALLINEAR_DATA has no raw/{source.original}")
    return path.read_bytes()


# --- the real files -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name, source in SOURCES.items() if source.sha256])
def test_real_original_converts_to_the_tidy_file_byte_for_byte(name):
    source = SOURCES[name]
    original = shared_original(source)
    assert hashlib.sha256(original).hexdigest() == source.sha256
    assert tidy_csv(source, original) == (shared_folder() / f"{name}.csv").read_bytes()


@pytest.mark.parametrize("name", SOURCES)
def test_fetch_gives_the_shapes_of_the_source_table(name):
    source = SOURCES[name]
    bunch = getattr(datasets, f"fetch_{name}")(data_home=shared_folder())
    assert bunch.data.shape == (source.n_samples, len(source.inputs))
    assert bunch.target.shape == (source.n_samples,)
    assert bunch.feature_names == list(source.inputs)
    assert source.citation in bunch.DESCR
    assert source.licence in bunch.DESCR
    assert bunch.frame is None


def test_frame_holds_the_same_numbers_as_the_arrays():
    folder = shared_folder()
    X, y = datasets.fetch_qsar_fish_toxicity(data_home=folder, return_X_y=True)
    bunch = datasets.fetch_qsar_fish_toxicity(data_home=folder, as_frame=True)
    np.testing.assert_array_equal(bunch.data.to_numpy(), X)
    np.testing.assert_array_equal(bunch.target.to_numpy(), y)
    assert list(bunch.frame.columns) == [*bunch.feature_names, "LC50"]


def test_parkinsons_keeps_the_subject_and_the_other_score_out_of_the_inputs():
    motor = datasets.fetch_parkinsons(data_home=shared_folder())
    total = datasets.fetch_parkinsons(data_home=shared_folder(), target="total_UPDRS")
    assert motor.data.shape[1] == 19
    assert not {"subject#", "motor_UPDRS", "total_UPDRS"} & set(motor.feature_names)
    assert len(np.unique(motor.groups)) == 42
    assert motor.target[0] == 28.199
    assert total.target[0] == 34.398


def test_examples_of_the_fetch_functions_hold_on_the_real_data(monkeypatch):
    monkeypatch.setenv("LOCALLINEAR_DATA", str(shared_folder()))
    parser = doctest.DocTestParser()
    runner = doctest.DocTestRunner()
    for name in SOURCES:
        function = getattr(_fetch, f"fetch_{name}")
        text = function.__doc__.replace("# doctest: +SKIP", "")
        runner.run(parser.get_doctest(text, {}, name, None, None))
    assert runner.failures == 0
    assert runner.tries > len(SOURCES)


# --- the synthetic sets -------------------------------------------------------------------------


def test_step_takes_two_values_and_noise_is_added_to_them():
    step = datasets.load_step(500, noise=0.1, random_state=0)
    assert set(step.truth) == {0.0, 1.0}
    np.testing.assert_array_equal(step.truth, np.abs(step.data[:, 0]) < 0.5)
    assert np.std(step.target - step.truth) == pytest.approx(0.1, rel=0.1)


@pytest.mark.parametrize("load", [datasets.load_step, datasets.load_moons])
def test_synthetic_sets_depend_on_the_random_state_alone(load):
    first, again = load(60, random_state=3), load(60, random_state=3)
    X, y = load(60, random_state=3, return_X_y=True)
    np.testing.assert_array_equal(first.data, again.data)
    np.testing.assert_array_equal(first.data, X)
    np.testing.assert_array_equal(first.target, y)
    assert not np.array_equal(load(60, random_state=4).data, X)


# --- folders ------------------------------------------------------------------------------------


def test_folder_is_the_argument_then_the_variable_then_the_home(monkeypatch, tmp_path):
    monkeypatch.setenv("LOCALLINEAR_DATA", str(tmp_path / "variable"))
    assert _cache.data_folder(tmp_path / "argument") == tmp_path / "argument"
    assert _cache.data_folder() == tmp_path / "variable"
    monkeypatch.delenv("LOCALLINEAR_DATA")
    assert _cache.data_folder() == Path.home() / ".locallinear"
    assert _cache.data_folder("~/x") == Path.home() / "x"


def test_tidy_file_in_the_folder_is_used_as_it_is(tmp_path):
    (tmp_path / "tiny.csv").write_bytes(b"a,b,y\n1,2,3\n")
    bunch = _cache.fetch(TINY, "y", tmp_path, False, False, False)
    np.testing.assert_array_equal(bunch.data, [[1, 2]])
    np.testing.assert_array_equal(bunch.target, [3])


def test_archive_put_into_the_folder_by_hand_is_converted(tmp_path):
    (tmp_path / "tiny+data.zip").write_bytes(zipped({"tiny.data": ORIGINAL}))
    bunch = _cache.fetch(TINY, "y", tmp_path, False, False, False)
    assert (tmp_path / "tiny.csv").read_bytes() == TIDY
    np.testing.assert_array_equal(bunch.target, [1.5, 4, 7])


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"a,y,b\n1,2,3\n", "should start with the columns a, b, y"),
        (b"", "should start with the columns"),
        (b"a,b,y\n1,2,x\n", "should hold numbers alone"),
        (b"a,b,y\n1,2\n1,2,3\n", "should hold numbers alone"),
    ],
)
def test_tidy_file_with_other_content_is_refused(tmp_path, content, complaint):
    (tmp_path / "tiny.csv").write_bytes(content)
    with pytest.raises(ValueError, match=complaint):
        _cache.fetch(TINY, "y", tmp_path, False, False, False)


def test_without_data_and_without_download_the_error_names_address_and_folder(tmp_path):
    with pytest.raises(OSError, match="download_if_missing is False") as caught:
        datasets.fetch_concrete(data_home=tmp_path, download_if_missing=False)
    assert SOURCES["concrete"].address in str(caught.value)
    assert str(tmp_path) in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_unknown_target_is_refused(tmp_path):
    with pytest.raises(ValueError, match="motor_UPDRS"):
        datasets.fetch_parkinsons(data_home=tmp_path, target="tremor")


@pytest.mark.parametrize(
    ("original", "complaint"),
    [
        (b"y,a,c\n1,2,3\n", "no column 'b'"),
        (b"", "no column 'a'"),
        (b"a,b,y\n1,2,3\n", "should have 3 rows of 3 columns; it has 1 rows"),
        (b"a,b,y\n1,2,3\n1,nan,3\n1,2,3\n", "no finite numbers in row 2"),
        (b"a,b,y\n1,2,3\n1,2,3\n1,?,3\n", "no finite numbers in row 3"),
    ],
)
def test_original_with_other_content_is_refused(original, complaint):
    with pytest.raises(ValueError, match=complaint):
        tidy_csv(TINY, original)
