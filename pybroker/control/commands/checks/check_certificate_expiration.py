"""check_certificate_expiration: health check that fails if a certificate of a listener ends soon."""

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pybroker.control import listeners
from pybroker.control.spec import EX_UNAVAILABLE, Arg, Command, Node, Refused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pybroker.core.auth.certificate import Certificate
    from pybroker.core.auth.expiry import CertificateFile

DAY_S = 86_400
# Seconds, as RabbitMQ's tool counts them.
UNITS = {"days": DAY_S, "weeks": 7 * DAY_S, "months": 365 * DAY_S / 12, "years": 365 * DAY_S}


class Args(NamedTuple):
    """How far to look ahead."""

    within: Annotated[int, Arg("so many units from now; four by default", "--within")] = 4
    unit: Annotated[
        str,
        Arg(f"{', '.join(UNITS)}; weeks by default", "--unit", choices=tuple(UNITS), any_case=True),
    ] = "weeks"


def run(node: Node, args: Args) -> str:
    """Return rabbitmq-diagnostics' sentence. Raises Refused for certificates that end, or begin after now."""
    now_s = node.broker.clock.timestamp_ms // 1000
    unit = args.unit.lower()
    until_s = now_s + args.within * UNITS[unit]
    files = node.daemon.certificate_files
    found = [(file, sentence) for file in files for _, sentence in _ending(file, now_s, until_s)]
    if found:
        text = "\n".join(f"{file.path}: {sentence}" for file, sentence in found)
        raise Refused(text, EX_UNAVAILABLE, {"expired": list(_by_listener(node, now_s, until_s))})
    return f"No certificates are expiring within {args.within} {unit.removesuffix('s') if args.within == 1 else unit}."


def _ending(file: "CertificateFile", now_s: float, until_s: float) -> "Iterator[tuple[str, str]]":
    """Yield RabbitMQ's text and a sentence for each certificate of a file that ends before `until_s`."""
    for certificate in file.certificates:
        if certificate.starts_at > now_s:
            start = certificate.start
            yield (
                f"Certificate is not yet valid. It starts on {start}",
                f"{_name(certificate)} is not yet valid; it starts on {start} UTC",
            )
        elif certificate.ends_at < until_s:
            end = certificate.end
            verb = "has expired" if certificate.ends_at <= now_s else "expires"
            yield end, f"{_name(certificate)} {verb} on {end} UTC"


def _by_listener(node: Node, now_s: float, until_s: float) -> "Iterator[dict[str, Any]]":
    """Yield RabbitMQ's document of each listener and certificate; of one for clients that ask for it, its `host`."""

    def ends(file: "CertificateFile") -> list[str]:
        return [end for end, _ in _ending(file, now_s, until_s)]

    for listener in (*listeners.documents(node.broker), *_https(node)):
        files = [file for file in node.daemon.certificate_files if file.protocol == listener["protocol"]]
        path, ends_of_authorities = "", []
        for file in files:
            if file.of_authorities:
                path, ends_of_authorities = file.path, ends(file)
        for file in files:
            if not file.of_authorities and (found := ends(file)) + ends_of_authorities:
                yield {
                    **listener,
                    **({"host": file.host} if file.host else {}),
                    "certfile": file.path,
                    "cacertfile": path,
                    "certfile_expires_on": found,
                    "cacertfile_expires_on": ends_of_authorities,
                }


def _https(node: Node) -> "Iterator[dict[str, Any]]":
    """Yield the listener of HTTPS, which is that of pybroker-web, if there is to be one."""
    management = node.daemon.web_settings["management"]
    if management is not None and management["tls"] is not None:
        place = {"interface": management["tls_host"], "port": management["tls_port"]}
        yield {"node": node.name, "protocol": "https", **place, "purpose": "HTTP API over TLS"}


def _name(certificate: "Certificate") -> str:
    return certificate.subject[:256] or f"serial number {certificate.serial_number}"


COMMAND = Command(
    name="check_certificate_expiration",
    section="Monitoring",
    summary="Health check: fails if a certificate of the node, or of its trusted authorities, expires soon",
    args=Args,
    effect="read",
    access="management",
    run=run,
    banner="Checking certificate expiration on node {node} ...",
    app="any",
)
