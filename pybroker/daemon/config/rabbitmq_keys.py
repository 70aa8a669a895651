"""Keys of RabbitMQ's schema that pybroker does not take, each with the reason for the user.

A key without effect would mislead its author, so none is accepted and ignored. A row is moved to `config.KEYS` when its
behaviour is built.
"""

from typing import Final

_LATER: Final = "a key of RabbitMQ that this version of pybroker does not support: "
_NEVER: Final = "a key of RabbitMQ that has no effect in pybroker: "

_TLS: Final = _LATER + "pybroker.conf(5) lists the supported keys of TLS"
_PEM: Final = _LATER + "certificates and keys are read from files (ssl_options.certfile and the others)"
_ALERTS: Final = _NEVER + "each refused handshake has a line in the log; remove the line"
_CLUSTER: Final = _LATER + "it has no clustering yet"
_DEFINITIONS: Final = _LATER + "definitions are loaded from files (definitions.local.path), compared by SHA-256"
_PLUGIN: Final = _LATER + "RabbitMQ's plugin of that name is not supported yet"
_LOGS: Final = _LATER + "there is one log (log.dir, log.file, log.console, log.journald), which SIGHUP reopens"
_ERLANG: Final = _NEVER + "it tunes the Erlang VM; remove the line"

# A name stands for itself and for every key that goes on behind a dot.
REASONS: Final = {
    "ssl_options": _TLS,
    "ssl_options.cert": _PEM,
    "ssl_options.cacerts": _PEM,
    "ssl_options.key": _PEM,
    "ssl_options.dh": _PEM,
    "ssl_options.crl_check": _LATER + "it does not look certificates up in revocation lists",
    "ssl_options.psk_identity": _LATER + "a listener proves its identity by a certificate",
    "ssl_options.log_alert": _ALERTS,
    "ssl_options.log_level": _ALERTS,
    "ssl_options.bypass_pem_cache": _NEVER + "files are read again when they change; remove the line",
    "ssl_allow_poodle_attack": _NEVER + "SSL 3.0 is not supported; remove the line",
    "reverse_dns_lookups": _LATER + "it shows addresses only",
    "tcp_listen_options": _LATER + "tcp_listen_options.backlog is the only socket option supported",
    "definitions": _DEFINITIONS,
    "default_policies": _LATER + "pybroker.conf(5) lists the supported keys of operator policies",
    "runtime_parameters": _LATER + "use 'pybrokerctl set_parameter', or a definitions file (load_definitions)",
    "deprecated_features": _LATER + "every deprecated feature is permitted",
    "message_interceptors": _LATER + "it has no message interceptors",
    "auth_backends": _LATER + "users are checked by the node itself",
    "credential_validator": _LATER + "it has no password validators",
    "ranch_connection_max": _LATER + "connection_max limits the connections of the node",
    "vhost_max": _LATER + "the number of virtual hosts is not limited",
    "collect_statistics": _LATER + "statistics are always counted",
    "collect_statistics_interval": _LATER + "statistics are computed on request",
    "vhost_restart_strategy": _NEVER + "a virtual host cannot stop individually; remove the line",
    "queue_index_embed_msgs_below": _NEVER + "messages are not kept in an index; remove the line",
    "message_store_shutdown_timeout": _NEVER + "there is no message store per virtual host; remove the line",
    "classic_queue": _NEVER + "classic queues have one version; remove the line",
    "product": _NEVER + "set amqp.server_properties.product instead",
    "motd_file": _LATER + "it shows no message of the day",
    "log": _LOGS,
    "cluster_formation": _CLUSTER,
    "cluster_partition_handling": _CLUSTER,
    "cluster_keepalive_interval": _CLUSTER,
    "net_ticktime": _CLUSTER,
    "distribution": _CLUSTER,
    "raft": _CLUSTER,
    "quorum_queue": _CLUSTER,
    "stream": _LATER + "pybroker.conf(5) lists the supported keys of the stream protocol",
    "metadata_store": _CLUSTER,
    "delegate_count": _CLUSTER,
    "mirroring_sync_batch_size": _CLUSTER,
    "mirroring_sync_max_throughput": _CLUSTER,
    "queue_master_locator": _CLUSTER,
    "queue_leader_locator": _CLUSTER,
    "management": _LATER + "pybroker.conf(5) lists the supported keys of the HTTP API",
    "management.listener": _LATER + "use management.tcp.ip and management.tcp.port, or the keys of management.ssl",
    "management.path_prefix": _LATER + "have the proxy take the prefix away, as pybroker-web(8) says",
    "management.http_log_dir": _LATER + "log.file.level = debug adds a line for each request to the log",
    "management.rates_mode": _LATER + "rates are counted as RabbitMQ does with basic; remove the line",
    "management.csp": _LATER + "the HTTP API sends a strict policy of its own; remove the line",
    "management.headers": _LATER + "the HTTP API sends these headers itself; remove the line",
    "management_agent": _PLUGIN,
    "prometheus": _LATER + "pybroker.conf(5) lists the supported keys of metrics",
    "prometheus.path": _LATER + "metrics are at /metrics, /metrics/per-object and /metrics/detailed",
    "prometheus.ssl": _LATER + "metrics are served without TLS; let a proxy add it",
    "mqtt": _PLUGIN,
    "stomp": _PLUGIN,
    "web_mqtt": _PLUGIN,
    "web_stomp": _PLUGIN,
    "amqp1_0": _PLUGIN,
    "federation": _PLUGIN,
    "shovel": _PLUGIN,
    "auth_ldap": _PLUGIN,
    "auth_http": _PLUGIN,
    "auth_oauth2": _PLUGIN,
    "auth_cache": _PLUGIN,
    "trace": _PLUGIN,
    "num_acceptors": _NEVER + "one event loop accepts the connections of all listeners; remove the line",
    "socket_writer": _ERLANG,
    "erlang": _ERLANG,
    "hipe_compile": _ERLANG,
    "background_gc_enabled": _ERLANG,
    "background_gc_target_interval": _ERLANG,
    "sysmon_handler": _ERLANG,
    "default_worker_pool_size": _ERLANG,
    "mnesia_table_loading_retry_timeout": _ERLANG,
    "mnesia_table_loading_retry_limit": _ERLANG,
}


