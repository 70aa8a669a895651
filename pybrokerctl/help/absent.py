"""RabbitMQ's commands that have no meaning here: the effect of each there, why it is not here, what to use instead.

One sentence each, for the operator whose runbook names one. A command that gets built leaves this table.
"""

from typing import Final

_ALONE: Final = "a pybroker node runs alone"
_NO_REPLICAS: Final = "queues have no replicas, since a pybroker node runs alone"
_TLS_FILES: Final = "pybroker's certificates are those in the files of its configuration"
_TLS_LIBRARY: Final = "pybroker's TLS is OpenSSL's"
_NO_PLUGINS: Final = "pybroker has no plugins"
_NO_ERLANG: Final = "pybroker runs on Python"
_PLAIN_CONFIG: Final = "pybroker.conf holds no encrypted values"
_WITH_NODE: Final = "a stream of pybroker runs as long as its node"
_NO_MAINTENANCE: Final = "pybroker has no maintenance mode"

_CHECK_VHOSTS: Final = "see 'pybrokerctl check_virtual_hosts'"
_CLUSTER_STATUS: Final = "'pybrokerctl cluster_status' shows this node"
_COPY: Final = "'pybrokerctl export_definitions' and 'backup create' copy a node's contents"
_LIST_QUEUES: Final = "'pybrokerctl list_queues name type leader members' shows where each queue is"
_LIMIT_READING: Final = "restrict who may read the file instead"
_STATUS: Final = "'pybrokerctl status' names the version of Python and all paths"
_STREAM_STATUS: Final = "'pybrokerctl stream status' shows its offsets, files and consumers"
_MEMORY: Final = "'pybrokerctl memory_breakdown' shows the memory use"
_SUSPEND: Final = "'pybrokerctl suspend_listeners' and 'close_all_connections' keep clients away"

