"""Options of a table that SQL made: CREATE TABLE ... USING pybroker OPTIONS (...).

Spark drops the options of a table when it reads or writes one of a Python source; it keeps the schema that the source
gave when the table was made. So the options travel in the metadata of its first column. They are for all to read there,
and are copied into files that are written with this schema: no password may be among them.
"""

import json
from collections.abc import Mapping
from typing import Final

from pyspark.sql.types import StructField, StructType

from pybroker.spark.values import OptionError

_KEY: Final = "pybroker.options"
# Spark hands over each option of a table twice, and the table's properties beside them.
_PREFIX: Final = "option."
_SECRETS: Final = {"password": "passwordFile", "tls.keyPassword": "tls.keyPasswordFile"}


def table_options(given: Mapping[str, str]) -> dict[str, str] | None:
    """Return the options of the table that is being made, None if none is. Raises OptionError for secrets."""
    if "provider" not in given:
        return None
    options = {key[len(_PREFIX) :]: value for key, value in given.items() if key.startswith(_PREFIX)}
    lower = {key.lower(): value for key, value in options.items()}
    for name, instead in _SECRETS.items():
        if name.lower() in lower:
            raise OptionError(name, f"would be kept with the table for all to read: use {instead}")
    authority = lower.get("uri", "")
    if any("@" in uri and ":" in uri.partition("://")[2].rpartition("@")[0] for uri in authority.split()):
        raise OptionError("uri", "has a password, which would be kept with the table for all to read: use uriFile")
    return options


def with_options(schema: StructType, options: Mapping[str, str]) -> StructType:
    """Return the schema with the options in it."""
    first, *others = schema.fields
    metadata = {_KEY: json.dumps(dict(options), sort_keys=True)}
    return StructType([StructField(first.name, first.dataType, first.nullable, metadata), *others])


def options_in(schema: StructType) -> dict[str, str]:
    """Return the options that the table of this schema was made with, none if it is no table's."""
    for field in schema:
        if _KEY in (field.metadata or {}):
            return dict(json.loads(field.metadata[_KEY]))
    return {}
