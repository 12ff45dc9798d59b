"""Kill the review server, and whoever writes an audit, at random moments; nothing may be lost.

    python -m tests.fuzz.kills --server 1000 --audit 100 --folder 1000

Every decision that the server acknowledged must be in the file afterward, once. Every folder that
was being replaced must be the old audit or the new one, whole, and leave nothing behind.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import shutil
import signal
import socket
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from misnomer import audit, load_audit
from misnomer.demo import planted_table
from misnomer.review import FILE, Review, load_for_review
from misnomer.review.decisions import Decisions
from misnomer.review.rows import fingerprint
from misnomer.store.container import filling

TOKEN = "t" * 32


def forked(work: Callable[[], None]) -> int:
    """Run something in a process of its own; it never comes back here."""
    child = os.fork()
    if child:
        return child
    try:
        work()
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def killed(child: int) -> bool:
    """Kill a process; tell whether it was still at work."""
    os.kill(child, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def serve(found: Any, folder: Path, place: socket.socket) -> None:
    import uvicorn

    from misnomer.review.server import application

    review = Review(found, folder / FILE, refit=False)
    port = place.getsockname()[1]
    app = application(review, host="127.0.0.1", port=port, token=TOKEN, name="a")
    app.session = TOKEN
    config = uvicorn.Config(app, log_level="critical", lifespan="off")
    uvicorn.Server(config).run(sockets=[place])


def decide(port: int, key: str, row: int, seen: int) -> int | None:
    """Send a decision; return its number, 0 where it was refused, None where nobody answered."""
    said = {"key": key, "row": row, "action": "keep", "seen": seen, "label": None}
    headers = {
        "origin": f"http://127.0.0.1:{port}",
        "content-type": "application/json",
        "cookie": f"misnomer_{port}={TOKEN}",
    }
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        line.request("POST", "/api/decide", json.dumps(said), headers)
        answer = line.getresponse()
        content = json.loads(answer.read())
        return int(content["decision"]["id"]) if answer.status == 200 else 0
    except (OSError, ValueError, http.client.HTTPException):
        return None
    finally:
        line.close()


def later(child: int, seconds: float) -> None:
    """Kill a process after some time."""
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)


def kill_servers(folder: Path, times: int, drawn: random.Random) -> tuple[int, int]:
    """Let a server be killed while decisions come in; count the kills and the decisions."""
    found, acknowledged, kills = load_for_review(folder), {}, 0
    seen: dict[int, int] = {}
    for turn in range(times):
        place = socket.create_server(("127.0.0.1", 0))
        port, killer = place.getsockname()[1], 0
        child = forked(partial(serve, found, folder, place))
        place.close()
        if drawn.random() < 0.05:  # some while they start
            killer = forked(partial(later, child, drawn.uniform(0.0, 0.1)))
        number = 0
        while True:
            key, row = f"kill-{turn}-{number}", drawn.randrange(len(found.given))
            done = decide(port, key, row, seen.get(row, 0))
            if done is None:
                break
            if done:
                acknowledged[key], seen[row] = row, done
            killer = killer or forked(partial(later, child, drawn.uniform(0.0, 0.1)))
            number += 1
        os.waitpid(killer, 0)
        kills += os.WIFSIGNALED(os.waitpid(child, 0)[1])
        seen = check_kept(folder, found, acknowledged)
    return kills, len(acknowledged)


def check_kept(folder: Path, found: Any, acknowledged: dict[str, int]) -> dict[int, int]:
    """Compare what was acknowledged with the file; return the last decision of each row."""
    kept = Decisions(folder / FILE, fingerprint(found))
    try:
        there = [(one.key, one.row) for one in kept.entries()]
        standing = {one.row: one.id for one in kept.standing()}
    finally:
        kept.close()
    assert len({key for key, _ in there}) == len(there), "a decision stands twice"
    lost = acknowledged.items() - dict(there).items()
    assert not lost, f"acknowledged decisions are lost: {sorted(lost)[:3]}"
    return standing


Replace = Callable[[int, Path], None]


def kill_audits(
    place: Path, pair: list[Any], write: Replace, times: int, drawn: random.Random
) -> tuple[int, int, int]:
    """Let an audit be killed while it replaces another; count kills, and old and new folders."""
    folder, kills, seen = place / "replaced", 0, {True: 0, False: 0}
    write(0, folder)
    (folder / "mine.txt").write_text("mine")
    started = time.monotonic()
    os.waitpid(forked(partial(write, 0, folder)), 0)
    lasted, now = time.monotonic() - started, 0
    for _ in range(times):
        child = forked(partial(write, 1 - now, folder))
        time.sleep(drawn.uniform(0.3 * lasted * (drawn.random() < 0.8), 1.3 * lasted))
        early = killed(child)
        kills += early
        lasted *= 1.1 if early else 0.8  # so that about as many end before as after the rename
        found = load_audit(folder)
        which = [i for i in (0, 1) if found.classifier.random_state == i]
        assert which and same(found, pair[which[0]]), "the folder is a mixture"
        assert (folder / "mine.txt").read_text() == "mine", "a file of others is gone"
        seen[which[0] != now] += 1
        now = which[0]
    write(0, folder)
    left = [path.name for path in folder.iterdir() if path.name.startswith(".misnomer")]
    assert not left, f"left behind: {left}"
    shutil.rmtree(folder)
    return kills, seen[False], seen[True]


def same(one: Any, two: Any) -> bool:
    equal = (one.posterior == two.posterior).all() and one.error_rate == two.error_rate
    return bool(equal and one.data.equals(two.data))


def audits(place: Path, asked: Any, drawn: random.Random) -> None:
    """Kill whoever saves an audit, and whoever fills a folder with one that is at hand."""
    table, _ = planted_table(0.1, seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pair = [audit(table, label="party", random_state=seed) for seed in (0, 1)]
    for number, found in enumerate(pair):
        found.save(place / str(number))

    def save(number: int, folder: Path) -> None:
        pair[number].save(folder, force=True)

    def fill(number: int, folder: Path) -> None:
        with filling(folder, force=True) as inside:
            shutil.copytree(place / str(number), inside, dirs_exist_ok=True)

    for name, write, times in (("audit", save, asked.audit), ("folder", fill, asked.folder)):
        if times:
            kills, old, new = kill_audits(place, pair, write, times, drawn)
            print(
                f"{name}: {kills} kills in {times} runs: {old} old, {new} new, 0 mixed", flush=True
            )
    if asked.server:
        kills, count = kill_servers(place / "0", asked.server, drawn)
        print(f"server: {kills} kills, {count} acknowledged decisions, 0 lost", flush=True)


def main() -> None:
    said = argparse.ArgumentParser(description=__doc__)
    said.add_argument("--server", type=int, default=20)
    said.add_argument("--audit", type=int, default=5)
    said.add_argument("--folder", type=int, default=20)
    said.add_argument("--seed", type=int, default=0)
    asked = said.parse_args()
    place = Path(tempfile.mkdtemp(prefix="misnomer-kills-"))
    try:
        audits(place, asked, random.Random(asked.seed))
    finally:
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
