"""Import and export of definitions: RabbitMQ's JSON documents, the plan of their changes, and its application.

Owns the form of the documents, and the order of a change. Does not know where a document comes from or goes to.
"""
