"""Customizations in sessions: what folders, plugins and clients bring, published and kept."""
