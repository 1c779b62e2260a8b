"""The resource commands: files inside of what somebody may reach, and content the host keeps."""
