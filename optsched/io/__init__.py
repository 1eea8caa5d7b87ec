"""Reading and writing files safely: bytes, numbers, whole outputs, JSON Schemas."""
