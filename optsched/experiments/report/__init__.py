"""Gap tables and reports of a result store."""
