"""A report as the pipeline writes it."""

REPORT = {
    "v": 1,
    "report": "blocked",
    "made_at": "2026-01-06 00:05:00",
    "since": "2026-01-05 00:00:00",
    "until": "2026-01-06 00:00:00",
    "columns": [
        {"name": "conn_id", "help": "connection"},
        {"name": "held_ms", "help": "milliseconds"},
        {"name": "share", "help": "part of <its> time"},
        {"name": "verdict", "help": "verdict", "bad": ["grows"], "good": ["fine"]},
    ],
    "rows": [["<n@h.1.7.0>", 61500, 0.25, "grows"], ["<n@h.1.9.0>", 500, None, "fine"]],
    "rows_left_out": 3,
    "summary": [["connections held back", 2], ["longest", None]],
    "advice": ["memory: pybrokerctl set_vm_memory_high_watermark 0.7 (0.7 would have set the alarm never)"],
    "plots": [
        {
            "kind": "lines",
            "title": "Memory used",
            "unit": "octets",
            "series": [
                {"name": "n@h", "points": [[1767571200000, 104857600], [1767614400000, 1048576000]]},
                {"name": "limit", "points": [[1767571200000, 524288000]], "dashed": True},
            ],
            "bands": [[1767600000000, 1767603600000]],
        },
        {
            "kind": "bars",
            "title": "Who",
            "rows": [{"name": "a client with a very long name", "bars": [[1767600000000, 1767600061500, "memory"]]}],
        },
        {
            "kind": "columns",
            "title": "Seconds",
            "unit": "s",
            "bars": [
                {"name": "0.4", "value": 240.0, "note": "once", "marked": False},
                {"name": "0.7", "value": 0, "note": "never", "marked": True},
            ],
        },
    ],
}
