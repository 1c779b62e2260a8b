"""The tables of the page's core say what those of the host say: they are written by hand twice."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from agenthost.protocol import NEWEST
from agenthost.protocol.methods import METHODS, Direction
from agenthost.protocol.reducer_registry import client_may_dispatch, reducers
from agenthost.protocol.versions import touched_in
from tests.web.test_core_mirrors import the_node
from tools.web import SOURCE

ASK = """
import {mayDispatch} from './src/ahp/index.ts';
import './src/ahp/reduction.ts';
import {touched} from './src/ahp/registry.ts';
import {readFileSync} from 'node:fs';
const told = Object.fromEntries(JSON.parse(readFileSync(0, 'utf8')).map(type =>
  [type, [mayDispatch(type), touched(type) ? [...touched(type)].sort() : null]]));
console.log(JSON.stringify(told));
"""


def test_the_page_dispatches_and_touches_what_the_host_says() -> None:
    types = sorted(reducers)
    words = [
        str(the_node()),
        "--experimental-strip-types",
        "--no-warnings",
        "--input-type=module",
        "-e",
    ]
    done = subprocess.run(
        [*words, ASK],
        input=json.dumps(types),
        capture_output=True,
        text=True,
        cwd=SOURCE,
        timeout=60,
        check=True,
    )
    told: dict[str, Any] = json.loads(done.stdout)
    expected = {}
    for name in types:
        members = touched_in(NEWEST, name)
        touches = None if members is None else sorted(members)
        expected[name] = [client_may_dispatch(name), touches]
    assert told == expected


def test_the_page_knows_every_method_that_clients_may_send() -> None:
    text = (SOURCE / "src" / "ahp" / "own.ts").read_text()
    for name, method in METHODS.items():
        if Direction.TO_HOST not in method.directions or name in ("unsubscribe", "dispatchAction"):
            # These two the core sends by itself.
            continue
        key = f"'{name}'" if "/" in name else name
        assert f"\n  {key}: " in text, name
