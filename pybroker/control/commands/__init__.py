"""The table of commands. The order is the order of the help; the file of a command is loaded when it is needed.

A new command is one new file here, one name in NAMES, one section in the man page (`pybrokerctl --man-page`), one test.
"""

from importlib import import_module
from typing import Final

from pybroker.control.spec import Command

NAMES: Final = (
    # Nodes
    "start_app",
    "stop_app",
    "reset",
    "force_reset",
    "stop",
    "shutdown",
    "await_startup",
    "wait",
    "rotate_logs",
    # Cluster
    "cluster_status",
    "has_reached_target_cluster_size",
    "set_cluster_name",
    # Users
    "add_user",
    "delete_user",
    "change_password",
    "clear_password",
    "authenticate_user",
    "hash_password",
    "list_users",
    "set_user_tags",
    "set_user_limits",
    "clear_user_limits",
    "list_user_limits",
    # Access control
    "set_permissions",
    "set_permissions_globally",
    "clear_permissions",
    "list_permissions",
    "list_user_permissions",
    "set_topic_permissions",
    "clear_topic_permissions",
    "list_topic_permissions",
    "list_user_topic_permissions",
    "list_vhosts",
    # Monitoring
    "status",
    "report",
    "ping",
    "is_running",
    "is_booting",
    "check_running",
    "check_port_listener",
    "check_protocol_listener",
    "check_port_connectivity",
    "check_virtual_hosts",
    "alarms",
    "check_alarms",
    "check_local_alarms",
    "listeners",
    "memory_breakdown",
    "message_size_stats",
    "log_tail",
    "log_tail_stream",
    "consume_event_stream",
    "audit",
    "why_deleted",
    "list_queues",
    "list_unresponsive_queues",
    "list_exchanges",
    "list_scheduled",
    "list_bindings",
    "list_connections",
    "list_channels",
    "list_consumers",
    "why_blocked",
    "top",
    "list_node_auth_attempt_stats",
    "reset_node_auth_attempt_metrics",
    # Virtual hosts
    "add_vhost",
    "delete_vhost",
    "set_vhost_limits",
    "clear_vhost_limits",
    "list_vhost_limits",
    "set_vhost_tags",
    "update_vhost_metadata",
    "enable_vhost_deletion_protection",
    "disable_vhost_deletion_protection",
    "trace_on",
    "trace_off",
    # Parameters
    "set_parameter",
    "clear_parameter",
    "list_parameters",
    "set_global_parameter",
    "clear_global_parameter",
    "list_global_parameters",
    # Policies
    "set_policy",
    "clear_policy",
    "list_policies",
    "set_operator_policy",
    "clear_operator_policy",
    "list_operator_policies",
    "list_policies_that_match",
    "check_if_cluster_has_classic_queue_mirroring_policy",
    # Configuration
    "environment",
    "server_version",
    "os_env",
    "log_location",
    "set_log_level",
    "set_vm_memory_high_watermark",
    "set_disk_free_limit",
    "activate_free_disk_space_monitoring",
    "deactivate_free_disk_space_monitoring",
    # Operations
    "close_connection",
    "close_all_connections",
    "close_all_user_connections",
    "suspend_listeners",
    "resume_listeners",
    "eval",
    # Definitions
    "export_definitions",
    "import_definitions",
    "definitions_plan",
    # Feature flags
    "list_feature_flags",
    "enable_feature_flag",
    "list_deprecated_features",
    "check_if_any_deprecated_features_are_used",
    # Queues
    "delete_queue",
    "purge_queue",
    "cancel_scheduled",
    # Data
    "log_status",
    "log_verify",
    "log_repair",
    "backup_create",
    "backup_verify",
    "backup_restore",
    # Pipeline
    "pipeline_run",
    "pipeline_status",
    "pipeline_doctor",
    "pipeline_export",
    "pipeline_package",
    "pipeline_gc",
    "report_backlog",
    "report_blocked",
    "report_alarms",
    "report_capacity",
    "report_unroutable",
    "report_consumers",
    # Deprecated
    "node_health_check",
)
# What pybrokerctl asks for by itself, on behalf of others; people do not.
INTERNAL: Final = ("hold_log",)
# Wanted where the process has no file descriptor left, without which no module can be imported.
IN_NEED: Final = ("alarms", "close_connection", "list_connections", "log_status", "status", "stop", "why_blocked")
KNOWN: Final = frozenset((*NAMES, *INTERNAL))


def load(name: str) -> Command:
    """Return the command called `name`, one of KNOWN."""
    assert name in KNOWN, name
    command: Command = import_module(f"{__name__}.{name}").COMMAND
    return command
