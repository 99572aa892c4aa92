"""What the tests of commands share: tables in files."""

import pytest

from houses import houses


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """A folder with a table to fit, and one to predict."""
    folder = tmp_path_factory.mktemp("houses")
    houses().to_csv(folder / "houses.csv", index=False)
    houses(seed=1).drop(columns=["price", "kind"]).to_csv(folder / "new.csv", index=False)
    return folder
