"""Comparing two campaigns, or two servers of one."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from telemark.cli.compare import command, parse_mapping, parse_tolerance
from telemark.errors import ConfigError, DataError, ExitCode, NotComparableError
from telemark.report.compare import Comparison, Wanted, compare, open_side
from telemark.report.compare.judge import WORDS
from telemark.report.compare.render import to_console, to_json, to_markdown
from tests.support.synthetic import make_campaign
from tests.support.synthetic_tables import FakeRun


def repeats(number: int, **values: object) -> list[FakeRun]:
    """The same point several times, with the small differences repeats have."""
    base = FakeRun(**values)  # type: ignore[arg-type]
    return [
        FakeRun(**(values | {"repeat": repeat, "seed": repeat, "latency_us": base.latency_us * (1 + repeat / 500)}))  # type: ignore[arg-type]
        for repeat in range(number)
    ]


def compared(tmp_path: Path, a: list[FakeRun], b: list[FakeRun], **options: object) -> Comparison:
    """Two campaigns made and compared."""
    folders = [make_campaign(tmp_path / name, runs) for name, runs in (("a", a), ("b", b))]
    return compare(open_side(str(folders[0])), open_side(str(folders[1])), Wanted(**options))  # type: ignore[arg-type]


def verdict_of(comparison: Comparison, metric: str) -> str:
    """The verdict on one metric of the only point."""
    return next(line.verdict for line in comparison.lines if line.metric == metric)


def test_twice_the_latency_over_repeats_is_worse(tmp_path: Path) -> None:
    """The interval leaves out zero, so the exit code fails the build."""
    found = compared(tmp_path, repeats(4), repeats(4, latency_us=1600.0))

    assert "worse" == verdict_of(found, "latency_mean_us")
    assert "same" == verdict_of(found, "received_rate")
    assert ExitCode.THRESHOLD_FAILED == found.exit_code


def test_half_the_latency_over_repeats_is_better(tmp_path: Path) -> None:
    """Lower is better for times."""
    found = compared(tmp_path, repeats(4), repeats(4, latency_us=400.0))
    line = next(line for line in found.lines if line.metric == "latency_mean_us")

    assert "better" == line.verdict
    assert line.low is not None
    assert line.high is not None
    assert line.low < -0.5 < line.high < -0.45


def test_the_same_campaign_is_the_same(tmp_path: Path) -> None:
    """Nothing worse, nothing in doubt: exit code 0."""
    found = compared(tmp_path, repeats(4), repeats(4))

    assert {"same"} == {line.verdict for line in found.lines}
    assert ExitCode.PASSED == found.exit_code


def test_single_runs_give_no_verdict_without_a_tolerance(tmp_path: Path) -> None:
    """One run a side says nothing about chance."""
    found = compared(tmp_path, [FakeRun()], [FakeRun(latency_us=1600.0)])

    assert {"no verdict"} == {line.verdict for line in found.lines}
    assert ExitCode.NO_VERDICT == found.exit_code


def test_single_runs_are_judged_by_the_users_tolerance(tmp_path: Path) -> None:
    """The tolerance is the user's word; the reason says that there is no confidence behind it."""
    found = compared(tmp_path, [FakeRun()], [FakeRun(latency_us=1600.0, seed=9)], tolerance=0.2)
    line = next(line for line in found.lines if line.metric == "latency_mean_us")

    assert "worse" == line.verdict
    assert "without confidence" in line.reason
    assert "same" == verdict_of(found, "received_rate")


def test_new_loss_is_worse_even_though_the_baseline_is_zero(tmp_path: Path) -> None:
    """A share of nothing does not exist, the difference does."""
    found = compared(tmp_path, [FakeRun()], [FakeRun(lost=10)], tolerance=0.2)
    line = next(line for line in found.lines if line.metric == "lost")

    assert ("worse", None) == (line.verdict, line.difference)


def test_noisy_repeats_are_neither_same_nor_worse(tmp_path: Path) -> None:
    """An interval that holds zero and a large loss as well allows no conclusion."""
    noisy = [FakeRun(repeat=n, seed=n, latency_us=latency) for n, latency in enumerate((400.0, 800.0, 1600.0))]
    found = compared(tmp_path, noisy, noisy)

    assert "no verdict" == verdict_of(found, "latency_mean_us")


