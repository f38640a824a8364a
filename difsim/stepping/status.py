"""Temporary: goes when the front door of `simulate` is merged."""

from difsim.status import Status, raise_unless_ok

REMEDY = {status: f"{status.message}: {status.remedy}" for status in Status}
__all__ = ["REMEDY", "Status", "raise_unless_ok"]
