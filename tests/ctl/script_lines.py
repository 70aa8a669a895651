"""Every command, as a shell script calls it."""

# One command a line, in an order in which each succeeds. PID is a connection's id, PORT the listener's.
SCRIPT_LINES = """
    await_startup
    wait --pid "$NODE_PID"
    status
    report
    ping
    is_running
    is_booting
    check_running
    check_port_listener "$PORT"
    check_protocol_listener amqp
    check_port_connectivity
    check_certificate_expiration
    check_queue_age --older-than 5m
    check_queue_growth --full-within 30m --drain-over 2h
    check_virtual_hosts
    alarms
    check_alarms
    check_local_alarms
    node_health_check
    has_reached_target_cluster_size
    list_feature_flags
    enable_feature_flag all
    list_deprecated_features
    suspend_listeners
    resume_listeners
    rotate_logs
    message_size_stats
    listeners
    memory_breakdown --unit mb
    environment
    config_check --config /dev/null
    config_explain heartbeat
    config_diff --all
    config_reload
    server_version
    tls_versions
    os_env
    log_location
    log_tail --number 3
    set_log_level info
    set_vm_memory_high_watermark 0.4
    set_disk_free_limit mem_relative 0.1
    deactivate_free_disk_space_monitoring
    activate_free_disk_space_monitoring
    set_cluster_name test
    cluster_status
    add_vhost v --description 'a "quoted" one' --tags a,b
    list_vhosts name description tags default_queue_type tracing
    enable_vhost_deletion_protection v
    disable_vhost_deletion_protection v
    trace_on -p v
    trace_off -p v
    add_user u 'p w'
    change_password u q
    authenticate_user u q
    clear_password u
    set_user_tags u administrator monitoring
    set_user_limits u '{"max-channels": 5}'
    list_user_limits --user u
    clear_user_limits u all
    set_vhost_limits -p v '{"max-queues": 5}'
    list_vhost_limits -p v
    list_parameters -p v
    clear_vhost_limits -p v
    set_parameter -p v vhost-limits limits '{"max-queues": 5}'
    clear_parameter -p v vhost-limits limits
    set_global_parameter mqtt_port_to_vhost_mapping '{"1883": "v"}'
    list_global_parameters
    clear_global_parameter mqtt_port_to_vhost_mapping
    set_vhost_tags v a c
    update_vhost_metadata v --description 'another one' --default-queue-type classic
    set_policy long '^a' '{"max-length": 500}' --apply-to queues
    list_policies
    list_policies_that_match 'a, b' --object-type queue
    set_operator_policy short '^a' '{"max-length": 50}'
    list_operator_policies
    clear_operator_policy short
    clear_policy long
    check_if_cluster_has_classic_queue_mirroring_policy
    import_definitions "$FOLDER/later.json"
    export_definitions "$FOLDER/all.json"
    definitions_plan "$FOLDER/all.json"
    list_scheduled
    cancel_scheduled later --all
    list_node_auth_attempt_stats
    reset_node_auth_attempt_metrics
    hash_password secret
    list_users
    set_permissions -p v u '^a' '.*' ''
    list_permissions -p v
    set_permissions_globally u '^a' '.*' ''
    list_user_permissions u
    set_topic_permissions -p v u amq.topic '^{username}' '.*'
    list_topic_permissions -p v
    list_user_topic_permissions u
    clear_topic_permissions -p v u
    clear_permissions -p v u
    list_queues name durable arguments messages consumers state
    list_unresponsive_queues
    list_exchanges name type durable arguments
    list_bindings
    list_connections pid name peer_port client_properties
    list_channels
    list_consumers
    why_blocked "$PID"
    top
    eval 'application:get_env(rabbit, channel_max).'
    move_messages 'a, b' --to-exchange amq.fanout
    publish work --queue 'a, b'
    peek_messages 'a, b'
    get_messages 'a, b'
    trace_message --exchange '' --duration 1s
    redrive 'a, b' --dry-run
    list_streams
    stream_status events
    stream_read events
    stream_truncate events --before 1
    list_stream_connections
    list_stream_publishers
    list_stream_consumers
    list_stream_consumer_groups
    list_stream_tracking events
    list_stream_offsets
    add_super_stream super --partitions 2
    delete_super_stream super
    pipeline_tap amq.topic --stream tap
    pipeline_tap amq.topic --stream tap --remove
    pause_queue 'a, b' --why maintenance
    resume_queue 'a, b'
    pause_consumer c --why maintenance
    resume_consumer c
    retry_delayed 'a, b'
    purge_queue 'a, b'
    delete_queue 'a, b'
    why_deleted 'a, b'
    audit --number 5
    close_connection "$PID" bye
    close_all_user_connections guest bye
    close_all_connections bye
    delete_user u
    delete_vhost v
    stop_app
    reset
    force_reset
    start_app
    log_status
    log_verify
    backup_create "$FOLDER/backup"
    stop
    log_repair --data-dir "$FOLDER/data"
    backup_verify "$FOLDER/backup"
    backup_restore "$FOLDER/backup" --data-dir "$FOLDER/restored"
"""
