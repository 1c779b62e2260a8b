"""The realm's stream: found or made, its state as its leader tells it, its oldest part dropped."""

from __future__ import annotations

import asyncio
import time
from base64 import b64decode
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from agenthost.cluster.realm.errors import (
    NO_ROOM,
    NoJetStream,
    RealmError,
    RealmFull,
    RealmTooNew,
    RealmUnreachable,
)

if TYPE_CHECKING:
    from agenthost.cluster.realm.connection import RealmLink

FORMAT = 1
"""What this version writes into streams, and the newest that it can read."""

COMMIT_HEADER = "Ahp-Commit"
"""The header of a message that names its commit."""

_FORMAT_KEY, _BEGINS_KEY = "agenthost-format", "agenthost-begins"
_TIMEOUT = 3.0
# Seconds for which a stream that gives no answer may be one that is being made or has no leader,
# which was seen to take 10 when all servers had been killed.
_PATIENCE = 30.0

# Error codes of JetStream: https://github.com/nats-io/nats-server/blob/main/server/errors.json
NOT_FOUND = 10059
_NO_PEERS = 10005
_NOT_A_CLUSTER = 10074
# Being made by somebody else at this moment, or made otherwise.
_IN_USE = 10058
_NO_JETSTREAM = frozenset({10035, 10039, 10076})
_NO_ROOM = frozenset({10002, 10023, 10027, 10028, 10047, 10077})


class ApiError(RealmError):
    """JetStream refused a request."""

    def __init__(self, error: dict[str, Any]) -> None:
        self.code = int(error.get("code") or 0)
        self.error_code = int(error.get("err_code") or 0)
        self.description = str(error.get("description") or "without a reason")
        super().__init__(f"{self.description} ({self.error_code})")

    @property
    def is_no_room(self) -> bool:
        """Whether there is no room for what was to be stored."""
        return self.error_code in _NO_ROOM


@dataclass(frozen=True)
class RealmInfo:
    """A realm's stream, as it was when it was opened."""

    stream: str
    format: int
    replicas: int
    # When it was made, as the servers write it: another stream of the name has another.
    created: str
    # Its first message ever.
    begins: int
    # The first and the last that there were; the last is below the first if there was none.
    first: int
    last: int


@dataclass(frozen=True)
class StreamState:
    """What is in the stream now."""

    first: int
    last: int
    messages: int
    bytes: int
    created: str


