"""The step between 0.8.0 and 0.7.0: enablement in scopes, a replaced working directory."""
