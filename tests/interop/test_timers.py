"""Due actions happen although nobody sends anything."""

from pamqp import commands


def test_a_message_expires_and_is_dead_lettered_while_all_are_silent(broker):
    with broker.peer() as reader, broker.peer() as writer:
        dead = reader.call(commands.Queue.Declare(exclusive=True), commands.Queue.DeclareOk).queue
        reader.call(commands.Basic.Consume(queue=dead, no_ack=True), commands.Basic.ConsumeOk)
        arguments = {"x-message-ttl": 100, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": dead}
        declare = commands.Queue.Declare(exclusive=True, arguments=arguments)
        queue = writer.call(declare, commands.Queue.DeclareOk).queue
        for number in range(3):
            writer.publish("", queue, b"%d" % number)
            assert reader.read_delivery().body == b"%d" % number
        writer.close()
        reader.close()


def test_a_returned_message_expires_while_all_are_silent(broker):
    with broker.peer() as reader, broker.peer() as holder:
        dead = reader.call(commands.Queue.Declare(exclusive=True), commands.Queue.DeclareOk).queue
        reader.call(commands.Basic.Consume(queue=dead, no_ack=True), commands.Basic.ConsumeOk)
        arguments = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": dead}
        declare = commands.Queue.Declare(exclusive=True, arguments=arguments)
        queue = holder.call(declare, commands.Queue.DeclareOk).queue
        holder.publish("", queue, b"x", b"\x01\x00\x03100")
        holder.send(commands.Basic.Get(queue=queue))
        tag = holder.read_delivery().method.delivery_tag
        holder.send(commands.Basic.Nack(tag, requeue=True))
        assert reader.read_delivery().body == b"x"
        holder.close()
        reader.close()
