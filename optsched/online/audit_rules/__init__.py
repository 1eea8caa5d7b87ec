"""Rules of the audit, one family per file; none imports a method."""
