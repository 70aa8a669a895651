def test_what_was_protected_can_be_deleted_again(operator):
    operator.ask("add_vhost", vhost_name="v")
    operator.ask("enable_vhost_deletion_protection", vhost_name="v")
    operator.ask("disable_vhost_deletion_protection", vhost_name="v")
    operator.ask("delete_vhost", vhost_name="v")
    assert ["/"] == operator.list("list_vhosts")
