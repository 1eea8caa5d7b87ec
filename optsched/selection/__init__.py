"""Resource selection: which job gets which GPUs of which node in one scheduling interval (sts)."""
