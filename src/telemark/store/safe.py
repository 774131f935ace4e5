"""What may be read from a folder that came from a stranger, and where in it may be written.

Links below a run or campaign folder are refused: they lead out of it. So are pipes and devices: reading them may never
end.
"""

from __future__ import annotations

import os
from pathlib import Path

from telemark.errors import DataError

_LEAVE_IT = "links and special files in run and campaign folders are not followed; remove it"


def regular_files(folder: Path, suffix: str = ".parquet") -> list[Path]:
    """Complete files of a folder in name order; names that begin with a dot or underscore are unfinished.

    Raises:
        DataError: the folder or one of the files is a link, or no regular file.
    """
    if folder.is_symlink():
        raise DataError(f"{folder} is a link", hint=_LEAVE_IT)
    if not folder.is_dir():
        return []
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if not entry.name.endswith(suffix) or entry.name.startswith((".", "_")):
                continue
            if not entry.is_file(follow_symlinks=False):
                raise DataError(f"{entry.path} is not a regular file", hint=_LEAVE_IT)
            found.append(Path(entry.path))
    return sorted(found)


def refuse_links(root: Path, path: Path) -> None:
    """Raise DataError when a part of the path below the root is a link: writing there would change something else."""
    place = root
    for part in path.relative_to(root).parts:
        place = place / part
        if place.is_symlink():
            raise DataError(f"{place} is a link", hint=_LEAVE_IT)
