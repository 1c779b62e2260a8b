"""The version of agenthost: the one place that names it, also for what is built and installed."""

__all__ = ["__version__"]

__version__ = "0.2.0"
