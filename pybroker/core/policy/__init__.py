"""Settings of a queue or exchange, by its arguments or by a policy, and the limits that result.

Owns the tables of arguments and of policy keys, parameters, and the resulting limits. Does not know queues or
exchanges: `topology/policies` finds the policy of each.
"""
