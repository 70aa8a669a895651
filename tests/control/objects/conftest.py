"""Facts of a world."""

from pybroker.control.objects.kind import View


def facts(world, kind, name):
    """Return one fact of all objects of a kind."""
    world.run()
    view = View(world.broker, tuple(world.broker.vhosts.values()))
    return [kind.readers[name](each) for each in kind.find(view)]
