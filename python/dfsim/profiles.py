"""Profiles of measured operators: read those of other tools, check them, count what they have."""

from ._commands import profiles_check as check
from ._commands import profiles_import as import_profile
from ._commands import profiles_stats as stats

__all__ = ["check", "import_profile", "stats"]
