"""A plan carries all a report says about its case: words, headline, and the published values of its own catalogue."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from telemark.catalog import load, plan_points
from telemark.errors import ConfigError

GUIDES = Path(__file__).parents[2] / "docs" / "guides"


def test_a_built_in_case_carries_its_words_and_source() -> None:
    """What `report` once looked up in the catalogue."""
    case = plan_points(load().find("messagesight/FANIN.Q0.PARTITIONS"), "quick")[0].case

    assert case.title
    assert case.about
    assert "received_rate" == case.headline
    assert case.source.startswith(case.suite_title)


@pytest.mark.parametrize(
    ("scenario", "headline", "statistics"),
    [
        ("messagesight/FANIN.Q0.PARTITIONS", "received_rate", "latency"),
        ("messagesight/BROADCAST", "peak_egress_rate", "latency"),
        ("messagesight/CONNBURST", "connect_rate", "connect"),
        ("mq-telemetry/memory-per-connection", "server_bytes_per_connection", "connect"),
        ("open-mqtt/p2p-1K-1K-1K-1K", "latency_mean_us", "latency"),
    ],
)
def test_the_headline_answers_what_the_case_measures(scenario: str, headline: str, statistics: str) -> None:
    """Throughput, height of a spike, connections, memory of an idle connection, latency."""
    case = plan_points(load().find(scenario), "quick")[0].case

    assert (headline, statistics) == (case.headline, case.statistics)


def test_a_users_scenario_that_measures_latency_gets_a_latency_headline() -> None:
    """The guide's own example."""
    plans = plan_points(load([GUIDES / "my-scenario.toml"]).find("my-company/sensors"), "quick")

    assert {"latency_mean_us"} == {plan.case.headline for plan in plans}
    assert {"Our own traffic, 2026-11"} == {plan.case.source for plan in plans}


def changed(tmp_path: Path, old: str, new: str, name: str = "mine.toml") -> Path:
    path = tmp_path / name
    path.write_text((GUIDES / "my-scenario.toml").read_text().replace(old, new))
    return path


def test_a_scenario_file_may_choose_its_headline(tmp_path: Path) -> None:
    """Any numeric column of the table points."""
    catalog = load([changed(tmp_path, 'measures = "latency"', 'headline = "latency_p99_us"')])

    assert "latency_p99_us" == plan_points(catalog.find("my-company/sensors"), "quick")[0].case.headline


def test_a_headline_that_is_no_column_is_refused_with_the_nearest_ones(tmp_path: Path) -> None:
    """Before anything runs."""
    with pytest.raises(ConfigError) as caught:
        load([changed(tmp_path, 'measures = "latency"', 'headline = "latency_p98_us"')])

    assert "latency_p99_us" in caught.value.problems[0]


def test_published_values_are_those_of_the_point_with_the_exact_ones_marked_and_first() -> None:
    """Another size of the same case is worth printing beside ours, but must say that it is another size."""
    plan = plan_points(load().find("messagesight/FANIN.Q0.PARTITIONS"), "published")[0]
    published = plan.case.published

    assert published[0].exact
    assert [True, False] == sorted({value.exact for value in published}, reverse=True)
    for value in published:
        if value.exact:
            assert value.parameters.items() <= plan.parameters.items()


def test_a_users_case_named_like_a_built_in_one_has_no_published_values_of_the_built_in(tmp_path: Path) -> None:
    """The names are equal, the question is not."""
    path = changed(tmp_path, 'name = "my-company"', 'name = "messagesight"')
    path.write_text(path.read_text().replace('name = "sensors"', 'name = "FANIN.Q0.PARTITIONS"'))

    plans = plan_points(load([path]).find("messagesight/FANIN.Q0.PARTITIONS"), "quick")

    assert [()] * len(plans) == [plan.case.published for plan in plans]


def test_the_case_is_part_of_the_plans_json() -> None:
    """run.json holds it."""
    plan = plan_points(load().find("messagesight/FANIN.Q0.PARTITIONS"), "quick")[0]

    written = json.loads(json.dumps(plan.as_dict()))["case"]

    assert plan.case.title == written["title"]
    assert len(plan.case.published) == len(written["published"])
