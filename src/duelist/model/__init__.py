"""The statistics of votes: utilities, answers, raters, fits, prior scales, stopping, goodness of fit."""
