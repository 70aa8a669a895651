import re

import pytest

from pybroker.daemon.config.classic.classic_rules import RULES
from pybroker.daemon.config.keys import KEYS
from pybroker.daemon.config.rabbitmq_keys import REASONS, find_application_reason, find_classic_reason, find_reason

# The environment of the application rabbit and what its source asks for beside that, 3.10 to 4.2.
CLASSIC = re.findall(
    r"\w+",
    """
anonymous_login_pass anonymous_login_user auth_backends auth_mechanisms autoheal_state_transition_timeout
background_gc_enabled background_gc_target_interval backing_queue_module channel_max channel_operation_timeout
channel_tick_interval classic_queue_default_version classic_queue_flow_control cluster_formation
cluster_keepalive_interval cluster_name cluster_nodes cluster_partition_handling collect_statistics
collect_statistics_interval config_entry_decoder connection_max consumer_disconnected_timeout consumer_timeout
core_metrics_gc_interval credential_validator credentials_obfuscation_fallback_secret credit_flow_default_credit
dead_letter_worker_consumer_prefetch dead_letter_worker_publisher_confirm_timeout default_consumer_prefetch
default_limits default_policies default_users
default_pass default_permissions default_user default_user_tags default_vhost default_worker_pool_size
definition_import_work_pool_size definitions delegate_count disk_free_limit disk_monitor_failure_retries
disk_monitor_failure_retry_interval enabled_plugins_file feature_flags_file fhc_read_buffering frame_max
halt_on_upgrade_failure handshake_timeout heartbeat hipe_compile initial_frame_max
queue_explicit_gc_run_operation_threshold lazy_queue_explicit_gc_run_operation_threshold license_line
link_max_per_session load_definitions log log_levels log_root loopback_users max_message_size memory_monitor_interval
mirroring_flow_control mirroring_sync_batch_size mirroring_sync_max_throughput mnesia_table_loading_retry_limit
mnesia_table_loading_retry_timeout msg_store_credit_disc_bound msg_store_file_size_limit msg_store_index_module
msg_store_shutdown_timeout num_ssl_acceptors num_tcp_acceptors password_hashing_module plugins_dir proxy_protocol
queue_index_embed_msgs_below queue_index_max_journal_entries queue_leader_locator queue_master_locator
quorum_cluster_size quorum_commands_soft_limit ranch_connection_max reverse_dns_lookups server_properties
session_max_per_connection slave_wait_timeout ssl_allow_poodle_attack ssl_apps ssl_cert_login_from
ssl_handshake_timeout ssl_listeners ssl_options stream_messages_soft_limit stream_read_ahead tcp_listen_options
tcp_listeners total_memory_available_override_value trace_vhosts track_auth_attempt_source tracking_execution_timeout
vhost_process_reconciliation_enabled vhost_restart_strategy vm_memory_calculation_strategy vm_memory_high_watermark
vm_memory_high_watermark_paging_ratio writer_gc_threshold
""",
)


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("ssl_options.cacerts.a", "read from files"),
        ("ssl_options.user_lookup_fun", "lists the supported keys of TLS"),
        ("cluster_formation.peer_discovery_backend", "no clustering yet"),
        ("management.rates_mode", "counted as RabbitMQ does with basic"),
        ("management.sample_retention_policies.global.minute", "HTTP API"),
        ("management.listener.ssl_opts.certfile", "management.tcp.port, or the keys of management.ssl"),
        ("management.path_prefix", "the proxy"),
        ("prometheus.ssl.port", "without TLS"),
        ("default_policies.operator.a.classic_queues.ha_mode", "supported keys of operator policies"),
        ("num_acceptors.tcp", "one event loop accepts"),
        ("num_acceptors.ssl", "one event loop accepts"),
        ("log.file.rotation.size", "SIGHUP reopens"),
        ("tcp_listen_options.nodelay", "tcp_listen_options.backlog is the only"),
    ],
)
def test_a_key_of_rabbitmq_has_a_reason(key, words):
    assert words in find_reason(key)


def test_other_keys_have_none():
    assert find_reason("listner.tcp.default") is None


def test_no_key_is_both_taken_and_refused():
    assert set(KEYS) & set(REASONS) == set()


@pytest.mark.parametrize("key", CLASSIC)
def test_a_setting_of_the_classic_form_is_taken_or_refused_with_a_reason(key):
    assert key in RULES or find_classic_reason(key)


def test_a_setting_that_nobody_knows_has_no_reason():
    assert find_classic_reason("heartbeet") is None


@pytest.mark.parametrize(
    ("application", "words"),
    [
        ("rabbitmq_shovel", "plugin"),
        ("rabbitmq_stream", "newer form"),
        ("amqp_client", "plugin"),
        ("kernel", "Erlang VM"),
        ("lager", "Erlang VM"),
    ],
)
def test_an_application_has_a_reason(application, words):
    reason = find_application_reason(application)
    assert reason.startswith("a part of RabbitMQ that ")
    assert words in reason


def test_an_application_that_nobody_knows_has_none():
    assert find_application_reason("rabit") is None
