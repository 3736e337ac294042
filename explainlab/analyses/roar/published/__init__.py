"""The numbers that paper 003 published about its grids, beside ours of the same data sets and models."""
