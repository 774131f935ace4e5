"""The layers of the package: dependencies run one way, and Spark stays in one place."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "telemark"

# layer -> layers it may import. `errors` and the package itself are free for all.
ALLOWED: dict[str, set[str]] = {
    "host": set(),
    "model": {"host"},
    "store": {"model", "host"},
    "verdicts": {"store", "model", "host"},
    "pipeline": {"verdicts", "store", "model", "host"},
    "catalog": {"consumers", "verdicts", "store", "model", "host"},
    "servers": {"store", "model", "host"},
    "consumers": {"servers", "store", "model", "host"},
    "bed": {"runner", "catalog", "servers", "consumers", "store", "model", "host"},
    "runner": {"catalog", "servers", "consumers", "pipeline", "verdicts", "store", "model", "host"},
    "campaigns": {
        "runner",
        "bed",
        "catalog",
        "servers",
        "consumers",
        "pipeline",
        "verdicts",
        "store",
        "model",
        "host",
    },
    "report": {"verdicts", "store", "model", "host"},  # a run carries its own words: no catalogue
}
FREE = {"errors", "_native", "__version__"}


def imported_modules(path: Path) -> set[str]:
    """Full names of everything a file imports, wherever the import stands."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def files_of(layer: str) -> list[Path]:
    return sorted((SOURCE / layer).rglob("*.py"))


@pytest.mark.parametrize("layer", sorted(ALLOWED))
def test_layer_imports_only_layers_below_it(layer: str) -> None:
    """A lower layer that reached up would make the stages inseparable."""
    may = ALLOWED[layer] | {layer} | FREE
    wrong = [
        f"{path.relative_to(SOURCE)} imports {name}"
        for path in files_of(layer)
        for name in imported_modules(path)
        if name.startswith("telemark.") and name.split(".")[1] not in may
    ]

    assert [] == wrong


def test_only_the_pipeline_and_the_bed_import_pyspark() -> None:
    """Everything else must work, and start quickly, without Java."""
    wrong = [
        str(path.relative_to(SOURCE))
        for path in sorted(SOURCE.rglob("*.py"))
        if path.relative_to(SOURCE).parts[0] not in {"pipeline", "bed"}
        and any(name.split(".")[0] == "pyspark" for name in imported_modules(path))
    ]

    assert [] == wrong
