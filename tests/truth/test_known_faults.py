"""A server that drops, doubles and swaps known messages: every count and every name must be found."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product

import pytest

from telemark.model.plan import Group, RunPlan
from telemark.model.plan.shapes.paced import Paced
from tests.support.truth import Answers, plan, publishers, subscribers

SEEDS, LEVELS = (1, 2, 3), (0, 1, 2)
STREAMS, RATE = 4, 400.0
FAULTS = "drop=7,duplicate=11,reorder=13"
FOUND_AS = {"drop": "lost", "duplicate": "duplicate", "reorder": "reordered"}
GROUPS = ("plain", "shared", "fan")
CASES = [f"seed-{seed}-qos-{qos}" for seed, qos in product(SEEDS, LEVELS)]


def groups(qos: int, version: str) -> tuple[Group, ...]:
    """One plain subscriber, a share group of three, three subscribers that each get everything."""
    made = (
        subscribers("plain", 1, "truth/#", qos),
        subscribers("shared", 3, "$share/group/truth/#", qos),
        subscribers("fan", 3, "truth/+", qos),
        publishers(STREAMS, qos),
    )
    return tuple(replace(group, version=version) for group in made)


def faulty(seed: int, qos: int) -> RunPlan:
    """A run of 400 messages in which every subscription suffers; seed 1 speaks MQTT 5, the others 3.1.1.

    The drain is longer than the server keeps back a message whose successor never comes (1 s).
    """
    version = "5" if seed == 1 else "3.1.1"
    load = Paced(rate=RATE)
    return plan(
        f"seed-{seed}-qos-{qos}", groups(qos, version), load, faults=FAULTS, seed=seed, drain_timeout_s=2.0
    )  # fmt: skip


PLANS = [
    *(faulty(seed, qos) for seed, qos in product(SEEDS, LEVELS)),
    plan("clean", groups(1, "5"), Paced(rate=RATE)),
]


def owners(answers: Answers, name: str) -> dict[str, int]:
    """Client id -> number the result tables give its subscription; a share group has that of its first member."""
    shares = {row["subscription"]: row["share"] for row in answers.records(name, "subscriptions").to_pylist()}
    first = {share: min(one for one, other in shares.items() if other == share) for share in set(shares.values())}
    plain = subscription_numbers()
    return {client: number if shares[number] is None else first[shares[number]] for client, number in plain.items()}


def subscription_numbers() -> dict[str, int]:
    """Client id -> its own subscription: groups in the order of the plan, one subscription for each device."""
    clients = [
        f"{group.name}-{index}" for group in groups(0, "5") if group.subscriptions for index in range(group.count)
    ]
    return {client: number for number, client in enumerate(clients)}


@pytest.mark.parametrize("name", CASES)
def test_counts_are_exact_for_every_subscription(answers: Answers, name: str) -> None:
    """Lost, duplicate and reordered are what the server's own account says, subscription by subscription."""
    numbers = owners(answers, name)
    truth: Counter[tuple[int, str]] = Counter()
    for entry in answers.account(name)["affected"]:
        truth[numbers[entry["client"]], FOUND_AS[entry["fault"]]] += 1
    rows = answers.rows("integrity", name)
    found = {(row["subscription"], kind): row[kind] for row in rows for kind in FOUND_AS.values() if row[kind]}
    assert dict(truth) == found
    assert [1, 3, 1, 1, 1] == [row["members"] for row in sorted(rows, key=lambda row: row["subscription"])]


@pytest.mark.parametrize("name", CASES)
def test_the_offending_messages_are_named(answers: Answers, name: str) -> None:
    """Each lost, doubled or overtaken message is a row with its stream and number, and there are no others."""
    # A late message is late for one member of a group; a lost or doubled one concerns the group.
    group, member = owners(answers, name), subscription_numbers()
    truth = {
        (
            (member if entry["fault"] == "reorder" else group)[entry["client"]],
            FOUND_AS[entry["fault"]],
            entry["stream"],
            entry["sequence"],
        )
        for entry in answers.account(name)["affected"]
    }
    rows = answers.rows("offenders", name)
    assert truth == {(row["subscription"], row["kind"], row["stream"], row["sequence"]) for row in rows}
    assert len(truth) == len(rows), "no message is named twice"


@pytest.mark.parametrize("name", CASES)
def test_every_kind_of_fault_hit_every_kind_of_subscription(answers: Answers, name: str) -> None:
    """The comparison would be worth nothing if there were nothing to compare."""
    account = answers.account(name)
    hit = {(entry["client"].rpartition("-")[0], entry["fault"]) for entry in account["affected"]}
    assert set(product(GROUPS, FOUND_AS)) == hit
    assert account["not_listed"] == 0
    point = answers.point(name)
    assert (400, 5 * point["sent"], 0) == (point["sent"] + point["dropped"], point["owed"], point["foreign"])


@pytest.mark.parametrize("name", CASES)
def test_violations_follow_the_rules_of_the_qos(answers: Answers, name: str) -> None:
    """QoS 0 forbids duplicates, QoS 1 losses, QoS 2 both."""
    qos = int(name[-1])
    for row in answers.rows("integrity", name):
        forbidden = {0: row["duplicate"], 1: row["lost"], 2: row["lost"] + row["duplicate"]}
        assert (qos, forbidden[qos], True) == (row["qos"], row["violations"], row["exact"])


@pytest.mark.parametrize("name", CASES)
def test_a_run_with_losses_never_passes(answers: Answers, name: str) -> None:
    """`lost == 0` fails; on a starved machine there is no verdict. A pass would be a lie."""
    verdicts = {verdict.metric: verdict.outcome for verdict in answers.verdicts(name)}
    assert verdicts["lost"] != "pass"
    assert verdicts["duplicate"] != "pass"


def test_a_server_without_faults_is_clean(answers: Answers) -> None:
    """The same subscriptions, nothing wrong: nothing is found."""
    point = answers.point("clean")
    found = [point[name] for name in ("owed", "received", "lost", "duplicate", "reordered", "foreign", "violations")]
    assert [2000, 2000, 0, 0, 0, 0, 0] == found
    assert answers.rows("offenders", "clean") == []
