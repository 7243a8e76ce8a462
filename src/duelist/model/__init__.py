"""The statistics of votes: links, fits, prior scales, stopping, goodness of fit."""
