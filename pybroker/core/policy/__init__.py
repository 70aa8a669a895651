"""What can be set of a queue or exchange, by its arguments or by a policy, and what both come to.

Owns the tables of arguments and of policy keys, parameters, and the limits that result. Does not know queues or
exchanges: which policy each is under is `topology/policies`.
"""
