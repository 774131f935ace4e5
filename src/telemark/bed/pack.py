"""Makes the archive that Spark brings to the hosts of a bed: telemark with all it needs, but Python, Java and Spark.

The archive holds `lib/`, the installed packages, and `bin/python`, which starts the host's Python of the same version
with them. See docs/decisions/112-an-archive-for-the-hosts.md.
"""

from __future__ import annotations

import io
import os
import re
import sys
import tarfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import telemark
from telemark.errors import RequirementError

NAME = "telemark"
PROVIDED = ("pyspark", "py4j")  # by Spark itself on every host
_LIBRARY = "lib"
_LAUNCHER = """#!/bin/sh
# The host's Python with the packages of this archive.
here=$(cd "$(dirname "$0")/.." && pwd)
if ! command -v {python} >/dev/null; then
    echo "$(hostname): {python} is not installed; the archive of \\`telemark bed pack\\` needs it" >&2
    exit 127
fi
export PYTHONPATH="$here/lib${{PYTHONPATH:+:$PYTHONPATH}}"
exec {python} "$@"
"""


def pack(target: Path) -> list[str]:
    """Write the archive. Returns the packages in it.

    Raises:
        RequirementError: the file cannot be written.
    """
    distributions = sorted(needed(NAME), key=lambda each: each.name)
    unfinished = target.with_name(f".{target.name}.part")
    try:
        with tarfile.open(unfinished, "w:gz", compresslevel=1) as archive:
            _add_launcher(archive)
            for name, file in sorted(_files(distributions).items()):
                archive.add(file, f"{_LIBRARY}/{name}", recursive=False)
        unfinished.rename(target)
    except OSError as error:
        raise RequirementError(f"{target}: {error.strerror}", hint="name another file with --output") from error
    finally:
        unfinished.unlink(missing_ok=True)
    return [f"{each.name} {each.version}" for each in distributions]


def needed(name: str) -> list[metadata.Distribution]:
    """A distribution and all that it requires here, without what Spark provides."""
    found: dict[str, metadata.Distribution] = {}
    names = [name]
    while names:
        wanted = _canonical(names.pop())
        if wanted in found or wanted in PROVIDED:
            continue
        try:
            found[wanted] = metadata.distribution(wanted)
        except metadata.PackageNotFoundError:
            continue  # required elsewhere only: another system, another Python
        names += [_requirement(text) for text in found[wanted].requires or () if "extra ==" not in text]
    return list(found.values())


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _requirement(text: str) -> str:
    """The name in `name[extra]>=1; marker`."""
    return re.split(r"[^\w.-]", text, maxsplit=1)[0]


def _files(distributions: list[metadata.Distribution]) -> dict[str, Path]:
    """Every file, by its name under `lib`. Programs and other things outside of the packages' folder stay here."""
    found = {
        str(file): Path(str(file.locate()))
        for each in distributions
        for file in each.files or ()
        if ".." not in file.parts and "__pycache__" not in file.parts and file.suffix != ".pth"
    }
    found |= dict(_own_package())
    return {name: path for name, path in found.items() if path.is_file()}


def _own_package() -> Iterator[tuple[str, Path]]:
    """Telemark's own files as this program runs them: an editable installation does not list them."""
    top = Path(telemark.__path__[0])
    for folder, _, names in os.walk(top):
        if Path(folder).name != "__pycache__":
            yield from ((str((Path(folder) / name).relative_to(top.parent)), Path(folder) / name) for name in names)


def _add_launcher(archive: tarfile.TarFile) -> None:
    content = _LAUNCHER.format(python=f"python{sys.version_info.major}.{sys.version_info.minor}").encode()
    entry = tarfile.TarInfo("bin/python")
    entry.size, entry.mode = len(content), 0o755
    archive.addfile(entry, io.BytesIO(content))
