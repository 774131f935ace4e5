"""`telemark load`: a quick publish/subscribe test without a scenario."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any, get_args

import click

from telemark.catalog.adhoc import AdhocLoad, plan_load
from telemark.cli.running import make_runs, shared_options
from telemark.cli.sweeping import several, split_servers
from telemark.model.plan import Version
from telemark.verdicts import parse_thresholds

SWEPT = ("publishers", "subscribers", "rate", "qos", "payload")
COUNT = click.IntRange(0)


@click.command("load")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address of a server that runs already.")
@click.option("--port", type=click.IntRange(1, 65535), help="Port of that server. Default: 1883, or 8883 with --tls.")
@click.option(
    "--server", "servers", multiple=True, metavar="SERVER[,...]",
    help="Name of a server to start instead (loopback, mosquitto ...), or an mqtt URL.",
)  # fmt: skip
@several("--publishers", COUNT, "Devices that publish.", 1)
@several("--subscribers", COUNT, "Devices that subscribe.", 1)
@several("--rate", click.FLOAT, "Messages a second, all publishers together.", 100)
@several("--qos", click.IntRange(0, 2), "QoS of publishers and subscribers.", 0)
@several("--payload", click.INT, "Bytes of a message, at least 32.", 64)
@click.option("--unpaced", is_flag=True, help="Send as fast as the server takes it (closed loop) instead of at --rate.")
@click.option("--window", default=1000, show_default=True, help="Most messages in flight at once with --unpaced.")
@click.option("--topic", default="telemark/load/{index}", show_default=True, help="Topic pattern of the publishers.")
@click.option("--filter", "topic_filter", help="Filter of the subscribers. Default: every topic of the publishers.")
@click.option("--share", help="Subscribers form a share group of this name (MQTT 5).")
@click.option("--duration", default=10.0, show_default=True, help="Seconds that are measured.")
@click.option("--warmup", default=1.0, show_default=True, help="Seconds of load before measuring begins.")
@click.option("--connect-rate", default=0.0, help="Devices connected per second; 0, the default, means unlimited.")
@click.option(
    "--require",
    "required",
    multiple=True,
    help="Thresholds that decide the exit code, e.g. 'p99 < 10ms, lost == 0'.",
)
@click.option("--version", type=click.Choice(get_args(Version)), default="5", show_default=True, help="MQTT version.")
@click.option("--tls", is_flag=True, help="Connect with TLS.")
@click.option(
    "--ca", type=click.Path(exists=True, dir_okay=False), help="CA certificates. Default: those of the system."
)
@click.option("--insecure", is_flag=True, help="Do not verify the server's certificate.")
@click.option("--username", help="User name of the devices; a pattern such as device-{index}.")
@click.option("--password-env", help="Environment variable that holds the password.")
@click.option("--password-file", help="File whose first line is the password.")
@shared_options
def command(servers: tuple[str, ...], host: str, port: int | None, **settings: Any) -> int:
    """Publish and subscribe against a server and record every message, as a scenario would.

    Several values of an option make a run for each combination.
    """
    settings["required"] = tuple(each.text for each in parse_thresholds(settings["required"]))
    loads = [AdhocLoad.from_settings(each) for each in combinations(settings)]
    url = f"mqtt{'s' if settings['tls'] else ''}://{host}:{port or (8883 if settings['tls'] else 1883)}"
    if not servers:
        settings["server_options"] = (*settings["server_options"], *loads[0].remote_options())
    return make_runs([plan_load(load) for load in loads], split_servers(servers) or [url], settings)


def combinations(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The settings once for each combination of the swept options."""
    return [{**settings, **dict(zip(SWEPT, values, strict=True))} for values in product(*(settings[n] for n in SWEPT))]
