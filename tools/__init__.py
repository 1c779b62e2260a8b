"""What builds, checks and tests the web page with nothing but Python at hand."""
