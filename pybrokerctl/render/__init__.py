"""How rows become text: table, pretty_table, json, csv."""
