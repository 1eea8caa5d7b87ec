"""What an audit of a run holds its records to: a family of rules a file, methods unseen."""