def test_an_engine_bound_run_allows_no_conclusion(tmp_path: Path) -> None:
    """The engine's limit must not be taken for the server's."""
    found = compared(tmp_path, repeats(3), repeats(3, engine_bound=True))

    assert {"no verdict"} == {line.verdict for line in found.lines}
    assert "engine" in found.lines[0].reason


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"host": "0therh0st"}, "host"),
        ({"size": "laptop"}, "size"),
        ({"profile": "durable"}, "profile"),
        ({"seconds": 30}, "phases.measure_s"),
        ({"shape": "paced"}, "load.shape"),
    ],
)
def test_what_is_not_comparable_is_named(tmp_path: Path, change: dict[str, object], named: str) -> None:
    """Another host, size, profile or plan would compare apples with pears."""
    found = compared(tmp_path, [FakeRun()], [FakeRun(**change)])  # type: ignore[arg-type]

    assert any(named in difference.what for difference in found.differs)


def test_the_command_refuses_what_is_not_comparable_unless_forced(tmp_path: Path) -> None:
    """With --force the result says what differs."""
    a = make_campaign(tmp_path / "a", [FakeRun()])
    b = make_campaign(tmp_path / "b", [FakeRun(host="0therh0st")])

    refused = CliRunner().invoke(command, [str(a), str(b)], standalone_mode=False)
    forced = CliRunner().invoke(command, [str(a), str(b), "--force", "--markdown"], standalone_mode=False)

    assert isinstance(refused.exception, NotComparableError)
    assert "f00dcafe" in refused.exception.message
    assert "not comparable, forced" in forced.output
    assert ExitCode.NO_VERDICT == forced.return_value


def test_two_servers_of_one_campaign_can_be_compared(tmp_path: Path) -> None:
    """FOLDER:SERVER chooses one server; the point is the same, the server is what differs."""
    folder = make_campaign(tmp_path / "c", [*repeats(3), *repeats(3, server="rabbitmq", latency_us=2400.0)])

    found = compare(open_side(f"{folder}:mosquitto"), open_side(f"{folder}:rabbitmq"))

    assert "worse" == verdict_of(found, "latency_mean_us")
    assert () == found.differs


def test_an_unknown_server_metric_or_folder_has_its_own_message(tmp_path: Path) -> None:
    """Each mistake names what there is."""
    folder = make_campaign(tmp_path / "c", [FakeRun()])
    side = open_side(str(folder))

    with pytest.raises(ConfigError, match="no run of server"):
        open_side(f"{folder}:emqx")
    with pytest.raises(ConfigError, match="nonsense"):
        compare(side, side, Wanted(("nonsense",)))
    with pytest.raises(DataError, match=r"no run\.json"):
        open_side(str(tmp_path / "nowhere"))


def test_chosen_metrics_may_have_their_short_names(tmp_path: Path) -> None:
    """`p99` is what people say."""
    found = compared(tmp_path, repeats(3), repeats(3), metrics=("p99", "rate"))

    assert ["latency_p99_us", "received_rate"] == [line.metric for line in found.lines]


def test_points_of_one_side_only_are_listed(tmp_path: Path) -> None:
    """A point that vanished must not vanish silently."""
    other = FakeRun(parameters={"publishers": 9}, publishers=9)
    found = compared(tmp_path, [FakeRun(), other], [FakeRun()])

    assert 1 == len(found.only_a)
    assert "publishers=9" in found.only_a[0]


def test_json_and_markdown_carry_the_verdicts(tmp_path: Path) -> None:
    """For machines and for pull requests."""
    found = compared(tmp_path, repeats(3), repeats(3, latency_us=1600.0))
    document = json.loads(to_json(found))

    assert 1 == document["exit_code"]
    assert found.counts == document["counts"]
    assert "worse" in to_markdown(found)


@pytest.mark.parametrize(("text", "value"), [("5%", 0.05), ("0.05", 0.05), ("12.5 %", 0.125), (None, None)])
def test_a_tolerance_is_a_share(text: str | None, value: float | None) -> None:
    """Percent or fraction."""
    assert value == parse_tolerance(text)


@pytest.mark.parametrize("text", ["5 apples", "150%", "-1%", ""])
def test_a_wrong_tolerance_is_refused(text: str) -> None:
    """The message shows the form."""
    with pytest.raises(ConfigError, match="--tolerance"):
        parse_tolerance(text)


