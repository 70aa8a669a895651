"""A change has the result that a command or a client would have had."""

from tests.core.transfer.documents import imported
from tests.fakes import Queue, World

QUEUE = {"vhost": "/", "name": "q"}


def test_users_log_in_with_all_kinds_of_hashes():
    """F11: the hash of version 3.10.8's documentation, and one in clear."""
    world = World()
    users = [
        {
            "name": "sha256",
            "password_hash": "AQIDBICe1CaebixUE/MCfY5ZMEEEncmGODbABA8mX5vzG8qC",
            "hashing_algorithm": "rabbit_password_hashing_sha256",
            "tags": ["administrator"],
        },
        {
            "name": "md5",
            "password_hash": "AQIDBHk4ugsPOIb9s/GLU7CFB1w=",
            "hashing_algorithm": "rabbit_password_hashing_md5",
            "tags": "a,b",
        },
        {
            "name": "sha512",
            "password_hash": "AQIDBD10pf14VIT7rAkUms4G0q5cNFvg2lN2u6NfDRYVHrGnqv2CilKTfgZ22316"
            "fc5SgUU2LQy2dFdddTthvkuAOQE=",
            "hashing_algorithm": "rabbit_password_hashing_sha512",
            "tags": [],
            "limits": {"max-channels": 7},
        },
        {"name": "clear", "password": "in clear", "tags": []},
        {"name": "nobody", "tags": []},
    ]
    assert "" == imported(world, {"users": users}).stopped
    users = world.broker.users
    for name, password in (
        ("sha256", "secret-256"),
        ("md5", "secret-md5"),
        ("sha512", "secret-512"),
        ("clear", "in clear"),
    ):
        assert name == users.authenticate(name, password).name
        assert None is users.authenticate(name, "wrong")
    assert None is users.authenticate("nobody", "")
    assert ("a", "b") == users.get("md5").tags
    assert {"max-channels": 7} == users.get("sha512").limits


def test_a_user_is_updated_in_what_differs():
    world = World()
    world.broker.users.add("u", "secret", ("a",), "rabbit_password_hashing_sha256")
    imported(world, {"users": [{"name": "u", "tags": ["b"], "password": "secret", "limits": {"max-channels": 1}}]})
    user = world.broker.users.authenticate("u", "secret")
    assert (("b",), {"max-channels": 1}) == (user.tags, user.limits)
    imported(world, {"users": [{"name": "u", "tags": ["b"]}]})
    assert None is world.broker.users.authenticate("u", "secret")
    assert {"max-channels": 1} == user.limits


def test_a_virtual_host_keeps_what_the_document_does_not_tell():
    """Differs from RabbitMQ, which empties the description."""
    world = World()
    imported(world, {"vhosts": [{"name": "/"}, {"name": "v", "description": "d", "tags": "t", "tracing": True}]})
    assert "Default virtual host" == world.vhost.description
    vhost = world.broker.vhosts["v"]
    assert ("d", ("t",), True) == (vhost.description, vhost.tags, vhost.tracing)
    imported(world, {"vhosts": [{"name": "v", "default_queue_type": "quorum", "tracing": False}]})
    assert ("d", ("t",), "quorum", False) == (vhost.description, vhost.tags, vhost.default_queue_type, vhost.tracing)


def test_the_protection_of_a_virtual_host_is_taken_from_its_metadata_and_stays_where_nothing_is_said():
    world = World()
    imported(world, {"vhosts": [{"name": "v", "metadata": {"protected_from_deletion": True}}]})
    vhost = world.broker.vhosts["v"]
    assert vhost.protected
    imported(world, {"vhosts": [{"name": "v", "description": "d"}]})
    assert ("d", True) == (vhost.description, vhost.protected)
    imported(world, {"vhosts": [{"name": "v", "metadata": {"protected_from_deletion": False}}]})
    assert not vhost.protected


def test_a_queue_gets_the_virtual_hosts_type_unless_the_document_has_one():
    """F43; RabbitMQ makes an exported classic queue a quorum queue there."""
    world = World()
    queues = [
        {**QUEUE, "name": "plain"},
        {**QUEUE, "name": "classic", "type": "classic"},
        {**QUEUE, "name": "q", "type": "quorum"},
    ]
    queues.append({**QUEUE, "name": "short", "auto_delete": True})
    imported(world, {"vhosts": [{"name": "/", "default_queue_type": "quorum"}], "queues": queues})
    assert {"plain": "quorum", "classic": "classic", "q": "quorum", "short": "classic"} == {
        queue.name: queue.type for queue in world.vhost.queues.values()
    }


def test_policies_limits_and_the_clusters_name_are_in_force():
    """F12, F13."""
    world = World()
    imported(
        world,
        {
            "policies": [{"vhost": "/", "name": "p", "pattern": "^q", "definition": {"max-length": 5}}],
            "parameters": [
                {
                    "vhost": "/",
                    "component": "operator_policy",
                    "name": "o",
                    "value": [
                        ["pattern", ".*"],
                        ["definition", [["max-length", 3]]],
                        ["priority", 0],
                        ["apply-to", "queues"],
                    ],
                }
            ],
            "global_parameters": [{"name": "cluster_name", "value": "old"}],
            "queues": [QUEUE],
        },
    )
    assert 3 == world.vhost.queues["q"].limits.length_max
    assert "old" == world.broker.settings.cluster_name


def test_permissions_are_in_force_at_once():
    world = World()
    peer = world.connect()
    one = {"user": "guest", "vhost": "/", "configure": "^ok$", "write": "", "read": ""}
    topic = {"user": "guest", "vhost": "/", "exchange": "amq.topic", "write": "^{username}", "read": ""}
    imported(world, {"permissions": [one], "topic_permissions": [topic]})
    peer.declare("ok")
    assert 403 == peer.error(Queue.Declare(queue="other"))[0]
    assert "^{username}" == world.broker.users.get("guest").topic_permissions["/", "amq.topic"].text("write")


def test_names_that_no_client_can_use_stay_what_they_are():
    """AMQP strips line ends from names; RabbitMQ's import does not."""
    world = World()
    exchange = {"vhost": "/", "name": "x\n", "type": "fanout"}
    binding = {"vhost": "/", "source": "x\n", "destination": "q\n", "destination_type": "queue", "routing_key": "k"}
    content = {"exchanges": [exchange], "queues": [{**QUEUE, "name": "q\n"}], "bindings": [binding]}
    assert {"create": 3} == imported(world, content).counts
    assert {} == imported(world, content).counts
