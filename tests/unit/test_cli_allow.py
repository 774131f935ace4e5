"""`--allow`: deviations the user accepts."""

from __future__ import annotations

import pytest

from telemark.catalog.adhoc import AdhocLoad, plan_load
from telemark.cli.main import main
from telemark.cli.running import allowing, read_allowed


def test_what_is_allowed_is_part_of_the_plan_and_no_rule_speaks_of_it() -> None:
    """Also the case's own rules give way; the others stay."""
    plan = allowing(plan_load(AdhocLoad()), read_allowed(["lost,violations", "lost"]))

    assert plan.allow == ("lost", "violations")
    assert plan.thresholds == ("dropped == 0",)


def test_an_unknown_kind_is_refused_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 3, with what may be allowed."""
    with pytest.raises(SystemExit) as ended:
        main(["load", "--allow", "late"])

    assert ended.value.code == 3
    assert "--allow is late, expected violations, lost, dropped" in capsys.readouterr().err
