"""The heap of a Java server, from the log of its collections."""

from __future__ import annotations

import subprocess
from pathlib import Path

from telemark.servers.java_heap import LOG, heap_flags, heap_in_use
from tests.support.requirements import require_program


def test_the_heap_in_use_is_what_the_last_collection_left(tmp_path: Path) -> None:
    """What was in use before it is garbage; other lines of the log say nothing."""
    (tmp_path / LOG).write_text(
        "[0.01s][info][gc] Using G1\n"
        "[0.9s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 24M->5M(256M) 2.3ms\n"
        "[1.9s][info][gc] GC(1) Pause Young (Concurrent Start) (Metadata GC Threshold) 1G->6144K(2G) 2.3ms\n"
        "[2.0s][info][gc] GC(2) Concurrent Mark Cycle\n"
    )

    assert {"heap_bytes": 6.0 * 2**20} == heap_in_use(tmp_path)


def test_before_the_first_collection_the_heap_is_not_known(tmp_path: Path) -> None:
    """Missing, not zero."""
    assert {} == heap_in_use(tmp_path)
    (tmp_path / LOG).write_text("[0.01s][info][gc] Using G1\n")
    assert {} == heap_in_use(tmp_path)


def test_a_real_jvm_writes_the_log(tmp_path: Path) -> None:
    """The launcher's own start needs a collection when its heap is tiny."""
    java = require_program("java")
    (tmp_path / "Garbage.java").write_text("class Garbage { public static void main(String[] a) { System.gc(); } }")
    program = [java, *heap_flags("64m", tmp_path), str(tmp_path / "Garbage.java")]
    subprocess.run(program, check=True, timeout=120)

    assert 0 < heap_in_use(tmp_path)["heap_bytes"] < 64 * 2**20