class RealmStream:
    """What is asked of JetStream about the stream."""

    def __init__(self, link: RealmLink) -> None:
        self._link = link

    async def call(self, name: str, request: object = None, timeout: float = _TIMEOUT) -> Any:
        """Ask JetStream something; its leaders answer.

        Raises:
            ApiError: it refused.
            RealmUnreachable: it did not answer.
        """
        payload = b"" if request is None else orjson.dumps(request)
        answer = orjson.loads(await self._link.ask(f"$JS.API.{name}", payload, timeout) or b"{}")
        if answer.get("error"):
            raise ApiError(answer["error"])
        return answer

    async def open(self, *, create: bool, first_message: int, replicas: int | None) -> RealmInfo:
        """Find the stream or make it."""
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                await self._check_jetstream()
                found = await self._find()
                if found is not None:
                    return self._checked(found)
                if not create:
                    raise RealmError(
                        f"there is no realm “{self._link.address.realm}” at {self._link.address}"
                    )
                # Or somebody else does, at this moment: what there is then, counts.
                await self._create(first_message, replicas)
            except (ApiError, RealmUnreachable) as error:
                # Servers that have just started, and a stream that is being made, have no leader
                # to answer for them.
                why = f"the realm's stream cannot be used: {error}"
                if not _may_pass(error):
                    raise RealmError(why) from None
                if time.monotonic() > until:
                    raise RealmUnreachable(why) from None
                await asyncio.sleep(0.1)

    async def state(self) -> StreamState:
        """Return the stream's state; while it has no leader, that is waited for."""
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                info = await self.call(f"STREAM.INFO.{self._link.stream}")
                break
            except (ApiError, RealmUnreachable) as error:
                if not _may_pass(error) or time.monotonic() > until:
                    raise
                await asyncio.sleep(0.1)
        state = info["state"]
        return StreamState(
            state["first_seq"],
            state["last_seq"],
            state["messages"],
            state["bytes"],
            info["created"],
        )

    async def purge_before(self, seq: int) -> None:
        """Forget the messages below one of them."""
        await self.call(f"STREAM.PURGE.{self._link.stream}", {"seq": seq})

    async def last_of(self, subject: str) -> tuple[int, str]:
        """Return the number and the commit of a subject's last message, as the leader has it."""
        request = {"last_by_subj": subject}
        try:
            answer = await self.call(f"STREAM.MSG.GET.{self._link.stream}", request)
        except ApiError as error:
            if error.code == 404 and error.error_code != NOT_FOUND:
                return 0, ""
            raise
        message = answer["message"]
        headers = b64decode(message.get("hdrs") or "").decode(errors="replace").splitlines()
        ids = [line.partition(": ")[2] for line in headers if line.startswith(COMMIT_HEADER + ":")]
        return message["seq"], ids[0] if ids else ""

    async def _check_jetstream(self) -> None:
        try:
            await self.call("INFO")
        except ApiError as error:
            if error.error_code in _NO_JETSTREAM:
                raise NoJetStream(self._without_jetstream()) from None
            raise
        except RealmUnreachable as error:
            if "nobody" in str(error):
                raise NoJetStream(self._without_jetstream()) from None
            raise

    def _without_jetstream(self) -> str:
        return (
            f"the NATS servers at {self._link.address} have no JetStream: start them with"
            " --jetstream, or enable it for this account"
        )

    async def _find(self) -> Any:
        try:
            return await self.call(f"STREAM.INFO.{self._link.stream}")
        except ApiError as error:
            if error.error_code == NOT_FOUND:
                return None
            raise

    async def _create(self, first_message: int, replicas: int | None) -> None:
        config = {
            "name": self._link.stream,
            "subjects": [self._link.subject("log.>")],
            "storage": "file",
            "retention": "limits",
            "discard": "new",
            "num_replicas": 3 if replicas is None else replicas,
            "first_seq": first_message,
            "allow_atomic": True,
            "allow_direct": True,
            "deny_delete": True,
            "metadata": {_FORMAT_KEY: str(FORMAT), _BEGINS_KEY: str(first_message)},
        }
        try:
            await self.call(f"STREAM.CREATE.{self._link.stream}", config, 20.0)
        except ApiError as error:
            if error.error_code == _NOT_A_CLUSTER and replicas is None:
                await self._create(first_message, 1)
            elif error.error_code == _NO_PEERS:
                # Those that have just started may not know of each other yet.
                raise RealmUnreachable(
                    "a realm is kept by three servers of the cluster, and fewer answer"
                ) from None
            elif error.is_no_room:
                raise RealmFull(f"{NO_ROOM} for the realm: {error}") from None
            else:
                raise

    def _checked(self, info: Any) -> RealmInfo:
        config, state = info["config"], info["state"]
        metadata = config.get("metadata") or {}
        format = metadata.get(_FORMAT_KEY, "")
        if not format.isdecimal() or not config.get("allow_atomic"):
            raise RealmError(f"the stream {self._link.stream} is none of agenthost's")
        if int(format) > FORMAT:
            raise RealmTooNew(
                f"the realm has format {format}, and this agenthost reads up to {FORMAT}: update it"
            )
        return RealmInfo(
            self._link.stream,
            int(format),
            config["num_replicas"],
            info["created"],
            int(metadata.get(_BEGINS_KEY, "1")),
            state["first_seq"],
            state["last_seq"],
        )


def _may_pass(error: ApiError | RealmUnreachable) -> bool:
    """Whether asking again may help."""
    return isinstance(error, RealmUnreachable) or (error.code >= 500 or error.error_code == _IN_USE)