def test_a_metric_without_direction_only_differs(tmp_path: Path) -> None:
    """More messages sent is what the plan asked for: neither better nor worse, and no failed build."""
    more = [FakeRun(rate=2600.0, repeat=repeat, seed=repeat) for repeat in range(3)]
    found = compared(tmp_path, repeats(3), more, metrics=("sent",))

    assert ["differs"] == [line.verdict for line in found.lines]
    assert ExitCode.PASSED == found.exit_code


def at_rate(rate: float, **values: object) -> list[FakeRun]:
    """Repeats of one point that is named after its rate."""
    return repeats(3, rate=rate, parameters={"rate": int(rate), "qos": 0}, **values)


@pytest.mark.parametrize("width", [60, 80])
def test_a_narrow_terminal_never_cuts_the_verdict(tmp_path: Path, width: int) -> None:
    """The word is why one compares."""
    found = compared(tmp_path, repeats(4), [*repeats(2), *repeats(4, latency_us=1600.0)[2:]])
    output = StringIO()
    to_console(found, Console(file=output, width=width, no_color=True))
    lines = [line.rstrip() for line in output.getvalue().splitlines()]

    assert all(len(line) <= width for line in lines)
    ends = [word for line in lines for word in WORDS if line.endswith(f"  {word}")]
    assert [line.verdict for line in found.lines] == ends


def test_a_long_reason_continues_below_its_first_word(tmp_path: Path) -> None:
    """At 80 columns it takes several lines: their indent says that they belong together."""
    found = compared(tmp_path, repeats(3), repeats(3, engine_bound=True))
    output = StringIO()
    to_console(found, Console(file=output, width=40, no_color=True))
    lines = output.getvalue().splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith(" ! no verdict: B: "))

    assert lines[first + 1].startswith("   ")
    assert lines[first + 1].strip()


def test_what_neither_side_measured_is_left_out(tmp_path: Path) -> None:
    """Against URLs nobody samples CPU and memory: that is no doubt about the rest."""
    unknown = {"server_cpu_cores_mean": None, "server_rss_bytes_max": None}
    found = compared(tmp_path, repeats(3, figures=unknown), repeats(3, figures=unknown))

    assert {"received_rate", "latency_mean_us", "latency_p99_us", "lost"} == {line.metric for line in found.lines}
    assert ExitCode.PASSED == found.exit_code


def test_points_are_compared_as_the_user_pairs_them(tmp_path: Path) -> None:
    """The result names the difference and compares."""
    a = [*at_rate(1000.0), *at_rate(3000.0)]
    b = [*at_rate(2000.0), *at_rate(4000.0)]
    found = compared(tmp_path, a, b, mapping={"rate": ("1000", "2000")})

    assert {("rate=1000 qos=0", "rate=2000 qos=0")} == {(line.point, line.point_b) for line in found.lines}
    assert any("load.rate" in difference.what for difference in found.mapped)
    assert () == found.differs
    assert ["scalagent/multi-publisher rate=3000 qos=0 mosquitto"] == list(found.only_a)


def test_the_only_point_of_each_side_is_compared_when_forced(tmp_path: Path) -> None:
    """Without --force the two plans are not comparable, and that has its own exit code."""
    a, b = (make_campaign(tmp_path / name, at_rate(rate)) for name, rate in (("a", 1000.0), ("b", 2000.0)))

    refused = CliRunner().invoke(command, [str(a), str(b)], standalone_mode=False)
    forced = CliRunner().invoke(command, [str(a), str(b), "--force"], standalone_mode=False)

    assert isinstance(refused.exception, NotComparableError)
    assert "load.rate" in refused.exception.message
    assert "better" in forced.output


def test_no_point_in_common_is_not_comparable(tmp_path: Path) -> None:
    """The documented exit code 10, with the way out."""
    a = make_campaign(tmp_path / "a", [*at_rate(1000.0), *at_rate(3000.0)])
    b = make_campaign(tmp_path / "b", [*at_rate(2000.0), *at_rate(4000.0)])

    refused = CliRunner().invoke(command, [str(a), str(b), "--force"], standalone_mode=False)

    assert isinstance(refused.exception, NotComparableError)
    assert "--map" in (refused.exception.hint or "")


@pytest.mark.parametrize("text", ["rate", "rate=1000", "rate=1000:", "=1:2"])
def test_a_wrong_mapping_is_refused(text: str) -> None:
    """The message shows the form."""
    with pytest.raises(ConfigError, match="--map"):
        parse_mapping([text])
