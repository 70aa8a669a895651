from pybroker.control import feature_flags


def test_names_are_in_order():
    for features in (feature_flags.FLAGS, feature_flags.DEPRECATED):
        names = [feature.name for feature in features]
        assert sorted(names) == names


def test_others_go_on_between_some_of_many_queues(operator, peer, monkeypatch):
    monkeypatch.setattr(feature_flags, "NOUNS_PER_SLICE", 2)
    for number in range(5):
        peer.declare(f"q{number}", durable=True)
    pauses = []
    assert [] == feature_flags.used(operator.world.broker, pauses.append)
    assert 2 == len(pauses)
