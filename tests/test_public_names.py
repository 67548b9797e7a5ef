"""Names of the package: declared once, imported when asked for, and the same whatever was imported before."""

import subprocess
import sys

import tunamh


def said_by(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_the_package_alone_imports_no_library():
    code = "import sys, tunamh; print(*sorted({'numpy', 'numba', 'scipy', 'xarray', 'sklearn'} & {*sys.modules}))"
    assert said_by(code) == []


def test_functions_keep_their_names_beside_packages_of_these_names():
    code = "import tunamh, tunamh.laplace.gaussian, tunamh.report.page; print(callable(tunamh.laplace), tunamh.report)"
    assert said_by(code)[:2] == ["True", "<function"]


def test_every_name_is_there():
    assert [name for name in tunamh.__all__ if not hasattr(tunamh, name)] == []
    assert {*tunamh.__all__} <= {*dir(tunamh)}
    assert len(tunamh.__all__) == len({*tunamh.__all__})
    assert {"sample", "regression", "priors", "__version__"} <= {*tunamh.__all__}


def test_modules_are_members_without_an_import_of_their_own():
    assert said_by("import tunamh; print(tunamh.errors.TunaMHError.__name__, tunamh.extend.__name__)") == [
        "TunaMHError",
        "tunamh.extend",
    ]


def test_all_names_at_once_need_no_extra():
    code = "import sys; sys.modules['sklearn'] = None\nfrom tunamh import *\nprint(sample.__name__)"
    assert said_by(code) == ["sample"]
