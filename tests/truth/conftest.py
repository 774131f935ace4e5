"""The truth tests: the built-in server misbehaves in a known way, and the pipeline must find exactly that.

A module names its runs in PLANS (and what else it needs in STEERING and MORE). The runs of all modules that are tested
now are one campaign, analysed in one go: a Spark job costs the same for one run as for twenty.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from telemark.runner.conductor import RunControl
from tests.support.truth import Answers, answer

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The first test waits for all runs and their analysis: that may take minutes on a busy machine."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.alone)
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.timeout(900))


def tested(session: pytest.Session) -> list[ModuleType]:
    """Modules with truth runs of which a test was chosen."""
    chosen = dict.fromkeys(item.module for item in session.items if isinstance(item, pytest.Function))
    return [module for module in chosen if HERE in Path(module.__file__ or "/").parents and hasattr(module, "PLANS")]


@pytest.fixture(scope="session")
def answers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Answers]:
    """What the pipeline says about the runs of all modules."""
    modules = tested(request.session)
    steerings = [module.STEERING for module in modules if hasattr(module, "STEERING")]

    def steer(control: RunControl) -> None:
        for steering in steerings:
            steering(control)

    yield answer(
        [plan for module in modules for plan in module.PLANS],
        tmp_path_factory.mktemp("truth"),
        steering=steer,
        more=[make for module in modules for make in getattr(module, "MORE", ())],
    )
    stop_spark()


def stop_spark() -> None:
    """One session for all of them; it ends with the tests."""
    from pyspark.sql import SparkSession  # noqa: PLC0415

    active = SparkSession.getActiveSession()
    if active is not None:
        active.stop()
