"""Questions that need many attributions, for one text or for every text of a data set."""
