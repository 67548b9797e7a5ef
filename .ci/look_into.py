"""What must be in a wheel and in an sdist, and what must not."""

import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

folder = Path(sys.argv[1])
(wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")

with zipfile.ZipFile(wheel) as held:
    names = held.namelist()
    metadata = Parser().parsestr(held.read(next(name for name in names if name.endswith("/METADATA"))).decode())
assert {"tunamh/__init__.py", "tunamh/py.typed"} <= set(names), "the wheel lacks the package or py.typed"
strangers = [name for name in names if not name.startswith(("tunamh/", "tunamh-"))]
assert not strangers, f"the wheel has more than the package: {strangers[:5]}"
assert any("licenses/LICENSE" in name for name in names), "the wheel has no licence"
for field in ("Summary", "License-Expression", "Requires-Python", "Description-Content-Type"):
    assert metadata[field], f"the metadata lack {field}"

with tarfile.open(sdist) as held:
    inside = {name.split("/", 1)[1] for name in held.getnames() if "/" in name}
for needed in ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "src/tunamh/__init__.py", "tests/conftest.py"):
    assert needed in inside, f"the sdist lacks {needed}"
unwanted = [name for name in inside if "_build/" in name or ".venv" in name or "__pycache__" in name]
assert not unwanted, f"the sdist has {unwanted[:5]}"
for file in (wheel, sdist):
    print(f"{file.name}: {file.stat().st_size / 1e6:.1f} MB")
