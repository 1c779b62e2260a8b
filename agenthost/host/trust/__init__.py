"""Authentication, permissions and limits: who may come in, and what and how much they may do.

Everything here decides; nothing here opens a socket or sends a byte.
"""

from agenthost.host.trust.client_ids import MAX_CLIENT_ID, ClientBindings
from agenthost.host.trust.gate import Gate, Refusal, StartupError, check_bind
from agenthost.host.trust.large_messages import PrincipalLargeMessages
from agenthost.host.trust.limits import (
    Limits,
    PrincipalRates,
    RateLimiter,
    exceeds_depth,
    find_excess,
)
from agenthost.host.trust.policy import Policy, PolicyContext, RolePolicy, ShellPolicy
from agenthost.host.trust.principals import LOCAL_OWNER, Principal
from agenthost.host.trust.redaction import RedactTokens, redact, redact_value
from agenthost.host.trust.tokens import Authenticator, HostTokens, admitted_names, open_tokens
from agenthost.tokens import Role

__all__ = [
    "LOCAL_OWNER",
    "MAX_CLIENT_ID",
    "Authenticator",
    "ClientBindings",
    "Gate",
    "HostTokens",
    "Limits",
    "Policy",
    "PolicyContext",
    "Principal",
    "PrincipalLargeMessages",
    "PrincipalRates",
    "RateLimiter",
    "RedactTokens",
    "Refusal",
    "Role",
    "RolePolicy",
    "ShellPolicy",
    "StartupError",
    "admitted_names",
    "check_bind",
    "exceeds_depth",
    "find_excess",
    "open_tokens",
    "redact",
    "redact_value",
]
