"""What README does on a fresh install needs nothing that only developers have."""

import tomllib
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]


def names(requirements):
    return {requirement.split(";")[0].split(">")[0].split("[")[0].strip() for requirement in requirements}


def test_saving_draws_needs_no_more_than_the_dependencies():
    assert {"h5netcdf", "h5py"} <= names(PROJECT["dependencies"])


def test_the_plots_that_readme_names_come_with_the_extra():
    assert {"arviz-plots", "matplotlib"} <= names(PROJECT["optional-dependencies"]["plot"])
