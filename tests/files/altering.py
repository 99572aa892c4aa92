"""Alters model files at random, with a right checksum, and tries to use what loads.

Run as a program: python altering.py FOLDER FIRST LAST. It prints one line per file: refused,
usable, or broken with what was altered. A crash ends it, which its caller notices.
"""

import copy
import io
import json
import random
import sys
import warnings
from pathlib import Path

import numpy as np

from locallinear import load
from locallinear.io import ModelFileError

VALUES = [None, True, -1, 0, 3, 10**9, 1e300, "x", [], {}, float("nan")]


def altered_array(array, chance):
    """Another array in the place of this one, and what was done."""
    if array.dtype.kind not in "biuf":
        return array[:-1], "shorter"
    how = chance.choice(["type", "shape", "value", "value", "values", "shorter", "longer", "empty"])
    if how == "type":
        return array.astype(chance.choice(["f4", "i8", "i4", "u1", "?", "f8", "U5"])), how
    if how == "shape":
        return array.reshape(chance.choice([(-1,), (1, -1), (-1, 1), (*array.shape, 1)])), how
    if how == "empty":
        wide = chance.choice([(0,), (0, 3 * 10**8), (3 * 10**8, 5, 0)])
        return np.empty(wide, array.dtype), how
    if how in ("shorter", "longer") and array.ndim and len(array):
        return array[:-1] if how == "shorter" else np.concatenate([array, array[-1:]]), how
    out = array.copy()
    value = chance.choice([np.nan, np.inf, -1, 0, 10**6, 1e300, -1e300, 2])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            if how == "values":
                out[...] = value
            elif out.size:
                out.flat[chance.randrange(out.size)] = value
        except (ValueError, OverflowError, TypeError):
            return out[..., None], "shape"
    return out, f"{how} {value}"


def altered_page(page, chance):
    """Another page, and what was done: one of its values is replaced, removed or added."""
    page = copy.deepcopy(page)
    place, way = page, []
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return page, f"nothing in {way}"
        key = chance.choice(keys)
        way.append(key)
        if isinstance(place[key], dict | list) and chance.random() < 0.9:
            place = place[key]
            continue
        if chance.random() < 0.2 and isinstance(place, dict):
            del place[key]
        else:
            place[key] = chance.choice(VALUES)
        return page, f"page {way}"


def altered(contents, chance):
    """The members of an archive with one of them altered, and what was done."""
    contents = dict(contents)
    page = json.loads(contents["model.json"])
    if chance.random() < 0.4:
        page, what = altered_page(page, chance)
        contents["model.json"] = json.dumps(page).encode()
        return contents, what
    name = chance.choice([name for name in contents if name.endswith(".npy")])
    array, how = altered_array(np.load(io.BytesIO(contents[name])), chance)
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array)
    return contents | {name: stream.getvalue()}, f"{name}: {how}"


def rows_for(model):
    """Four rows that a model takes."""
    X = np.random.default_rng(0).uniform(size=(4, model.n_features_in_))
    if not hasattr(model, "encoding_"):
        return X
    from frames import as_frame

    return as_frame(X)


def use(model, X):
    """Everything that must work where a file was loaded."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        prediction = model.predict(X)
        why = model.explain(X)
        assert np.isfinite(why.prediction).all()
        assert len(prediction) == len(X)
        assert len(getattr(model, "estimator_", model).labels_) == model.n_samples_fit_
        if hasattr(model, "is_log_"):
            prediction = np.maximum(prediction, 1.0)  # a log model takes no 0
        model.partial_fit(X, prediction).forget([0])
        model.predict(X)
        model.save(io.BytesIO())


def use_companion(model):
    """Print the regimes that a file of a table holds."""
    from locallinear.cli.summary import regime_lines, simplicity_lines

    companion = model.companion()
    assert simplicity_lines(model, companion)
    assert regime_lines(model, companion)


def main(folder, first, last):
    """Alter the files of a folder, and say what became of each."""
    from archives import forge, members

    files = sorted(folder.glob("*.model"))
    for number in range(first, last):
        chance = random.Random(number)
        file = files[number % len(files)]
        contents, what = altered(members(file), chance)
        forged = folder / "forged"
        forge(forged, contents)
        try:
            model = load(forged)
        except ModelFileError:
            print("refused", flush=True)
            continue
        try:
            if file.name.startswith("companion"):
                use_companion(model)
            use(model, rows_for(model))
        except ValueError as error:
            # A parameter that a user could have set: it is refused in words.
            word = "usable" if "n_neighbors" in str(error) else "broken"
            print(word, file.name, number, what, repr(error)[:150], flush=True)
        except Exception as error:
            print("broken", file.name, number, what, repr(error)[:150], flush=True)
        else:
            print("usable", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