# Settings of the classic form, under other names than in the newer one.
_RENAMED: Final = {
    "ssl_apps": "ssl_options",
    "num_ssl_acceptors": "num_acceptors.ssl",
    "num_tcp_acceptors": "num_acceptors",
    "log_levels": "log",
    "error_logger": "log",
    "sasl_error_logger": "log",
    "cluster_nodes": "cluster_formation",
    "msg_store_shutdown_timeout": "message_store_shutdown_timeout",
    "writer_gc_threshold": "socket_writer",
    "product_name": "product",
    "product_version": "product",
}
_STORE: Final = _NEVER + "the message log has no such settings; remove the line"
_FLOW: Final = _NEVER + "flow control needs no configuration; remove the line"
_INNER: Final = _NEVER + "it concerns RabbitMQ's internals; remove the line"
_SETUP: Final = _LATER + "it has no plugins and no feature flags"
# Settings that only the classic form has, or that only the newer one has here.
_CLASSIC: Final = {
    "default_limits": _LATER + "it is supported in the newer format only",
    "default_users": _LATER + "it is supported in the newer format only",
    "policies": _LATER + "it is supported in the newer format only (default_policies)",
    "default_policies": _LATER + "it is supported in the newer format only",
    "anonymous_login_user": _LATER + "anonymous login is not supported",
    "anonymous_login_pass": _LATER + "anonymous login is not supported",
    "backing_queue_module": _STORE,
    "credit_flow_default_credit": _FLOW,
    "msg_store_credit_disc_bound": _FLOW,
    "mirroring_flow_control": _CLUSTER,
    "default_consumer_prefetch": _LATER + "a consumer without basic.qos has no limit",
    "config_entry_decoder": _LATER + "it does not decrypt values",
    "trace_vhosts": _NEVER + "use 'pybrokerctl trace_on' instead",
    "server_properties": _NEVER + "only the product can be changed (amqp.server_properties.product)",
    "disk_monitor_failure_retries": _NEVER + "the disk monitor tries again 10 times; remove the line",
    "disk_monitor_failure_retry_interval": _NEVER + "the disk monitor tries again every 120 seconds; remove the line",
    "halt_on_upgrade_failure": _INNER,
    "license_line": _INNER,
    "autoheal_state_transition_timeout": _CLUSTER,
    "enabled_plugins_file": _SETUP,
    "feature_flags_file": _SETUP,
    "plugins_dir": _SETUP,
    "plugins_expand_dir": _SETUP,
    "link_max_per_session": _LATER + "AMQP 1.0 is not supported",
    "session_max_per_connection": _LATER + "AMQP 1.0 is not supported",
}
# Likewise, by what the name begins with.
_CLASSIC_KINDS: Final = {
    "msg_store_": _STORE,
    "queue_index_": _STORE,
    "classic_queue_": _STORE,
    "lazy_queue_": _STORE,
    "queue_explicit_": _STORE,
    "fhc_": _STORE,
    "quorum_": _CLUSTER,
    "stream_": _PLUGIN,
    "dead_letter_worker_": _CLUSTER,
    "slave_wait_": _CLUSTER,
    **dict.fromkeys(
        (
            "amqqueue_",
            "channel_operation_",
            "channel_tick_",
            "consumer_disconnected_",
            "core_metrics_",
            "credentials_obfuscation_",
            "definition_import_",
            "ignore_supervisor",
            "min_wal_",
            "num_conns_sups",
            "queue_count_start_",
            "queue_migration_",
            "track_auth_",
            "tracking_execution_",
            "vhost_process_",
        ),
        _INNER,
    ),
}
# Applications that have settings beside rabbit's; all plugins' begin with rabbitmq_.
_MACHINE: Final = frozenset(
    {
        *("asn1", "crypto", "inets", "kernel", "mnesia", "os_mon", "public_key", "sasl", "ssl", "stdlib"),
        *("aten", "cowboy", "khepri", "lager", "observer_cli", "osiris", "ra", "ranch", "rabbit_common"),
        *("sysmon_handler", "syslog"),
    }
)


def find_reason(key: str) -> str | None:
    """Return why RabbitMQ's `key` is not taken, None for a key that RabbitMQ does not know either."""
    while key:
        reason = REASONS.get(key)
        if reason is not None:
            return reason
        key = key.rpartition(".")[0]
    return None


def find_classic_reason(key: str) -> str | None:
    """Return why a setting of RabbitMQ's classic form is not taken, None for one that RabbitMQ does not know either."""
    if key in _CLASSIC:
        return _CLASSIC[key]
    for kind, reason in _CLASSIC_KINDS.items():
        if key.startswith(kind):
            return reason
    return find_reason(_RENAMED.get(key, key))


def find_application_reason(name: str) -> str | None:
    """Return why the settings of an application beside rabbit are not taken, None for one that nobody knows."""
    if name == "rabbitmq_stream":
        keys = "write keys such as stream.listeners.tcp.1 into a file in conf.d"
        return f"a part of RabbitMQ that is taken in the newer form only: {keys}"
    if name.startswith("rabbitmq_") or name in {"amqp_client", "oauth2_client"}:
        return _PLUGIN.replace("a key", "a part", 1)
    if name in _MACHINE:
        return _ERLANG.replace("a key", "a part", 1).replace("the line", "it")
    return None
