"""`telemark loopback`: run the built-in server in this process."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from telemark.errors import ConfigError
from telemark.servers.certificates import make_certificates
from telemark.servers.loopback_faults import parse_faults
from telemark.servers.loopback_process import serve

PATH = click.Path(path_type=Path, exists=True, dir_okay=False)
PORT = click.IntRange(0, 65_535)


@click.command(name="loopback")
@click.option("--port", type=PORT, default=1883, show_default=True, help="Port for plain MQTT; 0 takes a free one.")
@click.option("--tls-port", type=PORT, help="Port for MQTT over TLS.")
@click.option("--psk-port", type=PORT, help="Port for MQTT over TLS with pre-shared keys; needs --psk-file.")
@click.option("--host", default="127.0.0.1", show_default=True, help="IP address to listen on.")
@click.option("--certificate", type=PATH, help="Server certificate for --tls-port; generated when left out.")
@click.option("--key", type=PATH, help="Private key of --certificate.")
@click.option(
    "--certificates", type=click.Path(path_type=Path, file_okay=False), help="Folder for generated certificates."
)
@click.option("--psk-file", type=PATH, help="File with lines `identity:key`, the key in hex.")
@click.option("--threads", type=click.IntRange(1, 64), default=1, show_default=True, help="Reactor threads.")
@click.option("--control-port", type=PORT, default=0, show_default=True, help="HTTP port for counters and faults.")
@click.option(
    "--max-queued-messages",
    type=click.IntRange(0),
    default=1_000_000,
    show_default=True,
    help="Messages that may wait for one session; 0: no limit.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Seed that chooses which messages the faults hit.",
)
@click.option(
    "--fault", "faults", multiple=True, metavar="FAULT", help="For example drop=100 or stall=1@3; repeatable."
)
@click.option("--json", "as_json", is_flag=True, help="Print only the line with the ports.")
def command(**options: Any) -> None:
    """Run the built-in server until Ctrl-C.

    When it is ready it prints its ports as one JSON line. Counters: GET /counters on the control port; faults:
    GET and POST /faults.

    \b
    Faults: delay=5ms  stall=1@3 (1 s long, 3 s after the first message)
            drop=N  duplicate=N  reorder=N (every N-th message of each subscription)
            refuse-connect=N[:CODE]  refuse-subscribe=N[:CODE]  disconnect=CLIENT@N[xTIMES]
    """
    with ExitStack() as stack:
        config = {
            "listeners": _listeners(options, stack),
            "control_port": options["control_port"],
            "threads": options["threads"],
            "max_queued_messages": options["max_queued_messages"],
            "seed": options["seed"],
            "faults": parse_faults(options["faults"]),
        }
        if not options["as_json"]:
            click.echo("Ctrl-C ends the built-in server", err=True)
        serve(config)


def _listeners(options: dict[str, Any], stack: ExitStack) -> list[dict[str, Any]]:
    common = {"host": options["host"]}
    listeners: list[dict[str, Any]] = [{"name": "plain", "port": options["port"], **common}]
    if options["tls_port"] is not None:
        certificate, key = _certificate(options, stack)
        files = {"certificate": str(certificate), "key": str(key)}
        listeners.append({"name": "tls", "security": "tls", "port": options["tls_port"], **files, **common})
    if options["psk_port"] is not None:
        if options["psk_file"] is None:
            raise ConfigError("--psk-port needs --psk-file, none was given", hint="lines `identity:key in hex`")
        keys = {"psk_file": str(options["psk_file"])}
        listeners.append({"name": "psk", "security": "psk", "port": options["psk_port"], **keys, **common})
    return listeners


def _certificate(options: dict[str, Any], stack: ExitStack) -> tuple[Path, Path]:
    """The given certificate and key, or new ones; a temporary folder is removed at the end."""
    if (options["certificate"] is None) != (options["key"] is None):
        raise ConfigError("--certificate and --key belong together, only one was given")
    if options["certificate"] is not None:
        return options["certificate"], options["key"]
    folder = options["certificates"] or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="telemark-")))
    made = make_certificates(folder)
    if not options["as_json"]:
        click.echo(f"devices trust the server with the CA {made.ca}", err=True)
    return made.server, made.server_key
