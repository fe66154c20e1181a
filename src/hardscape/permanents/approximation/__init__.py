"""What permanents are about: estimates with intervals, and bounds."""
