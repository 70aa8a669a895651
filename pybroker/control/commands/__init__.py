"""The table of commands. The order is the order of the help; the file of a command is loaded when it is needed.

A new command is one new file in the folder of its section, one line in PLACES, one section in the man page
(`pybrokerctl --man-page`), one test. The section Monitoring has two folders more: `checks/` and `listings/`.
"""

from importlib import import_module
from typing import Final

from pybroker.control.spec import Command

PLACES: Final = (
    # Nodes
    "nodes.start_app",
    "nodes.stop_app",
    "nodes.reset",
    "nodes.force_reset",
    "nodes.stop",
    "nodes.shutdown",
    "nodes.await_startup",
    "nodes.wait",
    "nodes.rotate_logs",
    # Cluster
    "cluster.cluster_status",
    "cluster.has_reached_target_cluster_size",
    "cluster.set_cluster_name",
    # Users
    "users.add_user",
    "users.delete_user",
    "users.change_password",
    "users.clear_password",
    "users.authenticate_user",
    "users.hash_password",
    "users.list_users",
    "users.set_user_tags",
    "users.set_user_limits",
    "users.clear_user_limits",
    "users.list_user_limits",
    # Access control
    "access_control.set_permissions",
    "access_control.set_permissions_globally",
    "access_control.clear_permissions",
    "access_control.list_permissions",
    "access_control.list_user_permissions",
    "access_control.set_topic_permissions",
    "access_control.clear_topic_permissions",
    "access_control.list_topic_permissions",
    "access_control.list_user_topic_permissions",
    "access_control.list_vhosts",
    # Monitoring
    "monitoring.status",
    "monitoring.report",
    "checks.ping",
    "checks.is_running",
    "checks.is_booting",
    "checks.check_running",
    "checks.check_port_listener",
    "checks.check_protocol_listener",
    "checks.check_port_connectivity",
    "checks.check_virtual_hosts",
    "monitoring.alarms",
    "checks.check_alarms",
    "checks.check_local_alarms",
    "checks.check_certificate_expiration",
    "checks.check_queue_age",
    "checks.check_queue_growth",
    "monitoring.listeners",
    "monitoring.memory_breakdown",
    "monitoring.message_size_stats",
    "monitoring.log_tail",
    "monitoring.log_tail_stream",
    "monitoring.consume_event_stream",
    "monitoring.audit",
    "monitoring.why_deleted",
    "listings.list_queues",
    "listings.list_unresponsive_queues",
    "listings.list_exchanges",
    "listings.list_scheduled",
    "listings.list_bindings",
    "listings.list_connections",
    "listings.list_channels",
    "listings.list_consumers",
    "monitoring.why_blocked",
    "monitoring.top",
    "monitoring.list_node_auth_attempt_stats",
    "monitoring.reset_node_auth_attempt_metrics",
    # Virtual hosts
    "vhosts.add_vhost",
    "vhosts.delete_vhost",
    "vhosts.set_vhost_limits",
    "vhosts.clear_vhost_limits",
    "vhosts.list_vhost_limits",
    "vhosts.set_vhost_tags",
    "vhosts.update_vhost_metadata",
    "vhosts.enable_vhost_deletion_protection",
    "vhosts.disable_vhost_deletion_protection",
    "vhosts.trace_on",
    "vhosts.trace_off",
    # Parameters
    "parameters.set_parameter",
    "parameters.clear_parameter",
    "parameters.list_parameters",
    "parameters.set_global_parameter",
    "parameters.clear_global_parameter",
    "parameters.list_global_parameters",
    # Policies
    "policies.set_policy",
    "policies.clear_policy",
    "policies.list_policies",
    "policies.set_operator_policy",
    "policies.clear_operator_policy",
    "policies.list_operator_policies",
    "policies.list_policies_that_match",
    "policies.check_if_cluster_has_classic_queue_mirroring_policy",
    # Configuration
    "configuration.environment",
    "configuration.config_check",
    "configuration.config_explain",
    "configuration.config_diff",
    "configuration.config_reload",
    "configuration.server_version",
    "configuration.tls_versions",
    "configuration.os_env",
    "configuration.log_location",
    "configuration.set_log_level",
    "configuration.set_vm_memory_high_watermark",
    "configuration.set_disk_free_limit",
    "configuration.activate_free_disk_space_monitoring",
    "configuration.deactivate_free_disk_space_monitoring",
    # Operations
    "operations.close_connection",
    "operations.close_all_connections",
    "operations.close_all_user_connections",
    "operations.suspend_listeners",
    "operations.resume_listeners",
    "operations.eval",
    # Definitions
    "definitions.export_definitions",
    "definitions.import_definitions",
    "definitions.definitions_plan",
    # Feature flags
    "feature_flags.list_feature_flags",
    "feature_flags.enable_feature_flag",
    "feature_flags.list_deprecated_features",
    "feature_flags.check_if_any_deprecated_features_are_used",
    # Queues
    "queues.delete_queue",
    "queues.purge_queue",
    "queues.pause_queue",
    "queues.resume_queue",
    "queues.pause_consumer",
    "queues.resume_consumer",
    "queues.cancel_scheduled",
    "queues.retry_delayed",
    # Messages
    "messages.peek_messages",
    "messages.get_messages",
    "messages.publish",
    "messages.move_messages",
    "messages.redrive",
    "messages.trace_message",
    # Streams
    "streams.list_streams",
    "streams.stream_status",
    "streams.stream_read",
    "streams.stream_truncate",
    "streams.add_super_stream",
    "streams.delete_super_stream",
    # Data
    "data.log_status",
    "data.log_verify",
    "data.log_repair",
    "data.backup_create",
    "data.backup_verify",
    "data.backup_restore",
    # Pipeline
    "pipeline.pipeline_run",
    "pipeline.pipeline_follow",
    "pipeline.pipeline_status",
    "pipeline.pipeline_doctor",
    "pipeline.pipeline_export",
    "pipeline.pipeline_package",
    "pipeline.pipeline_gc",
    "pipeline.report_backlog",
    "pipeline.report_blocked",
    "pipeline.report_alarms",
    "pipeline.report_capacity",
    "pipeline.report_unroutable",
    "pipeline.report_consumers",
    "pipeline.report_forecast",
    "pipeline.report_accounting",
    "pipeline.report_slo",
    "pipeline.report_trends",
    # Deprecated
    "checks.node_health_check",
)
NAMES: Final = tuple(place.rpartition(".")[2] for place in PLACES)
# Commands that pybrokerctl and pybroker-web run by themselves, on behalf of others; people do not.
INTERNAL_PLACES: Final = (
    "data.hold_log",
    "web.login",
    "web.logout",
    "web.whoami",
    "web.node_figures",
    "web.node_state",
    "web.object_figures",
    "web.object_rows",
    "web.overview",
    "web.samples",
    "web.web_settings",
    "web.declare_queue",
    "web.declare_exchange",
    "web.delete_exchange",
    "web.bind",
    "web.unbind",
    "web.publish_message",
    "web.close_clients",
    "web.put_user",
    "web.change_vhost_limit",
    "web.preview_policy",
)
INTERNAL: Final = tuple(place.rpartition(".")[2] for place in INTERNAL_PLACES)
# Wanted where the process has no file descriptor left, without which no module can be imported.
IN_NEED: Final = (
    "alarms",
    "close_connection",
    "list_connections",
    "list_queues",
    "log_status",
    "status",
    "stop",
    "why_blocked",
)
KNOWN: Final = frozenset((*NAMES, *INTERNAL))
_PLACE: Final = {place.rpartition(".")[2]: place for place in (*PLACES, *INTERNAL_PLACES)}


def load(name: str) -> Command:
    """Return the command called `name`, one of KNOWN."""
    assert name in KNOWN, name
    command: Command = import_module(f"{__name__}.{_PLACE[name]}").COMMAND
    return command
