"""Reading and writing files of strangers: bytes, numbers, outputs kept whole, JSON Schemas."""
