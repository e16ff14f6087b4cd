"""How long logs are kept: CDK's names for the days that an environment file may say."""

from __future__ import annotations

from aws_cdk.aws_logs import RetentionDays

RETENTION = {
    7: RetentionDays.ONE_WEEK,
    14: RetentionDays.TWO_WEEKS,
    30: RetentionDays.ONE_MONTH,
    60: RetentionDays.TWO_MONTHS,
    90: RetentionDays.THREE_MONTHS,
    180: RetentionDays.SIX_MONTHS,
    365: RetentionDays.ONE_YEAR,
}
