"""Sessions: lifecycle, catalogue, configuration, trash."""