# For each: its effect in RabbitMQ, why it does not exist here, what to do instead.
_ROWS: Final[dict[str, tuple[str, str, str]]] = {
    # Clusters
    "join_cluster": ("adds the node to a cluster", _ALONE, _COPY),
    "forget_cluster_node": ("removes a node from its cluster", _ALONE, _CLUSTER_STATUS),
    "change_cluster_node_type": ("turns a disk node into a RAM node and back", _ALONE, _CLUSTER_STATUS),
    "rename_cluster_node": ("renames a node of a cluster", _ALONE, "start the node with --node to name it"),
    "update_cluster_nodes": ("fetches the list of cluster members", _ALONE, _CLUSTER_STATUS),
    "force_boot": (
        "starts a node without waiting for its peers",
        _ALONE,
        "just start the node; it does not wait for peers",
    ),
    "force_standalone_khepri_boot": ("starts a node without its peers", _ALONE, "just start the node"),
    "await_online_nodes": ("waits for nodes to join", _ALONE, "'pybrokerctl await_startup' waits for this node"),
    "discover_peers": ("runs peer discovery", _ALONE, _CLUSTER_STATUS),
    "await_online_quorum_plus_one": ("waits until replicas are online", _NO_REPLICAS, "stop the node at any time"),
    "post_upgrade": ("rebalances queues after an upgrade", _NO_REPLICAS, "nothing remains to be done"),
    "metadata_store_status": ("shows the state of the replicated definitions", _ALONE, "see 'pybrokerctl status'"),
    "check_if_metadata_store_initialized": (
        "checks whether the replicated definitions are ready",
        _ALONE,
        "use 'pybrokerctl check_running'",
    ),
    # Replicas
    "sync_queue": ("copies a mirrored queue to its mirrors", _NO_REPLICAS, _LIST_QUEUES),
    "cancel_sync_queue": ("stops copying a mirrored queue", _NO_REPLICAS, _LIST_QUEUES),
    "quorum_status": ("shows the replicas of a quorum queue", _NO_REPLICAS, _LIST_QUEUES),
    "check_if_node_is_quorum_critical": (
        "checks whether queues lose their quorum without this node",
        _NO_REPLICAS,
        "expect every queue to be unavailable while the node is down",
    ),
    "check_if_node_is_mirror_sync_critical": (
        "checks whether a mirrored queue has its only copy here",
        _NO_REPLICAS,
        "expect every queue to be unavailable while the node is down",
    ),
    "add_member": ("adds a replica of a quorum queue", _NO_REPLICAS, _LIST_QUEUES),
    "delete_member": ("removes a replica of a quorum queue", _NO_REPLICAS, _LIST_QUEUES),
    "add_replica": ("adds a replica of a stream", _NO_REPLICAS, _LIST_QUEUES),
    "delete_replica": ("removes a replica of a stream", _NO_REPLICAS, _LIST_QUEUES),
    "grow": ("adds replicas of many queues on a node", _NO_REPLICAS, _LIST_QUEUES),
    "shrink": ("removes all replicas from a node", _NO_REPLICAS, _LIST_QUEUES),
    "rebalance": ("spreads queue leaders over the nodes", _NO_REPLICAS, _LIST_QUEUES),
    "transfer_leadership": ("moves the leader of a queue", _NO_REPLICAS, _LIST_QUEUES),
    "reclaim_quorum_memory": ("collects garbage of a quorum queue", _NO_REPLICAS, _MEMORY),
    "force_checkpoint": ("writes checkpoints of quorum queues", _NO_REPLICAS, "see 'pybrokerctl log_status'"),
    "peek": (
        "shows a message of a quorum queue by its position",
        "pybroker's queues have no such positions",
        "read it with a client that does not acknowledge",
    ),
    "restart_stream": ("restarts a stream", _WITH_NODE, _STREAM_STATUS),
    "coordinator_status": ("shows the coordinator of streams", _WITH_NODE, _STREAM_STATUS),
    # Maintenance
    "drain": ("puts the node into maintenance mode", _NO_MAINTENANCE, _SUSPEND),
    "revive": ("ends maintenance mode", _NO_MAINTENANCE, "'pybrokerctl resume_listeners' lets clients in again"),
    # Virtual hosts
    "restart_vhost": (
        "restarts a failed virtual host",
        "virtual hosts do not fail individually",
        _CHECK_VHOSTS,
    ),
    "reconcile_vhosts": ("starts virtual hosts on all nodes", _ALONE, _CHECK_VHOSTS),
    # Configuration
    "encode": ("encrypts a value of the configuration", _PLAIN_CONFIG, _LIMIT_READING),
    "decode": ("decrypts a value of the configuration", _PLAIN_CONFIG, _LIMIT_READING),
    "list_ciphers": ("lists ciphers for encrypted configuration values", _PLAIN_CONFIG, _LIMIT_READING),
    "list_hashes": ("lists hashes for encrypted configuration values", _PLAIN_CONFIG, _LIMIT_READING),
    "enable_auth_attempt_source_tracking": (
        "counts logins by source address",
        "the audit log has each refused login with its address",
        "use 'pybrokerctl audit --event user.authentication.failure'",
    ),
    "disable_auth_attempt_source_tracking": (
        "no longer counts logins by source address",
        "pybroker does not count them by address",
        "'pybrokerctl list_node_auth_attempt_stats' counts them by protocol",
    ),
    # TLS
    "certificates": ("shows the listeners' certificates", _TLS_FILES, "use 'openssl x509 -noout -text -in FILE'"),
    "cipher_suites": ("lists TLS cipher suites", _TLS_LIBRARY, "use 'openssl ciphers -v'"),
    # Plugins
    "plugins": ("manages plugins", _NO_PLUGINS, "everything is built in"),
    "enable": ("enables a plugin", _NO_PLUGINS, "everything is built in"),
    "disable": ("disables a plugin", _NO_PLUGINS, "everything is built in"),
    "is_enabled": ("checks whether a plugin is enabled", _NO_PLUGINS, "everything is built in"),
    "directories": ("shows where plugins are", _NO_PLUGINS, "everything is built in"),
    "shovel_status": ("shows shovels", _NO_PLUGINS, "run a RabbitMQ node with a shovel beside pybroker"),
    "restart_shovel": ("restarts a shovel", _NO_PLUGINS, "run a RabbitMQ node with a shovel beside pybroker"),
    "delete_shovel": ("deletes a shovel", _NO_PLUGINS, "run a RabbitMQ node with a shovel beside pybroker"),
    "federation_status": ("shows federation links", _NO_PLUGINS, "federate from a RabbitMQ node"),
    # Erlang
    "erlang_version": ("shows the version of Erlang", _NO_ERLANG, _STATUS),
    "erlang_cookie_hash": (
        "shows a hash of Erlang's shared secret",
        _NO_ERLANG,
        "the control socket is protected by its owner and mode",
    ),
    "erlang_cookie_sources": (
        "shows where Erlang's shared secret is",
        _NO_ERLANG,
        "the control socket is protected by its owner and mode",
    ),
    "command_line_arguments": ("shows Erlang's arguments", _NO_ERLANG, "'pybrokerctl environment' shows all settings"),
    "maybe_stuck": ("finds Erlang processes that make no progress", _NO_ERLANG, "see 'pybrokerctl why_blocked'"),
    "runtime_thread_stats": ("shows what Erlang's threads do", _NO_ERLANG, "'pybrokerctl top' shows rates live"),
    "observer": ("shows Erlang processes live", _NO_ERLANG, "'pybrokerctl top' shows queues and connections live"),
    "remote_shell": ("opens an Erlang shell on the node", _NO_ERLANG, "see 'pybrokerctl help' for the commands"),
    "eval_file": ("evaluates a file of Erlang", _NO_ERLANG, "see 'pybrokerctl help' for the commands"),
    "exec": ("evaluates Elixir", _NO_ERLANG, "see 'pybrokerctl help' for the commands"),
    "force_gc": ("collects garbage of all Erlang processes", _NO_ERLANG, _MEMORY),
    "hipe_compile": ("no longer has an effect", _NO_ERLANG, "pip builds the codec in C where a compiler is"),
    "schema_info": ("lists Erlang's database tables", _NO_ERLANG, "'pybrokerctl log_status' shows what is on disk"),
    "resolver_info": ("shows Erlang's name resolver", _NO_ERLANG, "see /etc/nsswitch.conf and /etc/resolv.conf"),
    "resolve_hostname": ("resolves a name on the node", _NO_ERLANG, "use 'getent hosts NAME' there"),
    "list_network_interfaces": ("lists the node's network interfaces", _NO_ERLANG, "use 'ip address' there"),
}


def explain(name: str) -> str:
    """Return the sentence about one of RabbitMQ's commands that do not exist here, else nothing."""
    row = _ROWS.get(name)
    if row is None:
        return ""
    there, why, instead = row
    return f"RabbitMQ's {name} {there}; {why}: {instead}."
