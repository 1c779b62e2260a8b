"""A process that follows a log until something ends it; run with ``python -m``.

Prints how far it has come, in unbuffered writes, each time that more can be read from its copy.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from agenthost.cluster.copy import LocalCopy, intake
from tests.cluster.copy.hand_driven import HandDrivenRealm, created, said

MESSAGES = 20_000
# Bytes to a transaction, so that there are many of them.
GATHERED = 50_000


def fill(realm: HandDrivenRealm) -> None:
    """Append what is the same each time."""
    realm.append("session:/1", *created("session:/1", "chat:/1"))
    for n in range(MESSAGES):
        realm.append("session:/1", said("chat:/1", str(n)))


async def follow(folder: Path) -> None:
    realm = HandDrivenRealm(folder)
    fill(realm)
    intake.MOST_GATHERED = GATHERED
    async with LocalCopy(folder, None, None, source=realm) as copy:
        while True:
            await copy.reached(copy.position + 1)
            os.write(1, b"%d\n" % copy._intake.stored)


if __name__ == "__main__":
    asyncio.run(follow(Path(sys.argv[1])))
