"""`telemark load`: a quick publish/subscribe test without a scenario."""

from __future__ import annotations

from typing import Any, get_args

import click

from telemark.cli.running import make_runs, shared_options
from telemark.model.plan import Version
from telemark.runner.adhoc import AdhocLoad, plan_load


@click.command("load")
@click.option("--host", default="127.0.0.1", show_default=True, help="The server's address.")
@click.option("--port", type=click.IntRange(1, 65535), help="Its port; 1883, with --tls 8883, when left out.")
@click.option("--server", help="A server to start instead of one that runs: loopback, mosquitto ...")
@click.option("--publishers", default=1, show_default=True, type=click.IntRange(0), help="Devices that publish.")
@click.option("--subscribers", default=1, show_default=True, type=click.IntRange(0), help="Devices that subscribe.")
@click.option("--rate", default=100.0, show_default=True, help="Messages a second, all publishers together.")
@click.option("--qos", default=0, show_default=True, type=click.IntRange(0, 2), help="QoS of both sides.")
@click.option("--payload", default=64, show_default=True, help="Bytes of a message, at least 32.")
@click.option("--topic", default="telemark/load/{index}", show_default=True, help="Topic pattern of the publishers.")
@click.option("--filter", "topic_filter", help="Filter pattern of the subscribers; matches every topic when left out.")
@click.option("--share", help="Subscribers form a share group of this name (MQTT 5).")
@click.option("--duration", default=10.0, show_default=True, help="Seconds that are measured.")
@click.option("--warmup", default=1.0, show_default=True, help="Seconds before that.")
@click.option("--connect-rate", default=1000.0, show_default=True, help="Devices connected a second.")
@click.option("--version", type=click.Choice(get_args(Version)), default="5", show_default=True, help="MQTT version.")
@click.option("--tls", is_flag=True, help="Secure the connections.")
@click.option("--ca", type=click.Path(exists=True, dir_okay=False), help="CA certificates; the system's when left out.")
@click.option("--insecure", is_flag=True, help="Do not verify the server's certificate.")
@click.option("--username", help="User name of all devices, a pattern.")
@click.option("--password-env", help="Environment variable that holds the password.")
@click.option("--password-file", help="File whose first line is the password.")
@shared_options
def command(server: str | None, host: str, port: int | None, **settings: Any) -> int:
    """Publish and subscribe against a server and record every message, as a scenario would."""
    load = AdhocLoad.from_settings(settings)
    url = f"mqtt{'s' if load.tls else ''}://{host}:{port or (8883 if load.tls else 1883)}"
    if server is None:
        settings["server_options"] = (*settings["server_options"], *load.remote_options())
    return make_runs([plan_load(load)], [server or url], settings)
