"""login: a person or a program that calls over HTTP, let in as clients of AMQP are."""

from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

from pybroker.control.arguments.passwords import verdict_of
from pybroker.control.spec import EX_LOGIN, EX_TEMPFAIL, Arg, BadArguments, Command, Node, Refused

if TYPE_CHECKING:
    from pybroker.core.broker import Broker

IDLE_S_MAX: Final = 86_400
LIFE_S_MAX: Final = 604_800


class Args(NamedTuple):
    """Credentials, the client's address, and how long the session lives."""

    username: Annotated[str, Arg("name of the user")]
    password: Annotated[str, Arg("password", secret=True)]
    address: Annotated[str, Arg("address of the client", "--address")] = ""
    port: Annotated[int, Arg("port of the client", "--port")] = 0
    local: Annotated[bool, Arg("the client is on this machine, and has asked this machine by name", "--local")] = False
    idle_s: Annotated[int, Arg("seconds without a request that end the session", "--idle")] = 120
    life_s: Annotated[int, Arg("seconds that end it in any case", "--life")] = 28_800


class HttpPeer(NamedTuple):
    """The client of a login, as the log and the events of logins show one."""

    broker: "Broker"
    peer_host: str
    peer_port: int
    peer_is_local: bool
    name: str
    host: str = ""
    auth_mechanism: str = "HTTP"
    protocol: str = "HTTP"
    tls: None = None

    def log_fields(self) -> dict[str, object]:
        """Return what the log says about it, by the names of the fields."""
        return {"peer": self.name}


def check(args: Args) -> None:
    """Refuse times that are none. Raises BadArguments."""
    if not (0 < args.idle_s <= IDLE_S_MAX and 0 < args.life_s <= LIFE_S_MAX):
        raise BadArguments(f"--idle must be from 1 to {IDLE_S_MAX} seconds, --life to {LIFE_S_MAX}")


def run(node: Node, args: Args) -> dict[str, Any]:
    """Return the session's handle, the user's name and tags. Raises Refused."""
    broker = node.broker
    peer = HttpPeer(broker, args.address, args.port, args.local, f"{args.address}:{args.port}")
    verdict = broker.logins.decide(verdict_of(node, args.username, args.password, args.address), args.username, peer)
    if verdict.user is None:
        raise Refused(verdict.reason, EX_TEMPFAIL) if verdict.busy else Refused("Login failed", EX_LOGIN)
    handle = node.daemon.web_sessions.begin(verdict.user, args.address, args.idle_s, args.life_s)
    return {"session": handle, "name": verdict.user.name, "tags": list(verdict.user.tags)}


COMMAND = Command(
    name="login",
    section="Monitoring",
    summary="Lets a client of pybroker-web in",
    args=Args,
    effect="read",
    access="none",
    run=run,
    check=check,
)
