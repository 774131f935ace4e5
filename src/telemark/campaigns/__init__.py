"""What a command does: many runs, a search for a peak, a calibration. Between the command line and the parts."""

from telemark.campaigns.campaign import CampaignOptions, CampaignOutcome, run_campaign

__all__ = ["CampaignOptions", "CampaignOutcome", "run_campaign"]
