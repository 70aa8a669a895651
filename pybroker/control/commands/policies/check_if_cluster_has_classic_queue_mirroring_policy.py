"""check_if_cluster_has_classic_queue_mirroring_policy: health check, for leaving mirrored queues."""

from pybroker.control.spec import EX_UNAVAILABLE, Command, NoArgs, Node, Refused


def run(node: Node, args: NoArgs) -> str:
    """Return RabbitMQ's sentence. Raises Refused while a policy asks for mirrors, which no queue here has."""
    del args
    found = [
        (vhost, policy)
        for vhost in node.broker.vhosts
        for component in ("policy", "operator_policy")
        for policy in node.broker.policies.of(vhost, component)
        if "ha-mode" in policy.definition
    ]
    if found:
        names = ", ".join(f"'{policy.name}' in vhost '{vhost}'" for vhost, policy in found)
        facts = {"policies": [{"vhost": vhost, "name": policy.name} for vhost, policy in found]}
        raise Refused(f"Cluster reported policies that enable classic queue mirroring: {names}", EX_UNAVAILABLE, facts)
    return "Cluster reported no policies that enable classic queue mirroring"


COMMAND = Command(
    name="check_if_cluster_has_classic_queue_mirroring_policy",
    section="Policies",
    summary="Health check: fails if a policy for mirrored classic queues exists",
    args=NoArgs,
    effect="read",
    access="management",
    run=run,
    banner="Checking if cluster has any classic queue mirroring policy ...",
)
