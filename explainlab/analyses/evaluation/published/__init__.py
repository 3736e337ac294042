"""Tables of papers, and our numbers beside theirs."""
